/*
 * Use of curl: the handle of a request, with its URL, method, headers and TLS; and pools of
 * connections, each one curl multi handle on the event loop.
 */
#include <assert.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/encoding.h"
#include "net/client_internal.h"

/* curl would cache the certificates of a CA file for a day. */
enum {
    MAX_CERT = 1024 * 1024,
    CA_CACHE_S = 1,
    CONNECT_TIMEOUT_MS = 5000,
    KEEPALIVE_IDLE_S = 30,
    KEEPALIVE_INTERVAL_S = 15
};

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~", c));
}

static const char *encode(struct arena *arena, const char *text, const char *space)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t len = strlen(text);
    char *out = arena_array(arena, len + 1, 3);
    char *p = out;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (is_unreserved(c)) {
            *p++ = (char)c;
        } else if (c == ' ' && space) {
            *p++ = *space;
        } else {
            *p++ = '%';
            *p++ = hex[c >> 4];
            *p++ = hex[c & 15];
        }
    }
    *p = '\0';
    return out;
}

const char *url_encode(struct arena *arena, const char *text)
{
    return encode(arena, text, NULL);
}

const char *url_encode_form(struct arena *arena, const char *text)
{
    return encode(arena, text, "+");
}

static bool same_part(CURLU *one, CURLU *other, CURLUPart part)
{
    char *a = NULL, *b = NULL;
    bool same = curl_url_get(one, part, &a, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                curl_url_get(other, part, &b, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                strcasecmp(a, b) == 0;
    curl_free(a);
    curl_free(b);
    return same;
}

static bool same_parts(const char *one, const char *other, const CURLUPart *parts, size_t n)
{
    CURLU *a = curl_url(), *b = curl_url();
    bool same = curl_url_set(a, CURLUPART_URL, one, 0) == CURLUE_OK &&
                curl_url_set(b, CURLUPART_URL, other, 0) == CURLUE_OK;
    for (size_t i = 0; same && i < n; i++)
        same = same_part(a, b, parts[i]);
    curl_url_cleanup(a);
    curl_url_cleanup(b);
    return same;
}

const char *url_origin(struct arena *arena, const char *url)
{
    static const CURLUPart others[] = {CURLUPART_PATH, CURLUPART_QUERY,    CURLUPART_FRAGMENT,
                                       CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS};
    CURLU *parts = curl_url();
    char *text = NULL;
    const char *origin = "(not a URL)";

    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK) {
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
            curl_url_set(parts, others[i], NULL, 0);
        /* without a path, this form ends with a slash */
        if (curl_url_get(parts, CURLUPART_URL, &text, 0) == CURLUE_OK && *text)
            origin = arena_strndup(arena, text, strlen(text) - 1);
    }
    curl_free(text);
    curl_url_cleanup(parts);
    return origin;
}

bool url_same_origin(const char *one, const char *other)
{
    static const CURLUPart parts[] = {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT};

    return same_parts(one, other, parts, sizeof(parts) / sizeof(parts[0]));
}

bool url_same_host(const char *one, const char *other)
{
    static const CURLUPart host = CURLUPART_HOST;

    return same_parts(one, other, &host, 1);
}

static CURLcode set_blob(CURL *easy, CURLoption option, const char *pem)
{
    struct curl_blob blob = {
        .data = (void *)(uintptr_t)pem, .len = strlen(pem), .flags = CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

static CURLcode set_ca_file(CURL *easy, const char *file)
{
    curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, (long)CA_CACHE_S);
    return curl_easy_setopt(easy, CURLOPT_CAINFO, file);
}

static CURLcode set_trust(CURL *easy, const struct http_tls *tls, const char *more_ca)
{
    CURLcode code = CURLE_OK;

    if (tls->insecure) {
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
        return CURLE_OK;
    }
    if (!tls->ca_pem && !tls->ca_file)
        return more_ca ? set_ca_file(easy, more_ca) : CURLE_OK;
    /* Otherwise curl would trust the system's directory of certificates as well. */
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    if (tls->ca_pem)
        code = set_blob(easy, CURLOPT_CAINFO_BLOB, tls->ca_pem);
    else
        code = set_ca_file(easy, tls->ca_file);
    return code;
}

/*
 * curl shares connections of equal certificates, even if the keys differ. Text after the
 * certificate is ignored by the parser but compared by curl: the key's digest there separates
 * connections with different keys.
 */
static CURLcode set_cert(CURL *easy, const struct http_tls *tls)
{
    const char *key = tls->key_pem ? tls->key_pem : tls->key_file;
    char digest[SHA256_TEXT];
    struct buf text;

    buf_init(&text, MAX_CERT);
    buf_printf(&text, "%s\n# key %s", tls->cert_pem, sha256_hex(key, strlen(key), digest));
    CURLcode code = text.truncated ? CURLE_BAD_FUNCTION_ARGUMENT
                                   : set_blob(easy, CURLOPT_SSLCERT_BLOB, text.data);
    buf_fini(&text);
    return code;
}

static CURLcode set_identity(CURL *easy, const struct http_tls *tls)
{
    CURLcode code = CURLE_OK;

    if (tls->cert_pem)
        code = set_cert(easy, tls);
    else if (tls->cert_file)
        code = curl_easy_setopt(easy, CURLOPT_SSLCERT, tls->cert_file);
    if (code != CURLE_OK)
        return code;
    if (tls->key_pem)
        code = set_blob(easy, CURLOPT_SSLKEY_BLOB, tls->key_pem);
    else if (tls->key_file)
        code = curl_easy_setopt(easy, CURLOPT_SSLKEY, tls->key_file);
    return code;
}

static enum err set_tls(CURL *easy, const struct http_tls *tls, const char *more_ca,
                        struct errinfo *ei)
{
    static const struct http_tls none;

    if (!tls)
        tls = &none;
    bool has_cert = tls->cert_pem || tls->cert_file;
    bool has_key = tls->key_pem || tls->key_file;
    if (has_cert != has_key)
        return err_set(ei, ERR_INVALID,
                       "a client certificate needs its key, and a key its certificate");
    CURLcode code = set_trust(easy, tls, more_ca);
    if (code == CURLE_OK)
        code = set_identity(easy, tls);
    if (code != CURLE_OK)
        return err_set(ei, ERR_INVALID, "unusable TLS settings: %s", curl_easy_strerror(code));
    return ERR_OK;
}

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

/* Rejects line breaks, which would start another header or request. */
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
        /* To curl, "Name:" suppresses a header; "Name;" sends it empty. */
        add_line(lists, *h->value ? arena_printf(arena, "%s: %s", h->name, h->value)
                                  : arena_printf(arena, "%s;", h->name));
    }
    /* Suppress the headers that curl adds to a body: a wrong type, and an Expect that delays by a
     * second. */
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
 * curl verifies the name in the URL. To verify another name, that name goes into the URL, while the
 * connection and the Host header use the original host.
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
    /* HTTP/2 only with TLS, where it is negotiated: in cleartext it fails on reused connections. */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     https ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, https ? 1L : 0L);
