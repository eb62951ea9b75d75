#include "net/client.h"

#include <arpa/inet.h>
#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/shares.h"
#include "net/client_internal.h"

enum {
    MAX_PER_HOST = 8,
    MAX_TOTAL = 256,
    MAX_IDLE_STREAMS = 8,
    TIMEOUT_MS = 10000,
    STREAM_BUFFER = 2048,
    MAX_HEADER_BYTES = 256 * 1024,
    STALLED_MS = 30 * 1000,        /* time without a byte of an answer that has begun */
    OWNERS_PART = 4,               /* an owner gets at most a fourth of the calls in progress */
    MAX_RETRY_AFTER_S = 24 * 3600, /* a longer one is a mistake, or a misread date */
};

/*
 * QUEUED: not passed to curl yet, see http_send(). WAITING: likewise, because max_calls other calls
 * are in progress. RUNNING: passed to curl. ENDING: the result is known, and done will be called
 * from the loop. A call in QUEUED or ENDING is on the client's to-do list; WAITING and RUNNING each
 * have a list of their own.
 */
enum call_state { CALL_QUEUED, CALL_WAITING, CALL_RUNNING, CALL_ENDING };

struct http_call {
    struct http_result result;
    TAILQ_ENTRY(http_call) link;
    struct http_client *client;
    struct client_pool *pool;
    CURL *easy;
    struct client_lists lists;
    struct arena *arena;
    const char *label;
    const char *owner; /* in the arena */
    struct errinfo info;
    struct buf body;
    struct buf *kept; /* by the receiver of a stream, see http_call_hold() */
    size_t held;      /* bytes of both, as counted in client->held */
    size_t header_bytes;
    struct timer *deadline;
    struct timer *idle;
    int64_t started_ms;
    int64_t last_byte_ms;
    int64_t timeout_ms;
    int64_t idle_timeout_ms;
    bool (*on_data)(void *arg, const char *data, size_t len);
    http_done_fn done;
    void *arg;
    enum call_state state;
    bool added;
    bool cuts;                 /* truncates an answer that is too long */
    const struct reach *reach; /* NULL if every address is allowed */
    const char *refused;       /* the address that was refused */
    bool tried;                /* name lookup has begun: it does not wait for a connection */
    char *curl_error;          /* in the arena */
};

TAILQ_HEAD(call_list, http_call);

struct http_client {
    struct loop *loop;
    struct client_pool *calls; /* limited: a burst of calls must not open a connection each */
    struct client_pool
        *streams; /* not limited: a stream holds its connection for hours and must not starve
                   * others */
    struct call_list todo, waiting, running;
    struct timer *kick;
    struct http_client_options options; /* its texts are copied */
    char *user_agent, *ca_file;         /* the copies */
    size_t active;
    struct shares held;        /* bytes of answers */
    struct shares call_shares; /* running calls, without streams */
    int max_calls;             /* 0 for no limit */
    int depth; /* callbacks in progress; http_client_free() takes effect when the last one
                * returns */
    bool freeing;
};

static void client_destroy(struct http_client *client);
static void on_kick(void *arg);

static void client_leave(struct http_client *client)
{
    if (--client->depth == 0 && client->freeing)
        client_destroy(client);
}

static void client_kick(struct http_client *client)
{
    if (!client->kick)
        client->kick = timer_start(client->loop, 0, 0, on_kick, client);
}

static struct call_list *list_of(struct http_client *client, enum call_state state)
{
    if (state == CALL_WAITING)
        return &client->waiting;
    return state == CALL_RUNNING ? &client->running : &client->todo;
}

static void call_set_state(struct http_call *call, enum call_state state)
{
    struct http_client *client = call->client;

    assert(state > call->state);
    TAILQ_REMOVE(list_of(client, call->state), call, link);
    call->state = state;
    TAILQ_INSERT_TAIL(list_of(client, state), call, link);
    if (state == CALL_ENDING)
        client_kick(client);
}

