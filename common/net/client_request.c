#include "net/client_request.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/client_tls.h"

enum { CONNECT_TIMEOUT_MS = 5000, KEEPALIVE_IDLE_S = 30, KEEPALIVE_INTERVAL_S = 15 };

static bool is_token(const char *text)
{
    static const char allowed[] = "!#$%&'*+-.^_`|~";

    if (*text == '\0')
        return false;
    for (; *text; text++) {
        bool alnum = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                     (*text >= '0' && *text <= '9');
        if (!alnum && !strchr(allowed, *text))
            return false;
    }
    return true;
}

/* A line break in a value would start a header, or a request, that nobody meant. */
static bool is_field_value(const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static bool has_header(const struct http_header *headers, const char *name)
{
    for (; headers && headers->name; headers++) {
        if (strcasecmp(headers->name, name) == 0)
            return true;
    }
    return false;
}

bool http_header_is_reserved(const char *name)
{
    static const char *const reserved[] = {
        "Connection",     "Content-Length",    "Expect",  "Host",
        "HTTP2-Settings", "Keep-Alive",        "TE",      "Trailer",
        "Trailers",       "Transfer-Encoding", "Upgrade", NULL};
    static const char proxy[] = "Proxy-";

    for (int i = 0; reserved[i]; i++) {
        if (strcasecmp(reserved[i], name) == 0)
            return true;
    }
    return strncasecmp(name, proxy, strlen(proxy)) == 0;
}

static void add_line(struct client_lists *lists, const char *line)
{
    struct curl_slist *list = curl_slist_append(lists->headers, line);
    if (!list)
        abort();
    lists->headers = list;
}

static enum err set_headers(CURL *easy, struct client_lists *lists,
                            const struct http_request *request, struct arena *arena,
                            struct errinfo *ei)
{
    for (const struct http_header *h = request->headers; h && h->name; h++) {
        if (!is_token(h->name))
            return err_set(ei, ERR_INVALID, "\"%s\" is no name of a header", h->name);
        if (!h->value || !is_field_value(h->value))
            return err_set(ei, ERR_INVALID, "the value of header %s holds a control character",
                           h->name);
        /* To curl "Name:" means "do not send it"; "Name;" sends it empty. */
        add_line(lists, *h->value ? arena_printf(arena, "%s: %s", h->name, h->value)
                                  : arena_printf(arena, "%s;", h->name));
    }
    /* curl adds these to a body by itself: a type that is wrong, and a wait of up to a second. */
    if (!has_header(request->headers, "Content-Type"))
        add_line(lists, "Content-Type:");
    if (!has_header(request->headers, "Expect"))
        add_line(lists, "Expect:");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, lists->headers);
    return ERR_OK;
}

static const char *method_of(const struct http_request *request)
{
    return request->method ? request->method : "GET";
}

static enum err set_method(CURL *easy, const struct http_request *request, struct errinfo *ei)
{
    const char *method = method_of(request);
    bool wants_body =
        strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0;

    if (!is_token(method))
        return err_set(ei, ERR_INVALID, "\"%s\" is no HTTP method", method);
    if (strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
        return ERR_OK;
    }
    if (request->body_len > 0 || wants_body) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
        CURLcode code = curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS,
                                         request->body_len > 0 ? request->body : "");
        if (code != CURLE_OK)
            return err_set(ei, ERR_INVALID, "the body cannot be sent: %s",
                           curl_easy_strerror(code));
    }
    bool native = request->body_len > 0 || wants_body ? strcmp(method, "POST") == 0
                                                      : strcmp(method, "GET") == 0;
    if (!native)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    return ERR_OK;
}

static char *url_part(CURLU *url, CURLUPart what, struct arena *arena)
{
    char *text = NULL;
    char *copy = NULL;

    if (curl_url_get(url, what, &text, 0) == CURLUE_OK)
        copy = arena_strdup(arena, text);
    curl_free(text);
    return copy;
}

/*
 * curl verifies the name in the URL. To verify another one, that name goes into the URL, the
 * connection goes to the host that was meant, and so does the Host header.
 */
static enum err use_server_name(CURL *easy, CURLU *url, struct client_lists *lists,
                                const struct http_request *request, struct arena *arena,
                                struct errinfo *ei)
{
    const char *name = request->tls->server_name;
    const char *host = url_part(url, CURLUPART_HOST, arena);
    const char *port = url_part(url, CURLUPART_PORT, arena);