out:
    curl_url_cleanup(url);
    return err;
}

/* curl's sockets are not close-on-exec. */
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
    /* Otherwise the end of a call blocks the loop until its name lookup has ended. */
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
        err = set_tls(easy, request->tls, options->ca_file, ei);
    if (err == ERR_OK)
        set_behaviour(easy, request, options->user_agent);
    return err;
}

void client_lists_fini(struct client_lists *lists)
{
    curl_slist_free_all(lists->headers);
    curl_slist_free_all(lists->connect_to);
}

/* --- pools */

/* Transfers that curl begins at a time: each is compared with all connections. */
enum { MAX_NEW = 8 };

struct client_pool {
    CURLM *multi;
    struct loop *loop;
    uv_timer_t *timer;  /* curl's timer; keeps the loop alive only while there are transfers */
    struct timer *rest; /* serves what this turn of the loop has no time for */
    TAILQ_HEAD(, pool_socket) waiting; /* for `rest` */
    client_pool_done_fn on_done;
    void *arg;
    int transfers, new_ones; /* new_ones: added since curl began the last one */
    int depth; /* calls that use the pool; client_pool_free() takes effect when the last one
                * returns */
    bool in_curl;
    bool expired;    /* curl's timer, left for `rest` */
    bool unreported; /* completed transfers, likewise */
    bool freed;
};