/* Sets the result, once; done is called from the loop. */
static void call_end(struct http_call *call, enum err err, const char *text)
{
    if (call->state == CALL_ENDING)
        return;
    call->result.err = err_set(&call->info, err, "%s: %s", call->label, text);
    call_set_state(call, CALL_ENDING);
}

static void on_deadline(void *arg)
{
    struct http_call *call = arg;

    call->deadline = NULL;
    if (call->state == CALL_ENDING)
        return;
    call->result.err = err_set(&call->info, ERR_RETRY, "%s: no complete answer within %lld ms",
                               call->label, (long long)call->timeout_ms);
    call_set_state(call, CALL_ENDING);
}

static void on_idle(void *arg)
{
    struct http_call *call = arg;
    int64_t quiet = clock_monotonic_ms() - call->last_byte_ms;

    call->idle = NULL;
    if (call->state == CALL_ENDING)
        return;
    if (quiet < call->idle_timeout_ms) {
        call->idle =
            timer_start(call->client->loop, call->idle_timeout_ms - quiet, 0, on_idle, call);
        return;
    }
    call->result.err = err_set(&call->info, ERR_RETRY, "%s: nothing came for %lld ms", call->label,
                               (long long)call->idle_timeout_ms);
    call_set_state(call, CALL_ENDING);
}

static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
    struct http_call *call = arg;
    size_t len = size * count;

    (void)data;
    call->last_byte_ms = clock_monotonic_ms();
    call->header_bytes += len;
    if (call->header_bytes > MAX_HEADER_BYTES) {
        call_end(call, ERR_INVALID, "the headers of the answer are longer than 256 KiB");
        return 0;
    }
    return len;
}

static void drop_body(struct http_call *call)
{
    shares_give_back(&call->client->held, call->owner, call->held);
    call->held = 0;
    buf_fini(&call->body);
    if (call->kept)
        buf_fini(call->kept);
}

static void end_without_room(struct http_call *call)
{
    call->result.no_room = true;
    call_end(call, ERR_RETRY,
             *call->owner
                 ? arena_printf(call->arena, "the answers that %s waits for take too much memory",
                                call->owner)
                 : "too many long answers come at once");
    drop_body(call);
}

/* The owner's call that has stalled for longest while holding bytes, NULL if none. */
static struct http_call *find_stalled(struct http_client *client, const char *owner)
{
    struct http_call *call, *found = NULL;

    TAILQ_FOREACH(call, &client->running, link)
    if (call->held > 0 && call->state == CALL_RUNNING && strcmp(call->owner, owner) == 0 &&
        (!found || call->last_byte_ms < found->last_byte_ms))
        found = call;
    return found;
}

/* Ends calls of the owner with the most bytes. Returns false if that is the owner of this call. */
static bool make_room(struct http_call *call, size_t len)
{
    struct http_client *client = call->client;
    const char *largest;

    while ((largest = shares_yields(&client->held, call->owner, len))) {
        struct http_call *other =
            strcmp(largest, call->owner) == 0 ? NULL : find_stalled(client, largest);
        if (!other)
            return false;
        end_without_room(other);
    }
    return true;
}

bool http_call_hold(struct http_call *call, struct buf *kept)
{
    struct shares *held = &call->client->held;
    size_t bytes = kept->len > 0 ? kept->cap : 0;

    call->kept = kept;
    if (bytes > call->held && !make_room(call, bytes - call->held)) {
        end_without_room(call);
        return false;
    }
    shares_take(held, call->owner, bytes);
    shares_give_back(held, call->owner, call->held);
    call->held = bytes;
    return true;
}

static void watch_stall(struct http_call *call)
{
    if (call->idle || call->pool == call->client->streams)
        return;
    call->idle_timeout_ms =
        call->client->options.stalled_ms ? call->client->options.stalled_ms : STALLED_MS;
    call->idle = timer_start(call->client->loop, call->idle_timeout_ms, 0, on_idle, call);
}

