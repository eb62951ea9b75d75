/* Webhooks with headersFrom and caSecretRef, against real servers: the service, plain and with TLS,
 * another host, and the API with the Secrets. */

#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/json.h"
#include "engine/cache.h"
#include "engine/hook_call.h"
#include "engine/outbox.h"
#include "engine/rows_test.h"
#include "net/certs_test.h"
#include "net/server/server.h"

enum { WATCHDOG_MS = 8000, POLL_MS = 5 };

struct fixture {
    struct arena *arena;
    struct loop *loop;
    struct http_client *http;
    struct kube_client *kube;
    struct kube_config config;
    struct http_server *server, *other, *safe; /* safe: with TLS */
    struct engine_context context;
    struct timer *watchdog, *poll;
    bool timed_out;
    /* the API */
    int version;       /* of the Secret "key" */
    int secret_status; /* status of reading it */
    int reads;
    bool hold_reads;
    const char *ca; /* the Secret holds this under ca.crt instead of headers */
    struct http_conn_request *watch, *held;
    /* the service */
    int status, first_status, asked, others_asked;
    const char *method, *authorization, *team, *content_type, *body; /* of the last request */
    const char *replies;
    /* the answer */
    bool answered, passed, unasked;
    const char *text;
    void (*then)(struct fixture *f); /* NULL: the loop ends */
    struct canary_webhook webhook;
};

static struct cert ca, other_ca, safe_cert;

static const char *copy(struct fixture *f, const char *text)
{
    return arena_strdup(f->arena, text ? text : "");
}

/* --- the API: a Secret "key" in namespace test */

static const char *secret_text(struct fixture *f, bool whole)
{
    const char *token = arena_printf(f->arena, "Bearer token-%d", f->version);
    const char *data =
        f->ca ? arena_printf(f->arena, ",\"data\":{\"ca.crt\":\"%s\"}",
                             base64_encode(f->arena, f->ca, strlen(f->ca)))
              : arena_printf(f->arena, ",\"data\":{\"Authorization\":\"%s\",\"X-Team\":\"cmVk\"}",
                             base64_encode(f->arena, token, strlen(token)));
    return arena_printf(f->arena,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"key\","
                        "\"namespace\":\"test\",\"uid\":\"u\",\"resourceVersion\":\"%d\"}%s}",
                        f->version, whole ? data : "");
}

static void on_watch_gone(void *arg)
{
    ((struct fixture *)arg)->watch = NULL;
}

static void get_secrets(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    if (!http_req_param(req, "watch")) {
        http_reply_json(req, 200,
                        arena_printf(f->arena,
                                     "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{"
                                     "\"resourceVersion\":\"%d\"},\"items\":[%s]}",
                                     f->version, secret_text(f, false)));
        return;
    }
    f->watch = req;
    http_req_on_gone(req, on_watch_gone, f);
    http_stream_start(req, 200, "application/json", 0);
}

static void on_held_gone(void *arg)
{
    ((struct fixture *)arg)->held = NULL;
}

static void get_secret(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    f->reads++;
    if (f->hold_reads) {
        f->held = req;
        http_req_on_gone(req, on_held_gone, f);
    } else if (f->secret_status != 200) {
        http_reply_json(req, f->secret_status,
                        "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"as told\"}");
    } else {
        http_reply_json(req, 200, secret_text(f, true));
    }
}

/* --- the service, and another host */

static void hook(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    size_t len;
    const char *body = http_req_body(req, &len);
    f->asked++;
    f->method = copy(f, http_req_method(req));
    f->authorization = copy(f, http_req_header(req, "authorization"));
    f->team = copy(f, http_req_header(req, "x-team"));
    f->content_type = copy(f, http_req_header(req, "content-type"));
    f->body = arena_strndup(f->arena, body ? body : "", len);
    int status = f->asked == 1 && f->first_status ? f->first_status : f->status;
    if (f->first_status) /* at once again */
        http_reply_header(req, "Retry-After", "1");
    http_reply_text(req, status, f->replies);
}

static void redirect(void *arg, struct http_conn_request *req)
{
    const char *status = http_req_param(req, "status"), *to = http_req_param(req, "to");
    http_reply_header(req, "Location", to ? to : "/redirect");
    http_reply_text(req, status ? (int)strtol(status, NULL, 10) : 307, "elsewhere");
}

static void other_host(void *arg, struct http_conn_request *req)
{
    ((struct fixture *)arg)->others_asked++;
    http_reply_text(req, 200, "come in");
}

