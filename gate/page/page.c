#include "gate/page/page.h"

#include <inttypes.h>
#include <string.h>

/* The build makes these of gate/page (flagger_embed() in gate/CMakeLists.txt). */
extern const char gate_page_index_html[], gate_page_page_css[], gate_page_icon_svg[],
    gate_page_main_js[], gate_page_api_js[], gate_page_card_js[], gate_page_act_js[],
    gate_page_model_js[], gate_page_dom_js[], gate_page_link_css[];

static const char html[] = "text/html; charset=utf-8", css[] = "text/css; charset=utf-8",
                  svg[] = "image/svg+xml", js[] = "text/javascript; charset=utf-8";

static const struct page_file {
    const char *path, *type, *text;
} files[] = {
    {"/", html, gate_page_index_html},           {"/page/page.css", css, gate_page_page_css},
    {"/page/icon.svg", svg, gate_page_icon_svg}, {"/page/main.js", js, gate_page_main_js},
    {"/page/api.js", js, gate_page_api_js},      {"/page/card.js", js, gate_page_card_js},
    {"/page/act.js", js, gate_page_act_js},      {"/page/model.js", js, gate_page_model_js},
    {"/page/dom.js", js, gate_page_dom_js},      {"/page/link.css", css, gate_page_link_css},
};

/*
 * Nothing but these files runs, nothing is loaded from elsewhere, no other site can frame the page,
 * and a script that would turn data into markup fails (trusted types), whatever a name or a reason
 * says.
 */
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
    {"Cache-Control", "no-cache"}, /* a new version of the gate brings its own page at once */
};

/* FNV-1a: tells versions of a file apart, and need do no more. */
static uint64_t digest(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static const struct page_file *find(const char *path)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}

void page_serve(void *arg, struct http_conn_request *req)
{
    (void)arg;
    const struct page_file *file = find(http_req_path(req));
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