/* Returns false if the answer is too long. */
static bool keep(struct http_call *call, const char *data, size_t len)
{
    size_t room = call->body.max - call->body.len;

    if (call->cuts && len > room)
        len = room;
    if (!buf_add(&call->body, data, len))
        return false;
    call->held += len;
    shares_take(&call->client->held, call->owner, len);
    return true;
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    struct http_call *call = arg;
    size_t len = size * count;
    long status = 0;

    if (call->state == CALL_ENDING)
        return CURL_WRITEFUNC_ERROR;
    call->last_byte_ms = clock_monotonic_ms();
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (call->on_data && status >= 200 && status < 300) {
        if (call->on_data(call->arg, data, len))
            return call->state == CALL_ENDING ? CURL_WRITEFUNC_ERROR : len;
        call_end(call, ERR_CANCELLED, "ended by the receiver");
        return CURL_WRITEFUNC_ERROR;
    }
    watch_stall(call);
    if (!make_room(call, len)) {
        end_without_room(call);
        return CURL_WRITEFUNC_ERROR;
    }
    if (keep(call, data, len))
        return len;
    if (call->state != CALL_ENDING) {
        call->result.err =
            err_set(&call->info, ERR_INVALID, "%s: the answer is longer than %zu bytes",
                    call->label, call->body.max);
        call_set_state(call, CALL_ENDING);
    }
    return CURL_WRITEFUNC_ERROR;
}

static enum err classify(const struct http_call *call, CURLcode code)
{
    switch (code) {
    case CURLE_OK:
        return ERR_OK;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_BAD_FUNCTION_ARGUMENT:
        return ERR_INVALID;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return ERR_DENIED;
    default:
        /* A server may demand a client certificate by a TLS alert at any time. */
        if (strstr(call->curl_error, "alert") && strstr(call->curl_error, "certificate"))
            return ERR_DENIED;
        return ERR_RETRY;
    }
}

static void describe(struct http_call *call, CURLcode code)
{
    long os_errno = 0;
    const char *text = call->curl_error[0] ? call->curl_error : curl_easy_strerror(code);

    curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &os_errno);
    if (call->refused) {
        call->result.err =
            err_set(&call->info, ERR_DENIED, "%s: the address %s is refused: %s opens it",
                    call->label, call->refused, call->client->options.reach_option);
        return;
    }
    if (code == CURLE_COULDNT_CONNECT && os_errno == ECONNREFUSED)
        text = "connection refused";
    else if (code == CURLE_GOT_NOTHING)
        text = "the server closed the connection without an answer";
    else if (code == CURLE_PARTIAL_FILE)
        text = "the connection ended before the whole answer had come";
    call->result.err = err_set(&call->info, classify(call, code), "%s: %s", call->label, text);
}

/* Called before each name lookup; not called for a cached name, which is detected by its lookup
 * time. */
static int on_lookup(void *resolver, void *reserved, void *arg)
{
    struct http_call *call = arg;

    (void)resolver;
    (void)reserved;
    call->tried = true;
    return 0;
}

/* Checks the resolved address before a connection is made. */
static curl_socket_t on_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct http_call *call = arg;
    char text[INET6_ADDRSTRLEN] = "";

    (void)purpose;
    if (call->reach && reach_refuses(call->reach, &to->addr)) {
        const void *bytes = to->family == AF_INET
                                ? (const void *)&((struct sockaddr_in *)(void *)&to->addr)->sin_addr
                                : &((struct sockaddr_in6 *)(void *)&to->addr)->sin6_addr;
        call->refused = arena_strdup(call->arena, inet_ntop(to->family, bytes, text, sizeof(text)));
        return CURL_SOCKET_BAD;
    }
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* Checks the address of a connection that another call has made. */
static int on_request(void *arg, char *to, char *from, int to_port, int from_port)
{
    struct http_call *call = arg;

    (void)from;
    (void)to_port;
    (void)from_port;
    if (!call->reach || !to || !reach_refuses_text(call->reach, to))
        return CURL_PREREQFUNC_OK;
    call->refused = arena_strdup(call->arena, to);
    return CURL_PREREQFUNC_ABORT;
}

