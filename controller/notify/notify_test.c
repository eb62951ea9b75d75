#include "notify/notify.h"

#include <string.h>

#include "base/encoding.h"
#include "base/json.h"
#include "test/rows.h"
#include "test/unit.h"

#define FIELDS                                                                                     \
    .fields = {{"Target", "Deployment/podinfo.test"}, {"Traffic routing", "Blue/Green"}},          \
    .n_fields = 2

static const struct alert failed = {.canary = "podinfo",
                                    .namespace_ = "test",
                                    .severity = "error",
                                    .text = "Failed checks threshold reached 5",
                                    .key = "u-17-0",
                                    .service = "deployment/podinfo",
                                    FIELDS};

struct service {
    const char *type, *address, *token, *url, *auth, *body, *error, *info, *warn, *content_type;
};

/* The body for each service, from the rows of services.yaml. */
static const struct service *services_read(struct arena *arena, size_t *count)
{
    static const struct row_column columns[] = {
        ROW_TEXT(struct service, type),  ROW_TEXT(struct service, address),
        ROW_TEXT(struct service, token), ROW_TEXT(struct service, url),
        ROW_TEXT(struct service, auth),  ROW_TEXT(struct service, body),
        ROW_TEXT(struct service, error), ROW_TEXT(struct service, info),
        ROW_TEXT(struct service, warn),  ROW_TEXT(struct service, content_type),
    };
    struct json_object *rows = json_elem(rows_read(arena, "controller/notify/services.yaml"), 0);

    return ROWS_FILL(arena, rows, columns, (struct service){0}, count);
}

static struct http_request request_of(struct arena *arena, const struct service *service,
                                      const char *severity)
{
    struct alert alert = failed;
    struct address address = {.url = service->address,
                              .token = service->token,
                              .username = "flagger",
                              .channel = "general"};
    struct http_request request;
    struct errinfo ei;

    alert.severity = severity;
    if (notify_request(arena, notifier_find(service->type), &address, &alert, NULL, &request,
                       &ei) != ERR_OK)
        fail_msg("%s: %s", service->type, ei.text);
    return request;
}

static const char *header(const struct http_request *request, const char *name)
{
    for (const struct http_header *h = request->headers; h->name; h++) {
        if (strcmp(h->name, name) == 0)
            return h->value;
    }
    return "";
}

