/*
 * The files of a web page that are part of the program. They hold no data, so anybody may have
 * them; what they show they ask for as whoever looks.
 */
#ifndef NET_FILES_H
#define NET_FILES_H

#include "net/server/server.h"

#define HTTP_FILE_HTML "text/html; charset=utf-8"
#define HTTP_FILE_CSS  "text/css; charset=utf-8"
#define HTTP_FILE_JS   "text/javascript; charset=utf-8"
#define HTTP_FILE_SVG  "image/svg+xml"

struct http_file {
    const char *path; /* of the request; NULL ends a table */
    const char *type, *text;
};

/*
 * Answers with the file of the request's path, 304 where the client has it, or 404. Nothing but such
 * files runs in a browser then, nothing is loaded from elsewhere, no other site can frame the page,
 * and a script that would turn data into markup fails (trusted types), whatever a name says.
 */
void http_files_serve(struct http_conn_request *req, const struct http_file *files);

#endif