static const struct http_route routes[] = {
    {"GET", "/api/v1/secrets", get_secrets},
    {"GET", "/api/v1/namespaces/test/secrets/key", get_secret},
    {NULL, "/hook", hook},
    {NULL, "/redirect", redirect},
    {NULL, NULL, NULL},
};
static const struct http_route other_routes[] = {{NULL, "/*", other_host}, {NULL, NULL, NULL}};

/* --- calls */

static void end(struct fixture *f)
{
    loop_drain(f->loop);
}

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    f->watchdog = NULL;
    f->timed_out = true;
    end(f);
}

static void on_drain(void *arg)
{
    struct fixture *f = arg;
    timer_stop(f->watchdog);
    timer_stop(f->poll);
    f->watchdog = f->poll = NULL;
    if (f->held)
        http_reply_json(f->held, 503, "{}");
    f->held = NULL;
    cache_free(f->context.cache);
    outbox_free(f->context.outbox);
    secrets_free(f->context.secrets);
    kube_client_free(f->kube);
    http_client_free(f->http);
}

static void on_watch(void *arg, const struct kube_resource *resource,
                     const struct cached_object *before, const struct cached_object *after)
{
}

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.loop = loop_new(5000),
                               .arena = arena_new(),
                               .version = 7,
                               .secret_status = 200,
                               .status = 200,
                               .replies = "fine"};
    struct fixture *f = &fixture;
    struct errinfo info;
    struct http_server_options options = {.address = "127.0.0.1", .routes = routes, .arg = f};
    assert_int_equal(http_server_new(f->loop, &options, &f->server, &info), ERR_OK);
    options.routes = other_routes;
    assert_int_equal(http_server_new(f->loop, &options, &f->other, &info), ERR_OK);
    options.routes = routes;
    options.tls_cert_file = safe_cert.cert_file;
    options.tls_key_file = safe_cert.key_file;
    assert_int_equal(http_server_new(f->loop, &options, &f->safe, &info), ERR_OK);
    f->config = (struct kube_config){
        .server = arena_printf(f->arena, "http://127.0.0.1:%d", http_server_port(f->server)),
        .namespace_ = "default"};
    f->http = http_client_new(f->loop, NULL);
    f->kube = kube_client_new(f->loop, f->http, &f->config, &(struct kube_client_options){0});
    f->context = (struct engine_context){.loop = f->loop, .http = f->http, .kube = f->kube};
    f->context.cache = cache_new(f->loop, f->kube, &(struct cache_scope){0},
                                 &(struct cache_owner){.changed = on_watch, .arg = f});
    f->context.secrets = secrets_new(&f->context);
    f->context.outbox = outbox_new(&f->context);
    f->watchdog = timer_start(f->loop, WATCHDOG_MS, 0, on_watchdog, f);
    loop_on_drain(f->loop, on_drain, f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    http_server_free(f->server);
    http_server_free(f->other);
    http_server_free(f->safe);
    loop_free(f->loop);
    arena_free(f->arena);
    return 0;
}

static void on_answer(void *arg, const struct hook_answer *answer)
{
    struct fixture *f = arg;
    f->answered = true;
    f->passed = answer->passed;
    f->unasked = answer->unasked;
    f->text = copy(f, answer->text);
    if (f->then)
        f->then(f);
    else
        end(f);
}

static struct hook_call *start(struct fixture *f)
{
    f->answered = false;
    return hook_call_start(&f->context, "test", &f->webhook, "{\"name\":\"podinfo\"}", on_answer,
                           f);
}

/* A webhook at the path, with the Secret's headers. */
static void aim(struct fixture *f, const char *path, const char *secret)
{
    const char **names = arena_array(f->arena, 1, sizeof *names);
    names[0] = secret;
    f->webhook =
        (struct canary_webhook){.name = "check",
                                .url = arena_printf(f->arena, "%s%s", f->config.server, path),
                                .timeout_ms = 2000,
                                .retries = 2,
                                .headers_from = names,
                                .n_headers_from = 1};
}

static void call(struct fixture *f, const char *path, const char *secret)
{
    aim(f, path, secret);
    start(f);
    assert_false(f->answered);
    assert_int_equal(loop_run(f->loop), 0);
    assert_false(f->timed_out);
    assert_true(f->answered);
}

/* --- the rows of hooks.yaml */

static const struct row_column columns[] = {
    ROW_NUMBER(struct fixture, secret_status),
    ROW_NUMBER(struct fixture, first_status),
    ROW_NUMBER(struct fixture, status),
    ROW_TEXT(struct fixture, replies),
};

static void ask(struct fixture *f, enum hook_type type, const char *path)
{
    aim(f, path, "key");
    f->webhook.n_headers_from = 0;
    f->webhook.type = type;
    start(f);
    assert_int_equal(loop_run(f->loop), 0);
}

