/* identity: admission of real requests. */
#include "net/fixture_test.h"

#include "base/file.h"
#include "base/metrics.h"
#include "gate/access/identity.h"
#include "net/certs_test.h"

static char token_file[64];
static struct identities *identities;
static struct cert ca, server, build, nobody, blank;

static void serve(struct http_conn_request *req, bool admitted, const struct identity *who)
{
    if (admitted)
        http_reply_text(req, 200,
                        arena_printf(http_req_arena(req), "%s|%s|%s", who->name,
                                     role_word(who->role), who->verified ? "verified" : "not"));
}

static void check(void *arg, struct http_conn_request *req)
{
    struct identity who;
    serve(req, identity_admit_check(identities, req, &who), &who);
}

static void look(void *arg, struct http_conn_request *req)
{
    struct identity who;
    serve(req, identity_admit(identities, req, ROLE_CHECK, &who), &who);
}

static void open_gate(void *arg, struct http_conn_request *req)
{
    struct identity who;
    serve(req, identity_admit(identities, req, ROLE_OPERATE, &who), &who);
}

static void policy(void *arg, struct http_conn_request *req)
{
    struct identity who;
    serve(req, identity_admit(identities, req, ROLE_ADMIN, &who), &who);
}

static void click(void *arg, struct http_conn_request *req)
{
    if (identity_admit_origin(req))
        http_reply_text(req, 200, "clicked");
}

static void whoami(void *arg, struct http_conn_request *req)
{
    identity_whoami(identities, req);
}

static const struct http_route routes[] = {
    {NULL, "/gate/check", check},  {NULL, "/v1/look", look},     {NULL, "/gate/open", open_gate},
    {NULL, "/v1/open", open_gate}, {NULL, "/v1/policy", policy}, {NULL, "/links/x", click},
    {NULL, "/v1/whoami", whoami},  {NULL, NULL, NULL},
};

static const char tokens[] = "check-check-check check carl\n"
                             "operate-operate-operate operate olga\n"
                             "admin-admin-admin admin adam\n"
                             "cert:build operate pipeline\n";
static const char C[] = "Bearer check-check-check", O[] = "Bearer operate-operate-operate",
                  A[] = "Bearer admin-admin-admin", WRONG[] = "Bearer operate-operate-operatE";

static void write_tokens(const char *text)
{
    assert_int_equal(file_write(token_file, text, strlen(text), 0600, NULL), ERR_OK);
}

static void begin(struct fixture *f, bool with_tokens, bool with_ca, bool anonymous_check)
{
    struct errinfo info = {0};
    struct http_server_options options = {0};

    if (with_ca)
        options = (struct http_server_options){.tls_cert_file = server.cert_file,
                                               .tls_key_file = server.key_file,
                                               .tls_client_ca_file = ca.cert_file,
                                               .tls_client_optional = true};
    fixture_start(f, routes, options);
    write_tokens(tokens);
    if (identities_new(f->loop,
                       &(struct identities_options){.token_file = with_tokens ? token_file : "",
                                                    .client_ca = with_ca,
                                                    .anybody = !with_tokens && !with_ca,
                                                    .anonymous_check = anonymous_check},
                       &identities, &info) != ERR_OK)
        fail_msg("%s", info.text);
}

static void end(struct fixture *f)
{
    identities_stop(identities);
    identities_free(identities);
    fixture_end(f);
    metrics_reset();
}

struct ask {
    const char *method, *path, *authorization;
    const struct http_header extra;
    const char *body; /* NULL if none */
    const struct cert *cert;
};

#define ASK(method_, path_, token_, ...)                                                           \
    (struct ask)                                                                                   \
    {                                                                                              \
        .method = (method_), .path = (path_), .authorization = (token_)__VA_OPT__(, ) __VA_ARGS__  \
    }

