#include "notify/notify.h"

#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
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
                                    FIELDS};

/* What each service is sent, byte by byte; in single quotes. `info` and `warn`: what the body has
 * for these instead of `error`, NULL: the same. */
static const struct {
    const char *type, *address, *token, *url, *auth, *body, *error, *info, *warn;
} services[] = {
    {"slack", "https://x/y", "t", "https://x/y", "Bearer t",
     "{'channel':'general','username':'flagger','icon_url':'','icon_emoji':':rocket:',"
     "'attachments':[{'color':'danger','author_name':'podinfo.test','text':'Failed che"
     "cks threshold reached 5','mrkdwn_in':['text'],'fields':[{'title':'Target','value"
     "':'Deployment/podinfo.test','short':false},{'title':'Traffic routing','value':'B"
     "lue/Green','short':false}]}]}",
     "danger", "good", NULL},
    {"discord", "https://x/y", NULL, "https://x/y/slack", NULL,
     "{'channel':'general','username':'flagger','icon_url':'','icon_emoji':':rocket:',"
     "'attachments':[{'color':'danger','author_name':'podinfo.test','text':'Failed che"
     "cks threshold reached 5','mrkdwn_in':['text'],'fields':[{'title':'Target','value"
     "':'Deployment/podinfo.test','short':false},{'title':'Traffic routing','value':'B"
     "lue/Green','short':false}]}]}",
     "danger", "good", NULL},
    {"rocket", "https://x/y", NULL, "https://x/y", NULL,
     "{'channel':'general','username':'flagger','icon_url':'','icon_emoji':':rocket:',"
     "'attachments':[{'color':'#FF0000','author_name':'podinfo.test','text':'Failed ch"
     "ecks threshold reached 5','mrkdwn_in':['text'],'fields':[{'title':'Target','valu"
     "e':'Deployment/podinfo.test','short':false},{'title':'Traffic routing','value':'"
     "Blue/Green','short':false}]}]}",
     "#FF0000", "#0076D7", NULL},
    {"gchat", "https://x/y", NULL, "https://x/y", NULL,
     "{'cards':[{'header':{'title':'Flagger','subtitle':'podinfo.test','imageUrl':'htt"
     "ps://flagger.app/favicon.png'},'sections':[{'widgets':[{'textParagraph':{'text':"
     "'<font color=#848484><strong>Failed checks threshold reached 5</strong></font>'}"
     "}]},{'widgets':[{'textParagraph':{'text':'Target<br><font color=#848484><strong>"
     "Deployment/podinfo.test</strong></font>'}}]},{'widgets':[{'textParagraph':{'text"
     "':'Traffic routing<br><font color=#848484><strong>Blue/Green</strong></font>'}}]"
     "}]}]}",
     NULL, NULL, NULL},
    {"msteams", "https://x/y", NULL, "https://x/y", NULL,
     "{'@type':'MessageCard','@context':'http://schema.org/extensions','themeColor':'F"
     "F0000','summary':'podinfo.test','sections':[{'activityTitle':'Failed checks thre"
     "shold reached 5','activitySubtitle':'podinfo.test','facts':[{'name':'Target','va"
     "lue':'Deployment/podinfo.test'},{'name':'Traffic routing','value':'Blue/Green'}]"
     "}]}",
     "FF0000", "0076D7", NULL},
    {"msteams", "https://a.logic.azure.com/w", NULL, "https://a.logic.azure.com/w", NULL,
     "{'type':'message','attachments':[{'content':{'$schema':'http://adaptivecards.io/"
     "schemas/adaptive-card.json','type':'AdaptiveCard','version':'1.4','body':[{'type"
     "':'TextBlock','text':'podinfo.test','weight':'Bolder','color':'Default','wrap':t"
     "rue},{'type':'TextBlock','text':'Failed checks threshold reached 5','weight':'De"
     "fault','color':'Attention','wrap':true},{'type':'FactSet','facts':[{'title':'Tar"
     "get','value':'Deployment/podinfo.test'},{'title':'Traffic routing','value':'Blue"
     "/Green'}]}]},'contentType':'application/vnd.microsoft.card.adaptive'}]}",
     "Attention", "Default", NULL},
    {"pagerduty", "https://x/y", "t", "https://x/y", NULL,
     "{'payload':{'summary':'podinfo.test: Failed checks threshold reached 5','source'"
     ":'podinfo.test','severity':'error','component':'podinfo','group':'test','class':"
     "'canary','custom_details':{'Target':'Deployment/podinfo.test','Traffic routing':"
     "'Blue/Green'}},'routing_key':'t','event_action':'trigger','dedup_key':'u-17-0','"
     "client':'flagger'}",
     "\"severity\":\"error\"", "\"severity\":\"info\"", "\"severity\":\"warning\""},
    {"alertmanager", "https://x/y", "t", "https://x/y/api/v2/alerts", "Bearer t",
     "[{'annotations':{'summary':'Failed checks threshold reached 5','description':'po"
     "dinfo.test: Failed checks threshold reached 5','target':'Deployment/podinfo.test"
     "','traffic_routing':'Blue/Green'},'labels':{'alertname':'FlaggerCanary','severit"
     "y':'critical','namespace':'test','canary':'podinfo','key':'u-17-0'}}]",
     "critical", "info", "warning"},
    {"webhook", "https://x/y", "t", "https://x/y", "Bearer t",
     "{'key':'u-17-0','name':'podinfo','namespace':'test','severity':'error','text':'F"
     "ailed checks threshold reached 5','fields':{'Target':'Deployment/podinfo.test','"
     "Traffic routing':'Blue/Green'}}",
     "\"severity\":\"error\"", "\"severity\":\"info\"", "\"severity\":\"warn\""},
};

static struct http_request request_of(struct arena *arena, size_t service, const char *severity)
{
    struct alert alert = failed;
    struct address address = {.url = services[service].address,
                              .token = services[service].token,
                              .username = "flagger",
                              .channel = "general"};
    struct http_request request;
    struct errinfo ei;

    alert.severity = severity;
    if (notify_request(arena, notifier_find(services[service].type), &address, &alert, NULL,
                       &request, &ei) != ERR_OK)
        fail_msg("%s: %s", services[service].type, ei.text);
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
    EACH_ROW (row, services) {
        size_t i = (size_t)(row - services);
        struct http_request request = request_of(arena, i, "error");
        const char *want = json_text(arena, rows_json(arena, row->body));
        assert_string_equal(request.method, "POST");
        assert_string_equal(request.url, row->url);
        assert_string_equal(header(&request, "Content-Type"), "application/json");
        assert_string_equal(header(&request, "Idempotency-Key"), "u-17-0");
        assert_string_equal(header(&request, "Authorization"), row->auth ? row->auth : "");
        assert_string_equal(request.body, want);
        assert_int_equal(request.body_len, strlen(want));
        assert_string_equal(request_of(arena, i, "info").body,
                            replaced(arena, want, row->error, row->info));
        assert_string_equal(request_of(arena, i, "warn").body,
                            replaced(arena, want, row->error, row->warn ? row->warn : row->info));
        print_message("%-12s sends info, warn, error to %s\n", row->type, request.url);
    }
}

CASE(test_each_notifier_has_a_row)
{
    for (size_t i = 0; notifier_table[i]; i++) {
        bool found = false;
        EACH_ROW (row, services)
            found = found || strcmp(row->type, notifier_table[i]->type) == 0;
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
        const char *want; /* NULL: taken */
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
        /* what only the sender should know */
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

/* On a phone there is one line. */
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

/* What a webhook has answered may stand in a text. */
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
