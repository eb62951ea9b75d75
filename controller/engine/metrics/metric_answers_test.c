/*
 * Each metric backend over real HTTP, with every behaviour of a server: a row of
 * metric_answers.yaml for a backend, and one for behaviours common to all. With TEST_SHOW in the
 * environment the table of both is printed, with the messages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/rsa.h>

#include "base/encoding.h"
#include "engine/metrics/metric_share.h"
#include "net/certs_test.h"
#include "net/loop_test.h"
#include "net/server/server.h"
#include "test/rows.h"
#include "test/unit.h"

enum { MAX_BACKENDS = 16, NOW_MS = 1000 * 1000 };

struct fixture;
struct asked {
    struct fixture *f;
    struct json_object *row; /* of the backend */
    struct kube_client *kube;
    struct metric_ways context;
    struct metric_question question;
    struct metric_call *call;
    struct http_conn_request *held; /* without an answer */
    int requests;
    bool answered, posts;
    const char *says;
};

struct fixture {
    struct loop *loop;
    struct arena *arena;
    struct http_client *http;
    struct http_server *plain, *secure;
    struct cert ca, cert;
    const char *account; /* a key for stackdriver */
    struct json_object *does;
    struct asked asked[MAX_BACKENDS];
    int n;
};

/* --- what the servers do */

static void on_gone(void *arg)
{
    ((struct asked *)arg)->held = NULL;
}

static void drop(void *arg)
{
    struct asked *asked = arg;

    if (asked->held)
        http_req_drop(asked->held);
    asked->held = NULL;
}

static const char *repeated(struct arena *arena, char letter, int64_t n)
{
    return memset(arena_strdup(arena, arena_printf(arena, "%*s", (int)n, "")), letter, (size_t)n);
}

static const char *text_of(struct asked *asked)
{
    struct json_object *does = asked->f->does;
    const char *reply = json_str_at(does, "reply", NULL);
    int64_t big = json_int_at(does, 0, "big", NULL), deep = json_int_at(does, 0, "deep", NULL);

    if (reply)
        return json_str_at(asked->row, reply, NULL);
    if (big || deep)
        return repeated(asked->f->arena, big ? ' ' : '[', big + deep);
    return json_str_at(does, "text", NULL);
}

static void hold(struct asked *asked, struct http_conn_request *req)
{
    asked->held = req;
    http_req_on_gone(req, on_gone, asked);
}

static void half_an_answer(struct asked *asked, struct http_conn_request *req)
{
    const char *text = text_of(asked);

    hold(asked, req);
    http_stream_start(req, 200, "application/json", 0);
    http_stream_send(req, text, strlen(text) / 2);
    timer_start(asked->f->loop, 0, 0, drop, asked);
}

static void on_query(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    const char *number = http_req_segment(req, 0), *does = json_str_at(f->does, "does", NULL);
    const char *header = json_str_at(f->does, "header", NULL);
    const char *type = json_str_at(f->does, "type", NULL);
    struct asked *asked = &f->asked[strtol(number, NULL, 10)];
    int64_t first = json_int_at(f->does, 0, "first", NULL);
    int64_t status = json_int_at(f->does, 200, "status", NULL);

    asked->posts = strcmp(http_req_method(req), "POST") == 0;
    if (does && strcmp(does, "nothing") == 0) {
        hold(asked, req);
        return;
    }
    if (does && strcmp(does, "close") == 0) {
        half_an_answer(asked, req);
        return;
    }
    if (first && asked->requests++ == 0)
        status = first;
    if (header) {
        size_t len = strcspn(header, ":");
        http_reply_header(req, arena_strndup(f->arena, header, len), header + len + 2);
    }
    const char *text = text_of(asked);
    http_reply(req, (int)status, type ? type : "application/json", text, strlen(text));
}

static void on_token(void *arg, struct http_conn_request *req)
{
    (void)arg;
    http_reply_json(req, 200, "{\"access_token\":\"t\"}");
}

static const struct http_route routes[] = {
    {"POST", "/token", on_token}, {NULL, "/*", on_query}, {NULL, NULL, NULL}};

/* --- clients */