static void ask(struct fixture *f, const struct ask *what, struct answer *a)
{
    struct http_header headers[3] = {{0}};
    int n = 0;
    struct http_tls tls = {.ca_pem = ca.cert_pem,
                           .cert_pem = what->cert ? what->cert->cert_pem : NULL,
                           .key_pem = what->cert ? what->cert->key_pem : NULL};

    if (what->authorization)
        headers[n++] = (struct http_header){"Authorization", what->authorization};
    if (what->extra.name)
        headers[n++] = what->extra;
    exchange(f,
             (struct http_request){.method = what->method,
                                   .url = url_of(f, what->path),
                                   .headers = headers,
                                   .body = what->body,
                                   .body_len = what->body ? strlen(what->body) : 0,
                                   .tls = &tls},
             a);
    assert_int_equal(a->err, ERR_OK);
}

static void expect(struct fixture *f, const struct ask *what, int status, const char *says)
{
    struct answer a = {.want_header = "WWW-Authenticate"};

    ask(f, what, &a);
    if (a.status != status || !strstr(a.body, says))
        fail_msg("%s %s %s %s: %d %s, expected %d %s", what->method, what->path,
                 what->authorization ? what->authorization : "(no token)",
                 what->extra.value ? what->extra.value : "", a.status, a.body, status, says);
    assert_string_equal(a.header, status == 401 ? "Bearer" : "");
}

CASE(every_role_has_its_routes)
{
    static const struct {
        const char *token;
        int look, open, policy;
        const char *name;
    } cases[] = {
        {C, 200, 403, 403, "carl|check|verified"},
        {O, 200, 200, 403, "olga|operate|verified"},
        {A, 200, 200, 200, "adam|admin|verified"},
        {WRONG, 401, 401, 401, "not known"},
        {"Basic b2xnYTp4", 401, 401, 401, "of the form"},
        {"Bearer cert:build", 401, 401, 401, ""},
        {"", 401, 401, 401, "of the form"},
        {NULL, 401, 401, 401, "token is needed"},
    };
    struct fixture f;

    begin(&f, true, false, false);
    EACH_ROW (row, cases) {
        const char *token = row->token;
        expect(&f, &ASK("GET", "/v1/look", token), row->look, row->name);
        expect(&f, &ASK("POST", "/gate/check", token), row->look, row->name);
        expect(&f, &ASK("POST", "/gate/open", token), row->open,
               row->open == 403 ? "takes the role operate" : "");
        expect(&f, &ASK("PUT", "/v1/policy", token), row->policy,
               row->policy == 403 ? "takes the role admin, and " : "");
    }
    struct buf text;
    buf_init(&text, 1 << 20);
    metrics_write(&text);
    static const char *const counts[] = {"{reason=\"role\"} 3", "{reason=\"wrong_credentials\"} 16",
                                         "{reason=\"no_credentials\"} 4"};
    for (size_t i = 0; i < 3; i++)
        assert_non_null(strstr(text.data, counts[i]));
    buf_fini(&text);
    end(&f);
}

CASE(without_tokens_everybody_is_admin)
{
    struct fixture f;

    begin(&f, false, false, false);
    expect(&f, &ASK("PUT", "/v1/policy", NULL), 200, "|admin|not");
    expect(&f, &ASK("PUT", "/v1/policy", WRONG), 200, "|admin|not");
    expect(&f, &ASK("POST", "/gate/check", NULL), 200, "|admin|not");
    expect(&f, &ASK("GET", "/v1/whoami", NULL), 200,
           "{\"name\":\"\",\"role\":\"admin\",\"anonymous\":true}");
    end(&f);
}

CASE(a_check_may_be_anonymous)
{
    struct fixture f;

    begin(&f, true, false, true);
    expect(&f, &ASK("POST", "/gate/check", NULL), 200, "|check|not");
    expect(&f, &ASK("POST", "/gate/check", C), 200, "carl|check|verified");
    expect(&f, &ASK("POST", "/gate/check", WRONG), 401, "");
    expect(&f, &ASK("GET", "/v1/look", NULL), 401, "");
    expect(&f, &ASK("GET", "/v1/whoami", NULL), 401, "");
    expect(&f, &ASK("POST", "/gate/open", NULL), 401, "");
    expect(&f, &ASK("GET", "/v1/whoami", C), 200,
           "{\"name\":\"carl\",\"role\":\"check\",\"anonymous\":false}");
    end(&f);
}