struct pool_socket {
    uv_poll_t poll;
    struct client_pool *pool;
    curl_socket_t fd;
    TAILQ_ENTRY(pool_socket) link;
    int flags; /* events to report to curl; 0 if not in `waiting` */
};

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void free_socket(uv_handle_t *handle)
{
    free(handle->data);
}

static void destroy(struct client_pool *pool)
{
    pool->in_curl = true;
    curl_multi_cleanup(pool->multi);
    uv_close((uv_handle_t *)pool->timer, free_handle);
    timer_stop(pool->rest);
    free(pool);
}

static void on_rest(void *arg);

static void want_rest(struct client_pool *pool)
{
    if (!pool->rest)
        pool->rest = timer_start(pool->loop, 0, 0, on_rest, pool);
}

static void report(struct client_pool *pool)
{
    CURLMsg *msg;
    int left;

    pool->unreported = false;
    while (!pool->freed) {
        if (!(msg = curl_multi_info_read(pool->multi, &left)))
            return;
        if (msg->msg != CURLMSG_DONE)
            continue;
        /* The message is freed with the handle, which on_done may remove. */
        CURL *easy = msg->easy_handle;
        CURLcode code = msg->data.result;
        pool->on_done(pool->arg, easy, code);
        if (!pool->freed && !loop_has_time(pool->loop)) {
            pool->unreported = true;
            want_rest(pool);
            return;
        }
    }
}

static void leave(struct client_pool *pool)
{
    if (--pool->depth == 0 && pool->freed)
        destroy(pool);
}

/* Lets curl handle one socket (or its timers), and reports completed transfers. */
static void run_curl(struct client_pool *pool, curl_socket_t fd, int events)
{
    int running;

    pool->depth++;
    pool->in_curl = true;
    if (fd == CURL_SOCKET_TIMEOUT)
        pool->new_ones = 0;
    curl_multi_socket_action(pool->multi, fd, events, &running);
    pool->in_curl = false;
    report(pool);
    leave(pool);
}

static void undefer(struct pool_socket *socket)
{
    if (socket->flags)
        TAILQ_REMOVE(&socket->pool->waiting, socket, link);
    socket->flags = 0;
}

static void defer_socket(struct pool_socket *socket, int flags)
{
    if (!socket->flags)
        TAILQ_INSERT_TAIL(&socket->pool->waiting, socket, link);
    socket->flags |= flags;
    want_rest(socket->pool);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct pool_socket *socket = poll->data;
    int flags = 0;

    /* Errors are left for curl to find: with CURL_CSELECT_ERR it would not retry on a new
     * connection after a reset of a kept one. */
    if (status < 0)
        flags = CURL_CSELECT_IN | CURL_CSELECT_OUT;
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    if (loop_may_work(socket->pool->loop))
        run_curl(socket->pool, socket->fd, flags);
    else if (flags)
        defer_socket(socket, flags);
}

/* Does one thing that had to wait. Returns false if nothing was waiting. */
static bool serve_waiting(struct client_pool *pool)
{
    struct pool_socket *socket = TAILQ_FIRST(&pool->waiting);

    if (pool->unreported) {
        report(pool);
    } else if (pool->expired) {
        pool->expired = false;
        run_curl(pool, CURL_SOCKET_TIMEOUT, 0);
    } else if (socket) {
        int flags = socket->flags;
        undefer(socket);
        run_curl(pool, socket->fd, flags);
    } else {
        return false;
    }
    return true;
}