static void fill_result(struct http_call *call)
{
    struct http_result *result = &call->result;
    long status = 0, request_size = 0;
    curl_off_t retry_after = 0, looked_up = 0;
    char *content_type = NULL, *redirect_url = NULL;

    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &request_size);
    curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after);
    curl_easy_getinfo(call->easy, CURLINFO_NAMELOOKUP_TIME_T, &looked_up);
    curl_easy_getinfo(call->easy, CURLINFO_CONTENT_TYPE, &content_type);
    curl_easy_getinfo(call->easy, CURLINFO_REDIRECT_URL, &redirect_url);
    result->info = &call->info;
    result->status = (int)status;
    result->body = call->body.data;
    result->body_len = call->body.len;
    result->elapsed_ms = clock_monotonic_ms() - call->started_ms;
    if (retry_after > 0)
        result->retry_after_ms =
            (retry_after < MAX_RETRY_AFTER_S ? (int64_t)retry_after : MAX_RETRY_AFTER_S) * 1000;
    result->content_type = content_type ? content_type : "";
    result->redirect_url = redirect_url;
    result->sent = request_size > 0;
    result->unconnected =
        result->err == ERR_RETRY && !result->sent && (call->tried || looked_up > 0);
    call->info.status = result->status;
    call->info.retry_after_ms = result->retry_after_ms;
}

/* Removes the call from curl, calls done and frees it. Never called from curl's callbacks. */
static void call_finish(struct http_call *call)
{
    struct http_client *client = call->client;

    TAILQ_REMOVE(list_of(client, call->state), call, link);
    /* From here on http_cancel() does nothing. */
    call->state = CALL_ENDING;
    TAILQ_INSERT_HEAD(&client->running, call, link);
    if (call->added)
        client_pool_remove(call->pool, call->easy);
    if (call->added && call->pool == client->calls)
        shares_give_back(&client->call_shares, call->owner, 1);
    if (!TAILQ_EMPTY(&client->waiting))
        client_kick(client);
    timer_stop(call->deadline);
    timer_stop(call->idle);
    fill_result(call);
    client->depth++;
    call->done(call->arg, &call->result);
    TAILQ_REMOVE(&client->running, call, link);
    client->active--;
    shares_give_back(&client->held, call->owner, call->held);
    buf_fini(&call->body);
    curl_easy_cleanup(call->easy);
    client_lists_fini(&call->lists);
    arena_free(call->arena);
    free(call);
    client_leave(client);
}

static void on_pool_done(void *arg, CURL *easy, CURLcode code)
{
    struct http_call *call = NULL;

    (void)arg;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &call);
    if (call->state != CALL_ENDING && code != CURLE_OK)
        describe(call, code);
    call_finish(call);
}

/* Returns true if the limit of calls, and the owner's part of it, allow another call. */
static bool is_within_limit(const struct http_call *call)
{
    const struct http_client *client = call->client;
    size_t most = client->max_calls > 0 ? (size_t)client->max_calls : 0;
    size_t part = most < OWNERS_PART ? 1 : most / OWNERS_PART;

    if (most == 0)
        return true;
    return client->call_shares.taken < most &&
           (!*call->owner || shares_of(&client->call_shares, call->owner) < part);
}

static struct http_call *next_waiting(struct http_client *client)
{
    struct http_call *call;

    TAILQ_FOREACH(call, &client->waiting, link)
    if (is_within_limit(call))
        return call;
    return NULL;
}

/* Calls start in FIFO order, but an owner at its limit is overtaken. Streams are not limited. */
static bool may_start(const struct http_call *call)
{
    return call->pool == call->client->streams ||
           (is_within_limit(call) && !next_waiting(call->client));
}