/* OTHER in a path is the address of the other host. */
static const char *path_of(struct fixture *f, const char *path)
{
    const char *at = strstr(path, "OTHER");

    return at ? arena_printf(f->arena, "%.*shttp://127.0.0.1:%d/", (int)(at - path), path,
                             http_server_port(f->other))
              : path;
}

static enum hook_type type_of(const char *name)
{
    for (enum hook_type type = HOOK_ROLLOUT; type <= HOOK_EVENT; type++)
        if (strcmp(hook_type_name(type), name) == 0)
            return type;
    fail_msg("no type of webhook \"%s\"", name);
    return HOOK_ROLLOUT;
}

static struct json_object *seen(struct fixture *f)
{
    struct json_object *out = json_own(f->arena, json_object_new_object());

    json_set_bool(out, "passed", f->passed);
    json_set_bool(out, "unasked", f->unasked);
    json_set_str(out, "text", f->text);
    json_set_int(out, "asked", f->asked);
    json_set_int(out, "others_asked", f->others_asked);
    json_set_int(out, "reads", f->reads);
    json_set_str(out, "method", f->method);
    json_set_str(out, "authorization", f->authorization);
    json_set_str(out, "team", f->team);
    json_set_str(out, "content_type", f->content_type);
    json_set_str(out, "body", f->body);
    return out;
}

static void run_row(void **state)
{
    struct fixture *f = *state;
    const char *type = json_str_at(row_case, "type", NULL);
    const char *secret = json_str_at(row_case, "secret", NULL);
    const char *path = path_of(f, json_str_at(row_case, "path", NULL));

    row_case_given(f->arena, columns, sizeof(columns) / sizeof(columns[0]), f);
    if (type)
        ask(f, type_of(type), path);
    else
        call(f, path, secret ? secret : "key");
    row_case_seen(f->arena, seen(f));
}

ROW_CASES("controller/engine/hooks.yaml", "call", run_row)

/* --- number of reads of the Secret */

static void poll_seen(void *arg);

static void call_when_seen(struct fixture *f)
{
    f->poll = timer_start(f->loop, POLL_MS, 0, poll_seen, f);
}

/* Called once the watch is open: the Secret gets another version. */
static void tell_change(struct fixture *f)
{
    f->version++;
    const char *event =
        arena_printf(f->arena, "{\"type\":\"MODIFIED\",\"object\":%s}\n", secret_text(f, false));
    http_stream_send(f->watch, event, strlen(event));
}

static void last_call(struct fixture *f)
{
    /* the version has changed: read once more */
    assert_int_equal(f->reads, 1);
    tell_change(f);
    f->then = NULL;
    call_when_seen(f);
}

static void second_call(struct fixture *f)
{
    f->then = last_call;
    call_when_seen(f);
}

/* Calls the webhook once the watch shows the current version. */
static void poll_seen(void *arg)
{
    struct fixture *f = arg;
    const struct cached_object *seen;
    f->poll = NULL;
    const char *version = arena_printf(f->arena, "%d", f->version);
    if (f->watch && cache_get(f->context.cache, &kube_secrets, "test", "key", &seen) &&
        seen->digest.version == version_mark(version))
        start(f);
    else
        call_when_seen(f);
}

FIXTURE_CASE(it_is_read_once_per_version)
{
    f->then = second_call;
    call(f, "/hook", "key");
    assert_int_equal(f->asked, 3);
    assert_int_equal(f->reads, 2);
    assert_string_equal(f->authorization, "Bearer token-8");
}

/* --- caSecretRef */

/* A webhook at the service with TLS, which trusts the certificate in the Secret. */
static void call_safe(struct fixture *f, const char *secret, const char *key)
{
    f->webhook = (struct canary_webhook){
        .name = "check",
        .url = arena_printf(f->arena, "https://127.0.0.1:%d/hook", http_server_port(f->safe)),
        .timeout_ms = 2000,
        .ca_secret = secret,
        .ca_key = key};
    start(f);
    assert_false(f->answered);
    assert_int_equal(loop_run(f->loop), 0);
    assert_false(f->timed_out);
    assert_true(f->answered);
}

FIXTURE_CASE(an_authority_of_a_secret_is_believed)
{
    f->ca = ca.cert_pem;
    call_safe(f, "key", NULL);
    assert_string_equal(f->text, "fine");
    assert_true(f->passed && !f->unasked);
}