CASE(certificates_have_rows)
{
    struct fixture f;

    begin(&f, true, true, false);
    expect(&f, &ASK("POST", "/gate/open", NULL, .cert = &build), 200, "pipeline|operate|verified");
    expect(&f, &ASK("PUT", "/v1/policy", NULL, .cert = &build), 403, "pipeline has the");
    expect(&f, &ASK("GET", "/v1/look", NULL, .cert = &nobody), 401, "has no row");
    expect(&f, &ASK("GET", "/v1/look", NULL), 401, "token or a client certificate");
    /* a token has precedence over a certificate, even if the token is wrong */
    expect(&f, &ASK("PUT", "/v1/policy", A, .cert = &build), 200, "adam|admin");
    expect(&f, &ASK("POST", "/gate/open", C, .cert = &build), 403, "carl has the role");
    expect(&f, &ASK("GET", "/v1/look", WRONG, .cert = &build), 401, "");
    end(&f);
    begin(&f, true, true, true);
    expect(&f, &ASK("POST", "/gate/check", NULL, .cert = &nobody), 200, "|check|not");
    end(&f);
}

CASE(certificates_alone_are_admins)
{
    struct fixture f;

    begin(&f, false, true, false);
    expect(&f, &ASK("PUT", "/v1/policy", NULL, .cert = &build), 200, "build|admin|verif");
    expect(&f, &ASK("PUT", "/v1/policy", NULL, .cert = &blank), 401, "has a blank");
    expect(&f, &ASK("PUT", "/v1/policy", NULL), 401, "client certificate with");
    expect(&f, &ASK("PUT", "/v1/policy", O, .cert = &build), 401, "not known");
    end(&f);
}

CASE(foreign_pages_change_nothing)
{
    static const struct {
        const char *name, *value; /* %: the server's own host and port */
        bool foreign;
    } cases[] = {
        {"Origin", "http://%", false},
        {"Origin", "https://%", false}, /* TLS was terminated in front of us */
        {"Origin", "HTTP://%", false},
        {"Origin", "http://%0", true},
        {"Origin", "http://evil.%", true},
        {"Origin", "http://%.evil.example", true},
        {"Origin", "http://127.0.0.1", true},
        {"Origin", "https://evil.example", true},
        {"Origin", "null", true},
        {"Origin", "", true},
        {"Origin", "http://", true},
        {"Sec-Fetch-Site", "cross-site", true},
        {"Sec-Fetch-Site", "same-site", true},
        {"Sec-Fetch-Site", "same-origin", false},
        {"Sec-Fetch-Site", "none", false},
        {NULL, NULL, false},
    };
    static const char *const methods[] = {"POST", "PUT", "DELETE", "PATCH"};
    struct fixture f;

    begin(&f, true, false, false);
    EACH_ROW (row, cases) {
        const char *percent = row->value ? strchr(row->value, '%') : NULL;
        char value[128];
        if (percent)
            snprintf(value, sizeof(value), "%.*s127.0.0.1:%d%s", (int)(percent - row->value),
                     row->value, http_server_port(f.server), percent + 1);
        else
            snprintf(value, sizeof(value), "%s", row->value ? row->value : "");
        struct http_header header = {row->name, value};
        int status = row->foreign ? 403 : 200;
        for (size_t m = 0; m < sizeof(methods) / sizeof(methods[0]); m++)
            expect(&f, &ASK(methods[m], "/v1/open", A, .extra = header), status,
                   row->foreign ? "another site" : "adam");
        expect(&f, &ASK("POST", "/links/x", NULL, .extra = header), status,
               row->foreign ? "another site" : "clicked");
        expect(&f, &ASK("GET", "/v1/open", A, .extra = header), 200, "adam");
        expect(&f, &ASK("POST", "/gate/check", A, .extra = header), 200, "adam");
    }
    end(&f);
}