/* Passes the call to curl, and starts its time-outs. */
static void call_start(struct http_call *call)
{
    struct loop *loop = call->client->loop;

    call_set_state(call, CALL_RUNNING);
    call->started_ms = call->last_byte_ms = clock_monotonic_ms();
    if (call->timeout_ms > 0)
        call->deadline = timer_start(loop, call->timeout_ms, 0, on_deadline, call);
    if (call->idle_timeout_ms > 0)
        call->idle = timer_start(loop, call->idle_timeout_ms, 0, on_idle, call);
    if (call->pool == call->client->calls)
        shares_take(&call->client->call_shares, call->owner, 1);
    call->added = true;
    client_pool_add(call->pool, call->easy);
}

static void call_start_or_wait(struct http_call *call)
{
    if (may_start(call))
        call_start(call);
    else
        call_set_state(call, CALL_WAITING);
}

/* The next call to report or to start, NULL if none. */
static struct http_call *next_todo(struct http_client *client)
{
    struct http_call *call = TAILQ_FIRST(&client->todo);

    return call ? call : next_waiting(client);
}

/* Reports or starts the next call. Returns false if there is none, or it has to wait. */
static bool serve_next(struct http_client *client)
{
    struct http_call *call = next_todo(client);

    if (!call)
        return false;
    if (call->state != CALL_ENDING && !client_pool_takes(call->pool)) {
        client_kick(client);
        return false;
    }
    if (call->state == CALL_WAITING)
        call_start(call);
    else if (call->state == CALL_ENDING)
        call_finish(call);
    else
        call_start_or_wait(call);
    return true;
}

/* Starts queued calls and reports ended ones; never from within a callback. */
static void on_kick(void *arg)
{
    struct http_client *client = arg;

    client->kick = NULL;
    client->depth++;
    while (!client->freeing && serve_next(client))
        if (!loop_has_time(client->loop)) {
            client_kick(client);
            break;
        }
    client_leave(client);
}

static bool is_stream(const struct http_request *request)
{
    return request->timeout_ms < 0 || request->on_data;
}

