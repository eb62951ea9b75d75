/* Admission of requests, and their webhook messages. */
#include <string.h>
#include <strings.h>

#include "loadtester/api.h"

/* The load tester has no pages: a request of a browser comes from another site's page. Its Host is
 * not checked: the page may have chosen it (DNS rebinding). */
static bool is_of_a_page(struct http_conn_request *req)
{
    const char *method = http_req_method(req), *site = http_req_header(req, "sec-fetch-site");

    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return site && strcasecmp(site, "none") != 0;
    return http_req_header(req, "origin") || (site && strcasecmp(site, "none") != 0);
}

static bool is_authenticated(const struct tester_api *api, struct http_conn_request *req)
{
    return !api->tokens || tokens_find(api->tokens, http_req_header(req, "authorization"));
}

bool tester_admit(struct tester_api *api, struct http_conn_request *req)
{
    if (is_of_a_page(req)) {
        http_reply_error(req, 403,
                         "a page of another site sent this request (Origin, Sec-Fetch-Site); "
                         "nothing is done for it");
        return false;
    }
    if (is_authenticated(api, req))
        return true;
    http_reply_header(req, "WWW-Authenticate", "Bearer");
    http_reply_text(req, 401,
                    "a bearer token is needed: Authorization: Bearer TOKEN (see --token-file)");
    return false;
}

bool tester_message(struct tester_api *api, struct http_conn_request *req, struct arena *arena,
                    struct webhook_message *out)
{
    struct errinfo info = {0};
    size_t len;
    const char *body = http_req_body(req, &len);

    if (webhook_parse(arena, body, len, out, &info) != ERR_OK) {
        http_reply_text(req, 400, info.text);
        return false;
    }
    if (api->namespaces && regexec(api->namespaces, out->namespace_, 0, NULL, 0) != 0) {
        http_reply_text(req, 403, "Forbidden");
        return false;
    }
    return true;
}