/* The scheme's default port may be written or omitted. */
CASE(default_ports_are_the_same_host)
{
    static const struct {
        const char *host, *origin;
        bool foreign;
    } cases[] = {
        {"gate.example", "https://gate.example", false},
        {"gate.example:443", "https://gate.example", false},
        {"gate.example", "https://gate.example:443", false},
        {"gate.example", "http://gate.example:80", false},
        {"GATE.example", "http://gate.EXAMPLE", false},
        {"[::1]:80", "http://[::1]", false},
        {"gate.example:443", "http://gate.example", true},
        {"gate.example", "https://gate.example:8443", true},
        {"gate.example", "https://gate.example.evil", true},
        {"gate.example", "https://gate.exampl", true},
    };
    struct fixture f;

    begin(&f, false, false, false);
    EACH_ROW (row, cases) {
        char request[512], text[2048] = "";
        int fd = raw_connect(&f);
        snprintf(request, sizeof(request),
                 "POST /v1/open HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nContent-Length: 0\r\n"
                 "Connection: close\r\n\r\n",
                 row->host, row->origin);
        raw_send(fd, request);
        raw_read(&f, fd, text, sizeof(text), NULL);
        if (!strstr(text, row->foreign ? "HTTP/1.1 403" : "HTTP/1.1 200"))
            fail_msg("Host %s, Origin %s: %s", row->host, row->origin, text);
        close(fd);
    }
    end(&f);
}

CASE(bodies_below_v1_are_json)
{
    static const struct {
        const char *path, *type, *body;
        int status;
    } cases[] = {
        {"/v1/open", "application/json", "{}", 200},
        {"/v1/open", "Application/JSON; charset=utf-8", "{}", 200},
        {"/v1/open", "application/json;", "{}", 200},
        {"/v1/open", "application/jsonp", "{}", 415},
        {"/v1/open", "text/plain", "{}", 415},
        {"/v1/open", "text/plain; application/json", "{}", 415},
        {"/v1/open", NULL, "{}", 415},
        {"/v1/open", NULL, NULL, 200},
        {"/gate/open", "application/x-www-form-urlencoded", "{}", 200}, /* curl -d */
    };
    struct fixture f;

    begin(&f, true, false, false);
    EACH_ROW (row, cases)
        expect(&f,
               &ASK("POST", row->path, O, .extra = {row->type ? "Content-Type" : NULL, row->type},
                    .body = row->body),
               row->status, row->status == 415 ? "application/json" : "olga");
    end(&f);
}

CASE(wrong_rows_are_told)
{
    static char long_name[300];
    memset(long_name, 'n', 254);
    char too_long[400], fits[400];
    snprintf(too_long, sizeof(too_long), "0123456789abcdef check %s\n", long_name);
    snprintf(fits, sizeof(fits), "0123456789abcdef check %s\n", long_name + 1);
    const struct {
        const char *rows, *says; /* says is NULL if the rows are correct */
    } cases[] = {
        {"0123456789abcdef\n", ":1: expected TOKEN ROLE NAME, found only one word"},
        {"# comment\n0123456789abcdef check\n", ":2: expected TOKEN ROLE NAME, found only two"},
        {"0123456789abcdef root ann\n", ":1: expected the role check, operate or admin"},
        {"0123456789abcdef none ann\n", ":1: expected the role check, operate or admin"},
        {"0123456789abcdef Admin ann\n", ":1: expected the role check, operate or admin"},
        {"cert:ann root ann\n", ":1: expected the role check, operate or admin"},
        {"0123456789abcdef check ann lee\n", ":1: expected as the name 1 to 253"},
        {"0123456789abcdef check a\x01n\n", ":1: expected as the name 1 to 253"},
        {"0123456789abcdef check a\x7fn\n", ":1: expected as the name 1 to 253"},
        {"0123456789abcdef check a\xc2\xa0n\n", ":1: expected as the name 1 to 253"},
        {"0123456789abcdef check a\xffn\n", ":1: expected as the name 1 to 253"},
        {too_long, ":1: expected as the name 1 to 253"},
        {"0123456789abcdef check a\n0123456789abcdef admin b\n", ":2: this token stands in"},
        {fits, NULL},
        {"0123456789abcdef check J\xc3\xbcrgen\r\ncert:j operate J\xc3\xbcrgen\n", NULL},
    };
    struct loop *loop = loop_new(10000);

    EACH_ROW (row, cases) {
        struct errinfo info = {0};
        write_tokens(row->rows);
        enum err err = identities_new(loop, &(struct identities_options){.token_file = token_file},
                                      &identities, &info);
        assert_int_equal(err, row->says ? ERR_INVALID : ERR_OK);
        if (err == ERR_OK)
            identities_free(identities);
        else if (!strstr(info.text, row->says))
            fail_msg("%s, expected %s", info.text, row->says);
        assert_null(strstr(info.text, "0123456789"));
    }
    loop_free(loop);
}