static const char *replaced(struct arena *arena, const char *text, const char *from, const char *to)
{
    const char *at = from ? strstr(text, from) : NULL;

    if (!from)
        return text;
    assert_non_null(at);
    return arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

CASE(test_what_each_service_is_sent)
{
    size_t count;
    const struct service *services = services_read(arena, &count);

    for (size_t i = 0; unit_row("services.yaml", i, count); i++) {
        const struct service *row = &services[i];
        struct http_request request = request_of(arena, row, "error");
        const char *want = row->body;
        assert_string_equal(request.method, "POST");
        assert_string_equal(request.url, row->url);
        assert_string_equal(header(&request, "Content-Type"),
                            row->content_type ? row->content_type : "application/json");
        assert_string_equal(header(&request, "Idempotency-Key"), "u-17-0");
        assert_string_equal(header(&request, "Authorization"), row->auth ? row->auth : "");
        assert_string_equal(request.body, want);
        assert_int_equal(request.body_len, strlen(want));
        assert_string_equal(request_of(arena, row, "info").body,
                            replaced(arena, want, row->error, row->info));
        assert_string_equal(request_of(arena, row, "warn").body,
                            replaced(arena, want, row->error, row->warn ? row->warn : row->info));
        print_message("%-12s sends info, warn, error to %s\n", row->type, request.url);
    }
}

CASE(test_each_notifier_has_a_row)
{
    size_t count;
    const struct service *services = services_read(arena, &count);

    for (size_t i = 0; notifier_table[i]; i++) {
        bool found = false;
        for (size_t k = 0; k < count; k++)
            found = found || strcmp(services[k].type, notifier_table[i]->type) == 0;
        if (!found)
            fail_msg("%s is not tested", notifier_table[i]->type);
    }
}

CASE(test_what_cannot_be_sent)
{
    static const struct {
        const char *type, *url, *token, *want, *channel;
    } cases[] = {
        {"slack", "ftp://x", NULL, "the address is not a URL; expected https://...", ""},
        {"slack", "", NULL, "the address is not a URL; expected https://...", ""},
        {"slack", "smtp://x", NULL, "the address is not a URL; expected https://...", ""},
        {"pagerduty", "https://x", NULL, "expected the key token in its Secret: the routing key",
         ""},
    };

    EACH_ROW (row, cases) {
        struct address address = {
            .url = row->url, .token = row->token, .username = "a@x", .channel = row->channel};
        struct http_request request;
        struct errinfo ei;
        assert_int_equal(
            notify_request(arena, notifier_find(row->type), &address, &failed, NULL, &request, &ei),
            ERR_INVALID);
        if (!strstr(ei.text, row->want))
            fail_msg("\"%s\" lacks \"%s\"", ei.text, row->want);
    }
}

CASE(test_what_answers_mean)
{
    static const struct errinfo refused = {.text = "POST https://x/...: connection refused"};
    static const struct {
        struct http_result result;
        const char *want; /* NULL if accepted */
        bool again;
    } cases[] = {
        {{.status = 200, .body = "ok"}, NULL, false},
        {{.status = 202, .body = ""}, NULL, false},
        {{.status = 204, .body = ""}, NULL, false},
        {{.status = 200, .body = "{\"ok\":true}"}, NULL, false},
        {{.status = 200, .body = "{\"ok\":false,\"error\":\"invalid_auth\"}"},
         "refused: invalid_auth",
         false},
        {{.status = 200, .body = "{\"ok\":false,\"error\":\"ratelimited\"}"},
         "refused: ratelimited",
         true},
        {{.status = 200, .body = "{\"ok\":false}"}, "refused: ok is false", false},
        {{.status = 200, .body = "{\"ok\":"}, NULL, false},
        {{.status = 302, .body = "", .redirect_url = "https://user:pass@y/secret"},
         "bad response 302: it leads to https://y, expected the final address",
         false},
        {{.status = 404, .body = "no_service"}, "bad response 404: no_service", false},
        {{.status = 429, .body = "slow down"}, "bad response 429: slow down", true},
        {{.status = 501, .body = ""}, "bad response 501: ", false},
        {{.status = 503, .body = "later"}, "bad response 503: later", true},
        {{.err = ERR_RETRY, .info = &refused, .body = ""}, "connection refused", true},
        {{.err = ERR_DENIED, .info = &refused, .body = ""}, "connection refused", true},
        {{.err = ERR_INVALID, .info = &refused, .body = ""}, "connection refused", false},
        /* secrets of the sender */
        {{.status = 404, .body = "POST /services/T0/B0SECRET?k=hushhush: no, t0ken"},
         "bad response 404: POST /***/T0/***?k=***: no, ***",
         false},
        {{.status = 403, .body = "no user johndoe with hunter2"}, "no user *** with ***", false},
    };
    static const struct address address = {
        .url = "https://johndoe:hunter2@chat/services/T0/B0SECRET?k=hushhush", .token = "t0ken"};

    EACH_ROW (row, cases) {
        struct http_result result = row->result;
        bool again = false;
        result.body_len = strlen(result.body);
        const char *said = notify_refusal(arena, &address, &result, &again);
        if ((said == NULL) != (row->want == NULL) || (said && !strstr(said, row->want)))
            fail_msg("%d \"%s\": \"%s\"", result.status, result.body, said ? said : "taken");
        if (said)
            assert_int_equal(again, row->again);
    }
}

CASE(test_what_is_said_is_cut_between_characters)
{
    enum { LEN = 1001 };
    struct address address = {.url = "https://x"};

    for (int shift = 0; shift < 2; shift++) {
        char *body = memset(arena_alloc(arena, LEN + 1), 'a', LEN);
        struct http_result result = {.status = 400, .body = body, .body_len = LEN};
        bool again;
        for (int i = shift; i + 1 < LEN; i += 2)
            memcpy(body + i, "\xc3\xa4", 2);
        const char *said = notify_refusal(arena, &address, &result, &again);
        assert_true(strlen(said) < 400 && utf8_valid(said, strlen(said)));
    }
}

/* A phone shows only one line. */
CASE(test_what_is_seen_first_says_why)
{
    static const char *const types[] = {"pagerduty", "alertmanager"};

    EACH_ROW (row, types) {
        struct alert alert = failed;
        struct address address = {.url = "https://x", .token = "t"};
        struct http_request request;
        struct errinfo ei;
        alert.fields[1] = (struct alert_field){ALERT_REASON, "success rate 80.00% < 99%"};
        assert_int_equal(
            notify_request(arena, notifier_find(*row), &address, &alert, NULL, &request, &ei),
            ERR_OK);
        assert_non_null(strstr(request.body, "\"podinfo.test: Failed checks threshold reached 5 - "
                                             "success rate 80.00% < 99%\""));
    }
}

/* Texts may contain the response of a webhook. */
CASE(test_markup_is_shown)
{
    static const struct {
        const char *type, *want, *never;
    } cases[] = {{"slack", "&lt;!channel&gt; &amp;", "<!channel>"},
                 {"gchat", "&lt;!channel&gt; &amp;", "<!channel>"},
                 {"webhook", "<!channel> &", "&lt;"}};

    EACH_ROW (row, cases) {
        struct alert alert = failed;
        struct address address = {.url = "https://x", .username = "flagger", .channel = "general"};
        struct http_request request;
        struct errinfo ei;
        alert.text = "<!channel> &";
        alert.fields[0].value = alert.text;
        assert_int_equal(
            notify_request(arena, notifier_find(row->type), &address, &alert, NULL, &request, &ei),
            ERR_OK);
        assert_non_null(strstr(request.body, row->want));
        assert_null(strstr(request.body, row->never));
    }
}