FIXTURE_CASE(nobody_else_is_believed)
{
    /* The client's own authorities, which would suffice, are not used. */
    http_client_free(f->http);
    f->http = http_client_new(f->loop, &(struct http_client_options){.ca_file = ca.cert_file});
    kube_client_free(f->kube);
    f->kube = kube_client_new(f->loop, f->http, &f->config, &(struct kube_client_options){0});
    cache_free(f->context.cache);
    f->context.http = f->http;
    f->context.kube = f->kube;
    f->context.cache = cache_new(f->loop, f->kube, &(struct cache_scope){0},
                                 &(struct cache_owner){.changed = on_watch, .arg = f});
    f->ca = other_ca.cert_pem;
    call_safe(f, "key", NULL);
    assert_false(f->passed);
    assert_non_null(strstr(f->text, "certificate"));
    assert_int_equal(f->asked, 0);
}

CASE(a_ca_that_cannot_be_used_is_told)
{
    static const struct {
        const char *ca, *secret, *key, *text;
    } cases[] = {
        {"x", "gone", NULL, "caSecretRef: Secret gone.test does not exist"},
        {"x", "key", "root", "caSecretRef: Secret key.test has no key root"},
        {"x", "key", NULL,
         "caSecretRef: Secret key.test: the value of key ca.crt holds no certificates in PEM"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (i > 0) {
            tear_down(state);
            set_up(state);
        }
        struct fixture *f = *state;
        f->ca = cases[i].ca;
        call_safe(f, cases[i].secret, cases[i].key);
        assert_true(!f->passed && f->unasked);
        assert_string_equal(f->text, cases[i].text);
        assert_int_equal(f->asked, 0);
    }
}

/* The Secret changes, and each call trusts its current content, on a connection of its own. */
static void rotated_to_the_right_one(struct fixture *f)
{
    assert_true(f->passed);
    assert_int_equal(f->asked, 1);
    f->ca = other_ca.cert_pem;
    f->then = NULL;
    tell_change(f);
    call_when_seen(f);
}

static void rotated_from_the_wrong_one(struct fixture *f)
{
    assert_false(f->passed);
    f->ca = ca.cert_pem;
    f->then = rotated_to_the_right_one;
    tell_change(f);
    call_when_seen(f);
}

static void again_with_the_wrong_one(struct fixture *f)
{
    f->then = rotated_from_the_wrong_one;
    call_when_seen(f);
}

FIXTURE_CASE(a_ca_that_is_rotated_is_followed)
{
    f->ca = other_ca.cert_pem;
    f->then = again_with_the_wrong_one;
    call_safe(f, "key", NULL);
    assert_false(f->passed);
    assert_non_null(strstr(f->text, "certificate"));
    assert_int_equal(f->asked, 1);
}

/* --- the end of a call */

static void free_when_held(void *arg)
{
    struct hook_call **call = arg;
    hook_call_free(*call);
}

FIXTURE_CASE(a_call_that_waits_for_its_secret_can_be_freed)
{
    f->hold_reads = true;
    aim(f, "/hook", "key");
    struct hook_call *held = start(f);
    struct hook_call *at_once = start(f);
    hook_call_free(at_once);
    struct timer *later = timer_start(f->loop, 100, 0, free_when_held, &held);
    struct timer *stop = timer_start(f->loop, 200, 0, (timer_fn)loop_drain, f->loop);
    assert_int_equal(loop_run(f->loop), 0);
    (void)later, (void)stop;
    assert_false(f->answered);
    assert_int_equal(f->asked, 0);
}

static void poll_asked(void *arg)
{
    struct fixture *f = arg;
    f->poll = NULL;
    if (f->asked > 0)
        end(f);
    else
        f->poll = timer_start(f->loop, POLL_MS, 0, poll_asked, f);
}

FIXTURE_CASE(events_have_them_too)
{
    aim(f, "/hook", "key");
    f->webhook.type = HOOK_EVENT;
    struct canary canary = {.name = "podinfo", .namespace_ = "test"};
    canary.status.last_applied_spec = "";
    canary.analysis.webhooks = &f->webhook;
    canary.analysis.n_webhooks = 1;
    outbox_event(f->context.outbox, &canary, PHASE_Progressing, "Normal", "step 1", 1);
    poll_asked(f);
    assert_int_equal(loop_run(f->loop), 0);
    assert_false(f->timed_out);
    assert_string_equal(f->authorization, "Bearer token-7");
    assert_non_null(strstr(f->body, "step 1"));
}

static int group_set_up(void **state)
{
    cert_make(&ca, NULL, "ca");
    cert_make(&other_ca, NULL, "other_ca");
    cert_make(&safe_cert, &ca, "safe");
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down, .set_up_all = group_set_up,
             .tear_down_all = certs_free);