static const char *service_account(struct fixture *f)
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    BIO *bio = BIO_new(BIO_s_mem());
    struct json_object *account = json_own(f->arena, json_object_new_object());
    char *pem;

    PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    long len = BIO_get_mem_data(bio, &pem);
    json_set_str(account, "private_key", arena_strndup(f->arena, pem, (size_t)len));
    json_set_str(account, "client_email", "a@b");
    json_set_str(account, "project_id", "p");
    json_set_str(account, "token_uri",
                 arena_printf(f->arena, "https://127.0.0.1:%d/token", http_server_port(f->secure)));
    BIO_free(bio);
    EVP_PKEY_free(key);
    return json_text(f->arena, account);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    struct errinfo info;

    *f = (struct fixture){.loop = loop_new(5000), .arena = unit_arena};
    cert_make(&f->ca, NULL, "authority");
    cert_make(&f->cert, &f->ca, "elsewhere");
    struct http_server_options options = {.address = "127.0.0.1", .routes = routes, .arg = f};
    assert_int_equal(http_server_new(f->loop, &options, &f->plain, &info), ERR_OK);
    options.tls_cert_file = f->cert.cert_file;
    options.tls_key_file = f->cert.key_file;
    assert_int_equal(http_server_new(f->loop, &options, &f->secure, &info), ERR_OK);
    /* All are asked at once: with a limit of connections the last would wait for the first. */
    f->http = http_client_new(
        f->loop, &(struct http_client_options){.ca_file = f->ca.cert_file, .max_per_host = -1});
    f->account = service_account(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    loop_drain(f->loop);
    http_client_free(f->http);
    loop_run(f->loop);
    http_server_free(f->plain);
    http_server_free(f->secure);
    loop_free(f->loop);
    return certs_free(state);
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static struct json_object *secret_of(struct fixture *f, struct json_object *row)
{
    struct json_object *plain = json_at(row, "secret", NULL);
    struct json_object *secret = json_own(f->arena, json_object_new_object());

    if (json_at(row, "token", NULL))
        json_set_str(json_sub(secret, "data"), "serviceAccountKey",
                     base64_encode(f->arena, f->account, strlen(f->account)));
    if (!plain)
        return json_at(row, "token", NULL) ? secret : NULL;
    json_object_object_foreach(plain, key, value)
    {
        const char *text = json_object_get_string(value);
        json_set_str(json_sub(secret, "data"), key, base64_encode(f->arena, text, strlen(text)));
    }
    return secret;
}

/* A name that the resolver refuses by itself (a label of over 63 letters, RFC 1035 2.3.4), so that
 * no name server decides how long that takes. */
#define NO_SUCH_HOST                                                                               \
    "no-such-host-no-such-host-no-such-host-no-such-host-no-such-host-no-such-host.invalid"

/* The address asked: the server itself, one of another name, or one without a listener. */
static const char *address_of(struct fixture *f, int number)
{
    const char *does = json_str_at(f->does, "does", NULL);

    if (does && strcmp(does, "refuse") == 0)
        return arena_printf(f->arena, "http://127.0.0.1:1/%d", number);
    if (does && strcmp(does, "nohost") == 0)
        return arena_printf(f->arena, "http://" NO_SUCH_HOST "/%d", number);
    if (does && strcmp(does, "tls") == 0)
        return arena_printf(f->arena, "https://localhost:%d/%d", http_server_port(f->secure),
                            number);
    return arena_printf(f->arena, "http://127.0.0.1:%d/%d", http_server_port(f->plain), number);
}

static void on_answer(void *arg, const struct metric_answer *answer)
{
    static const char *const kinds[] = {[METRIC_NO_VALUES] = "none", [METRIC_ERROR] = "error"};
    struct asked *asked = arg;
    struct arena *arena = asked->f->arena;
    const char *note = answer->note ? arena_printf(arena, " (%s)", answer->note) : "";

    assert_false(asked->answered);
    asked->answered = true;
    asked->says = answer->outcome == METRIC_VALUE
                      ? arena_printf(arena, "value %g%s", answer->value, note)
                      : arena_printf(arena, "%s: %s%s",
                                     answer->unreachable ? "unreachable" : kinds[answer->outcome],
                                     answer->text, note);
}

static void ask(struct fixture *f, struct json_object *row, int number)
{
    struct asked *asked = &f->asked[number];
    struct metric_answer at_once;
    const char *address = address_of(f, number);
    struct kube_config *config = ARENA_NEW(f->arena, struct kube_config); /* the client keeps it */

    config->server = address;
    *asked = (struct asked){.f = f, .row = row};
    asked->context = (struct metric_ways){.loop = f->loop, .http = f->http};
    asked->question = (struct metric_question){
        .id = "metrics[0]",
        .backend = json_str_at(row, "backend", NULL),
        .address = json_at(row, "api", NULL) ? NULL : address,
        .query = json_str_at(row, "query", NULL),
        .path = json_str_at(row, "path", NULL),
        .interval_ms = json_int_at(row, CANARY_UNSET, "interval_ms", NULL),
        .spec = json_at(row, "spec", NULL),
        .secret = secret_of(f, row),
    };
    if (json_at(row, "api", NULL))
        asked->context.kube = asked->kube = kube_client_new(f->loop, f->http, config, NULL);
    asked->call = metric_call_start(&asked->context, f->arena, &asked->question, NOW_MS, on_answer,
                                    asked, &at_once);
    assert_non_null(asked->call);
}

static bool all_answered(const struct fixture *f)
{
    for (int i = 0; i < f->n; i++) {
        if (!f->asked[i].answered)
            return false;
    }
    return true;
}

static void judge(struct fixture *f, const struct asked *asked)
{
    const char *is = json_str_at(f->does, "is", NULL), *has = json_str_at(f->does, "has", NULL);
    const char *but = json_str_at(f->does, "but", asked->question.backend, NULL);
    const char *posts = json_str_at(f->does, "posts", NULL);

    if (posts && asked->posts) {
        is = "error";
        has = posts;
    }
    if (but) {
        is = but;
        has = NULL;
    }
    if (getenv("TEST_SHOW"))
        fprintf(stderr, "%-20s%-16s%.160s\n", json_str_at(f->does, "case", NULL),
                asked->question.backend, asked->says);
    if (strncmp(asked->says, is, strlen(is)) != 0 || (has && !strstr(asked->says, has)))
        fail_msg("%s, %s: expected %s ... %s, it says %s", json_str_at(f->does, "case", NULL),
                 asked->question.backend, is, has ? has : "", asked->says);
}

FIXTURE_CASE(each_backend_says_what_a_server_did)
{
    struct json_object *file = rows_read(arena, "controller/engine/metrics/metric_answers.yaml");
    struct json_object *backends = json_elem(file, 0), *cases = json_elem(file, 1);

    assert_in_range(json_len(backends), 1, MAX_BACKENDS);
    for (size_t i = 0; unit_row("metric_answers.yaml", i, json_len(cases)); i++) {
        f->does = json_elem(cases, i);
        for (f->n = 0; f->n < (int)json_len(backends); f->n++)
            ask(f, json_elem(backends, (size_t)f->n), f->n);
        RUN_UNTIL(f, all_answered(f));
        for (int k = 0; k < f->n; k++) {
            judge(f, &f->asked[k]);
            if (f->asked[k].kube)
                kube_client_free(f->asked[k].kube);
        }
    }
}
