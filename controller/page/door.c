#include "page/door.h"

#include <string.h>
#include <strings.h>

/* A page of another site that makes a browser ask gets nothing; ours asks from the same origin. */
static bool is_other_site(struct http_conn_request *req)
{
    const char *site = http_req_header(req, "sec-fetch-site");

    return site && strcasecmp(site, "none") != 0 && strcasecmp(site, "same-origin") != 0;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t more = strlen(end);

    return len >= more && strncasecmp(text + len - more, end, more) == 0;
}

/*
 * Without tokens only the name that a browser asked for tells our page from one of a stranger who had
 * his own name lead here: an address, a name without a dot and a Service's name are nobody else's.
 */
static bool is_own_name(const char *host)
{
    size_t len = host ? strcspn(host, ":") : 0;

    return !host || *host == '[' || !memchr(host, '.', len) || strspn(host, "0123456789.") >= len ||
           ends_with(host, len, ".svc") || ends_with(host, len, ".svc.cluster.local") ||
           ends_with(host, len, ".localhost");
}

bool page_admits(const struct page_door *door, struct http_conn_request *req)
{
    http_reply_header(req, "X-Content-Type-Options", "nosniff");
    http_reply_header(req, "Cross-Origin-Resource-Policy", "same-origin");
    if (is_other_site(req)) {
        http_reply_error(req, 403, "a page of another site sent this request; it is shown nothing");
    } else if (door->tokens && !tokens_find(door->tokens, http_req_header(req, "authorization"))) {
        http_reply_header(req, "WWW-Authenticate", "Bearer");
        http_reply_error(req, 401,
                         "a token of the file of --ui-token-file is wanted: Authorization: Bearer "
                         "TOKEN");
    } else if (!door->tokens && !is_own_name(http_req_header(req, "host"))) {
        http_reply_error(req, 421,
                         "without --ui-token-file this is served by its address, localhost or the "
                         "name of a Service, not by other names");
    } else {
        return true;
    }
    return false;
}

void page_answer(const struct page_door *door, struct http_conn_request *req,
                 const struct http_file *files,
                 void (*data)(void *arg, struct http_conn_request *req), void *arg)
{
    if (!door->open && !door->tokens) {
        http_reply_error(req, 404,
                         "the release page is off: --ui-token-file FILE serves it to who has a "
                         "token, --ui to everybody who reaches this port");
    } else if (strncmp(http_req_path(req), "/ui/api/", 8) == 0) {
        data(arg, req);
    } else if (strcmp(http_req_path(req), "/ui") == 0) {
        http_reply_header(req, "Location", "ui/");
        http_reply(req, 308, NULL, "", 0);
    } else {
        http_files_serve(req, files);
    }
}