    if (curl_url_set(url, CURLUPART_HOST, name, 0) != CURLUE_OK)
        return err_set(ei, ERR_INVALID, "\"%s\" is no server name", name);
    lists->connect_to =
        curl_slist_append(NULL, arena_printf(arena, "%s:%s:%s:%s", name, port ? port : "443", host,
                                             port ? port : "443"));
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, lists->connect_to);
    if (!has_header(request->headers, "Host"))
        add_line(lists, port ? arena_printf(arena, "Host: %s:%s", host, port)
                             : arena_printf(arena, "Host: %s", host));
    return ERR_OK;
}

static void set_label(CURLU *url, const struct http_request *request, const char *method,
                      struct arena *arena, const char **label)
{
    const char *scheme = url_part(url, CURLUPART_SCHEME, arena);
    const char *host = url_part(url, CURLUPART_HOST, arena);
    const char *port = url_part(url, CURLUPART_PORT, arena);
    const char *path = request->secret_path ? "/..." : url_part(url, CURLUPART_PATH, arena);

    *label = arena_printf(arena, "%s %s://%s%s%s%s", method, scheme, host, port ? ":" : "",
                          port ? port : "", path ? path : "/");
}

static enum err set_url(CURL *easy, struct client_lists *lists, const struct http_request *request,
                        struct arena *arena, const char **label, struct errinfo *ei)
{
    const char *method = method_of(request);
    CURLU *url = curl_url();
    enum err err = ERR_OK;

    if (!url)
        abort();
    *label = method;
    CURLUcode code = curl_url_set(url, CURLUPART_URL, request->url ? request->url : "",
                                  CURLU_NON_SUPPORT_SCHEME);
    if (code != CURLUE_OK) {
        err = err_set(ei, ERR_INVALID, "not a URL (%s)", curl_url_strerror(code));
        goto out;
    }
    set_label(url, request, method, arena, label);
    const char *scheme = url_part(url, CURLUPART_SCHEME, arena);
    bool https = strcasecmp(scheme, "https") == 0;
    if (!https && strcasecmp(scheme, "http") != 0) {
        err = err_set(ei, ERR_INVALID, "the URL must start with http:// or https://");
        goto out;
    }
    if (https && request->tls && request->tls->server_name)
        err = use_server_name(easy, url, lists, request, arena, ei);
    if (err != ERR_OK)
        goto out;
    curl_easy_setopt(easy, CURLOPT_URL, url_part(url, CURLUPART_URL, arena));
    /* Cleartext HTTP/2 fails on reused connections, so it is for TLS only, where it is negotiated.
     */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     https ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, https ? 1L : 0L);
out:
    curl_url_cleanup(url);
    return err;
}

/* curl opens its sockets so that child processes inherit them. */
static int close_on_exec(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    (void)arg;
    (void)purpose;
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR;
}

static void set_behaviour(CURL *easy, const struct http_request *request, const char *user_agent)
{
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, close_on_exec);
    /* Without it, ending a call waits for its name lookup, and the whole loop with it. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     request->connect_timeout_ms > 0 ? (long)request->connect_timeout_ms
                                                     : (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
    if (request->proxy)
        curl_easy_setopt(easy, CURLOPT_PROXY, request->proxy);
    if (request->max_redirects > 0) {
        curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
        curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)request->max_redirects);
    }
}

enum err client_request_apply(CURL *easy, struct client_lists *lists,
                              const struct http_request *request,
                              const struct http_client_options *options, struct arena *arena,
                              const char **label, struct errinfo *ei)
{
    enum err err = set_url(easy, lists, request, arena, label, ei);

    if (err == ERR_OK)
        err = set_method(easy, request, ei);
    if (err == ERR_OK)
        err = set_headers(easy, lists, request, arena, ei);
    if (err == ERR_OK)
        err = client_tls_apply(easy, request->tls, options->ca_file, ei);
    if (err == ERR_OK)
        set_behaviour(easy, request, options->user_agent);
    return err;
}

void client_lists_fini(struct client_lists *lists)
{
    curl_slist_free_all(lists->headers);
    curl_slist_free_all(lists->connect_to);
}