static void on_rest(void *arg)
{
    struct client_pool *pool = arg;

    pool->rest = NULL;
    pool->depth++;
    while (!pool->freed && serve_waiting(pool))
        if (!loop_has_time(pool->loop)) {
            want_rest(pool);
            break;
        }
    leave(pool);
}

static void on_timer(uv_timer_t *timer)
{
    struct client_pool *pool = timer->data;

    pool->expired = true;
    want_rest(pool);
}

static int set_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct client_pool *pool = arg;

    (void)multi;
    pool->expired = timeout_ms == 0;
    if (pool->expired)
        want_rest(pool);
    if (timeout_ms <= 0)
        return uv_timer_stop(pool->timer);
    uv_update_time(loop_uv(pool->loop));
    return uv_timer_start(pool->timer, on_timer, (uint64_t)timeout_ms, 0);
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct client_pool *pool = arg;
    struct pool_socket *socket = socket_arg;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (socket) {
            curl_multi_assign(pool->multi, fd, NULL);
            undefer(socket);
            uv_close((uv_handle_t *)&socket->poll, free_socket);
        }
        return 0;
    }
    if (!socket) {
        socket = heap_alloc(sizeof(*socket));
        *socket = (struct pool_socket){.pool = pool, .fd = fd};
        if (uv_poll_init_socket(loop_uv(pool->loop), &socket->poll, fd) != 0) {
            free(socket);
            return -1;
        }
        socket->poll.data = socket;
        curl_multi_assign(pool->multi, fd, socket);
    }
    if (what & CURL_POLL_IN)
        events |= UV_READABLE;
    if (what & CURL_POLL_OUT)
        events |= UV_WRITABLE;
    return uv_poll_start(&socket->poll, events, on_poll);
}

struct client_pool *client_pool_new(struct loop *loop, long max_per_host, long max_total,
                                    long max_idle, client_pool_done_fn on_done, void *arg)
{
    struct client_pool *pool = heap_alloc(sizeof(*pool));

    *pool = (struct client_pool){
        .multi = curl_multi_init(),
        .loop = loop,
        .timer = heap_alloc(sizeof(*pool->timer)),
        .on_done = on_done,
        .arg = arg,
    };
    assert(pool->multi);
    uv_timer_init(loop_uv(loop), pool->timer);
    pool->timer->data = pool;
    uv_unref((uv_handle_t *)pool->timer);
    TAILQ_INIT(&pool->waiting);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_MAX_HOST_CONNECTIONS, max_per_host);
    curl_multi_setopt(pool->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, max_total);
    curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, max_idle);
    return pool;
}

void client_pool_free(struct client_pool *pool)
{
    if (!pool)
        return;
    assert(pool->transfers == 0);
    pool->freed = true;
    if (pool->depth == 0)
        destroy(pool);
}

void client_pool_add(struct client_pool *pool, CURL *easy)
{
    assert(!pool->in_curl && !pool->freed);
    pool->new_ones++;
    if (pool->transfers++ == 0)
        uv_ref((uv_handle_t *)pool->timer);
    CURLMcode code = curl_multi_add_handle(pool->multi, easy);
    assert(code == CURLM_OK);
}

void client_pool_remove(struct client_pool *pool, CURL *easy)
{
    assert(!pool->in_curl && !pool->freed);
    curl_multi_remove_handle(pool->multi, easy);
    assert(pool->transfers > 0);
    if (--pool->transfers == 0)
        uv_unref((uv_handle_t *)pool->timer);
}

bool client_pool_busy(const struct client_pool *pool)
{
    return pool->in_curl;
}

bool client_pool_takes(const struct client_pool *pool)
{
    return !pool->in_curl && pool->new_ones < MAX_NEW;
}
