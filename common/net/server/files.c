#include "net/server/files.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
     "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'; trusted-types 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-cache"}, /* a new version of the daemon brings its own page at once */
};

/* FNV-1a: tells versions of a file apart, and need do no more. */
static uint64_t digest(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static const struct http_file *find(const struct http_file *files, const char *path)
{
    while (files->path && strcmp(files->path, path) != 0)
        files++;
    return files->path ? files : NULL;
}

void http_files_serve(struct http_conn_request *req, const struct http_file *files)
{
    const struct http_file *file = find(files, http_req_path(req));
    if (!file) {
        http_reply_error(req, 404, "there is nothing at this path");
        return;
    }
    const char *etag = arena_printf(http_req_arena(req), "\"%016" PRIx64 "\"", digest(file->text));
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        http_reply_header(req, headers[i].name, headers[i].value);
    http_reply_header(req, "ETag", etag);
    const char *known = http_req_header(req, "if-none-match");
    if (known && strstr(known, etag))
        http_reply(req, 304, NULL, "", 0);
    else
        http_reply(req, 200, file->type, file->text, strlen(file->text));
}