static void set_callbacks(struct http_call *call)
{
    curl_easy_setopt(call->easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(call->easy, CURLOPT_ERRORBUFFER, call->curl_error);
    curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(call->easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(call->easy, CURLOPT_RESOLVER_START_FUNCTION, on_lookup);
    curl_easy_setopt(call->easy, CURLOPT_RESOLVER_START_DATA, call);
    /*
     * curl reads up to a hundred buffers of a connection at a time: with many streams, small ones
     * bound the time of an iteration. A stream that has an end, such as a log, gets no small
     * buffer: if many HTTP/2 frames arrive at once, curl 7.88 stops reading with a buffer smaller
     * than they are.
     */
    if (call->pool == call->client->streams && call->timeout_ms < 0)
        curl_easy_setopt(call->easy, CURLOPT_BUFFERSIZE, (long)STREAM_BUFFER);
    if (!call->reach)
        return;
    curl_easy_setopt(call->easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
    curl_easy_setopt(call->easy, CURLOPT_OPENSOCKETDATA, call);
    curl_easy_setopt(call->easy, CURLOPT_PREREQFUNCTION, on_request);
    curl_easy_setopt(call->easy, CURLOPT_PREREQDATA, call);
}

struct http_call *http_send(struct http_client *client, const struct http_request *request,
                            http_done_fn done, void *arg)
{
    assert(!client->freeing && "a client that is being freed takes no calls");
    struct http_call *call = heap_alloc(sizeof(*call));
    *call = (struct http_call){
        .client = client,
        .pool = is_stream(request) ? client->streams : client->calls,
        .easy = curl_easy_init(),
        .arena = arena_new(),
        .started_ms = clock_monotonic_ms(), /* set again by call_start() */
        .timeout_ms = request->timeout_ms ? request->timeout_ms : TIMEOUT_MS,
        .idle_timeout_ms = request->idle_timeout_ms,
        .on_data = request->on_data,
        .cuts = request->cuts_body,
        .reach = request->own_address ? NULL : client->options.reach,
        .done = done,
        .arg = arg,
        .state = CALL_QUEUED,
    };
    if (!call->easy)
        abort();
    call->curl_error = arena_alloc(call->arena, CURL_ERROR_SIZE);
    *call->curl_error = '\0';
    call->owner = arena_strdup(call->arena, request->owner ? request->owner : "");
    buf_init(&call->body, request->max_body ? request->max_body : HTTP_MAX_BODY);
    set_callbacks(call);
    client->active++;
    TAILQ_INSERT_TAIL(&client->todo, call, link);

    struct errinfo ei = {0};
    enum err err = client_request_apply(call->easy, &call->lists, request, &client->options,
                                        call->arena, &call->label, &ei);
    if (err != ERR_OK) {
        call_end(call, err, ei.text);
        return call;
    }
    if (TAILQ_FIRST(&client->todo) != call || !client_pool_takes(call->pool))
        client_kick(client);
    else
        call_start_or_wait(call);
    return call;
}

void http_cancel(struct http_call *call)
{
    call_end(call, ERR_CANCELLED, "cancelled");
}

size_t http_client_active(const struct http_client *client)
{
    return client->active;
}

const char *http_result_header(const struct http_result *result, const char *name)
{
    const struct http_call *call =
        (const struct http_call *)(const void *)((const char *)result -
                                                 offsetof(struct http_call, result));
    struct curl_header *header;

    if (curl_easy_header(call->easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return NULL;
    /* curl reports an empty value as a carriage return. */
    return header->value[strspn(header->value, " \t\r\n")] ? header->value : "";
}

/* The limit of an option: 0 is the default, negative is no limit, which the pool calls 0. */
static long limit(int asked, long usual)
{
    return asked < 0 ? 0 : asked ? asked : usual;
}

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options)
{
    static const struct http_client_options defaults;
    struct http_client *client = heap_alloc(sizeof(*client));

    if (!options)
        options = &defaults;
    long per_host = limit(options->max_per_host, MAX_PER_HOST);
    long total = limit(options->max_total, MAX_TOTAL);
    long idle = total ? total : MAX_TOTAL;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    *client = (struct http_client){
        .loop = loop,
        .max_calls = options->max_calls,
        .options = *options,
        .user_agent =
            heap_strdup(options->user_agent ? options->user_agent : "flagger-c/" FLAGGER_VERSION),
        .ca_file = heap_strdup(options->ca_file),
    };
    shares_init(&client->held, options->budget,
                options->max_held ? options->max_held : HTTP_MAX_HELD);
    shares_init(&client->call_shares, BUDGET_CALLS, SIZE_MAX);
    client->options.user_agent = client->user_agent;
    client->options.ca_file = client->ca_file;
    TAILQ_INIT(&client->todo);
    TAILQ_INIT(&client->waiting);
    TAILQ_INIT(&client->running);
    client->calls = client_pool_new(loop, per_host, total, idle, on_pool_done, client);
    client->streams = client_pool_new(loop, 0, 0, MAX_IDLE_STREAMS, on_pool_done, client);
    return client;
}

static void client_destroy(struct http_client *client)
{
    struct http_call *call;

    client->depth++; /* so that call_finish() does not recurse */
    while ((call = TAILQ_FIRST(&client->todo)) || (call = TAILQ_FIRST(&client->waiting)) ||
           (call = TAILQ_FIRST(&client->running))) {
        if (call->state != CALL_ENDING)
            call->result.err =
                err_set(&call->info, ERR_CANCELLED, "%s: the client is shutting down", call->label);
        call_finish(call);
    }
    timer_stop(client->kick);
    client_pool_free(client->calls);
    client_pool_free(client->streams);
    shares_fini(&client->held);
    shares_fini(&client->call_shares);
    free(client->user_agent);
    free(client->ca_file);
    free(client);
    curl_global_cleanup();
}

void http_client_free(struct http_client *client)
{
    if (!client || client->freeing)
        return;
    client->freeing = true;
    if (client_pool_busy(client->calls) || client_pool_busy(client->streams))
        client_kick(client); /* called from on_data: curl must return first */
    else if (client->depth == 0)
        client_destroy(client);
}