static int group_setup(void **state)
{
    snprintf(token_file, sizeof(token_file), "%s/tokens", unit_folder());
    cert_make(&ca, NULL, "ca");
    cert_make(&server, &ca, "server");
    cert_make(&build, &ca, "build");
    cert_make(&nobody, &ca, "nobody");
    cert_make(&blank, &ca, "Ann Lee");
    return 0;
}

UNIT_FIXTURE(.set_up_all = group_setup, .tear_down_all = certs_free);

/* The second word of a row: a role, and the namespaces to which it applies. */
static const struct {
    const char *word;
    enum role role; /* ROLE_NONE: rejected */
    bool test, prod, te, all;
} words[] = {
    {"check", ROLE_CHECK, true, true, true, true},
    {"operate", ROLE_OPERATE, true, true, true, true},
    {"admin", ROLE_ADMIN, true, true, true, true},
    {"operate:test", ROLE_OPERATE, true, false, false, false},
    {"admin:test,prod", ROLE_ADMIN, true, true, false, false},
    {"check:other,prod", ROLE_CHECK, false, true, false, false},
    {"check:te", ROLE_CHECK, false, false, true, false},
    {"check:test-2", ROLE_CHECK, false, false, false, false},
    {"none", ROLE_NONE, false, false, false, false},
    {"none:test", ROLE_NONE, false, false, false, false},
    {"", ROLE_NONE, false, false, false, false},
    {"operat", ROLE_NONE, false, false, false, false},
    {"operate:", ROLE_NONE, false, false, false, false},
    {"operate:,", ROLE_NONE, false, false, false, false},
    {"operate:test,", ROLE_NONE, false, false, false, false},
    {"operate:test,,prod", ROLE_NONE, false, false, false, false},
    {"operate:Test", ROLE_NONE, false, false, false, false},
    {"operate:*", ROLE_NONE, false, false, false, false},
    {"operate:-test", ROLE_NONE, false, false, false, false},
    {"operate:test:prod", ROLE_NONE, false, false, false, false},
    {"operate:a123456789012345678901234567890123456789012345678901234567890123", ROLE_NONE, false,
     false, false, false},
    {NULL, ROLE_NONE, false, false, false, false},
};

CASE(a_word_gives_a_role_in_namespaces)
{
    EACH_ROW (row, words) {
        struct rights rights;
        bool good = rights_parse(row->word, &rights);
        print_message("%s\n", row->word ? row->word : "(none)");
        assert_int_equal(good, row->role != ROLE_NONE);
        assert_int_equal(rights.role, row->role);
        if (!good)
            continue;
        assert_int_equal(rights_include(rights.namespaces, "test"), row->test);
        assert_int_equal(rights_include(rights.namespaces, "prod"), row->prod);
        assert_int_equal(rights_include(rights.namespaces, "te"), row->te);
        assert_int_equal(rights_include(rights.namespaces, ""), row->all);
    }
}
