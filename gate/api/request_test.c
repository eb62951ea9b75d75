/* request: tables of bodies, with what is read of them or the sentence that refuses them. */

#include <string.h>

#include "gate/api/request.h"
#include "test/unit.h"

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

UNIT_FIXTURE(.set_up = setup, .tear_down = teardown);

static void same(const char *what, const char *got, const char *wanted)
{
    if ((got == NULL) != (wanted == NULL) || (got && strcmp(got, wanted) != 0))
        fail_msg("%s: got \"%s\", not \"%s\"", what, got ? got : "(null)",
                 wanted ? wanted : "(null)");
}

/* A sentence that is to be in the error, or NULL: none. */
static bool refused(const char *body, enum err err, const struct errinfo *info, const char *wanted)
{
    if (!wanted && err == ERR_OK)
        return false;
    if (!wanted || err != ERR_INVALID || !strstr(info->text, wanted))
        fail_msg("%.200s: got %s \"%s\", not \"%s\"", body, err_name(err), info->text,
                 wanted ? wanted : "");
    return true;
}

CASE(a_webhook_names_a_canary_hook_and_revision)
{
    static const struct {
        const char *body, *hook, *wanted_hook, *revision, *phase, *wrong, *release;
    } cases[] = {
        {"{\"name\":\"a\",\"namespace\":\"b\"}", NULL, "", "", "", NULL, ""},
        {"{\"name\":\"a\",\"namespace\":\"b\",\"phase\":\"Waiting\",\"checksum\":\"c\",\"x\":1}",
         "promote", "promote", "c", "Waiting", NULL, ""},
        {.body = "", .wrong = "webhook message"},
        {.body = "{\"name\":\"a\"}", .wrong = "names the Canary"},
        {.body = "{\"name\":\"\",\"namespace\":\"b\"}", .wrong = "names the Canary"},
        {.body = "{\"name\":7,\"namespace\":\"b\"}", .wrong = "name"},
        {.body = "{\"name\":\"a/b\",\"namespace\":\"b\"}", .wrong = "slash"},
        {.body = "{\"name\":\"a\\n\",\"namespace\":\"b\"}", .wrong = "control"},
        {.body = "{\"name\":\"a\",\"namespace\":\"b\"}", .hook = "\xff", .wrong = "hook"},
        {.body = "{\"name\":\"a\",\"namespace\":\"b\",\"checksum\":\"\\t\"}", .wrong = "checksum"},
        {"{\"name\":\"a\",\"namespace\":\"b\",\"release\":\"2026-01-01T00:00:00Z\"}", NULL, "", "",
         "", NULL, "2026-01-01T00:00:00Z"},
        {.body = "{\"name\":\"a\",\"namespace\":\"b\",\"release\":\"\\t\"}", .wrong = "release"},
        {.body = "{\"name\":\"a\",\"namespace\":\"b\",\"release\":7}", .wrong = "release"},
    };
    EACH_ROW (row, cases) {
        struct gate_name gate = {.kind = "gate"};
        struct gate_question question;
        struct errinfo info = {0};
        enum err err = request_webhook(*state, row->body, strlen(row->body), row->hook, &gate,
                                       &question, &info);
        if (refused(row->body, err, &info, row->wrong))
            continue;
        same("name", gate.name, "a");
        same("namespace", gate.namespace_, "b");
        same("hook", gate.hook, row->wanted_hook);
        same("revision", question.revision, row->revision);
        same("phase", question.phase, row->phase);
        same("release", question.release, row->release ? row->release : "");
    }
}

CASE(a_change_has_its_fields_and_no_others)
{
    static const struct {
        enum request_verb verb;
        const char *body, *kind, *hook, *revision, *expires, *for_ms, *who, *reason, *wrong;
    } cases[] = {
        {REQUEST_OPEN, "", "gate", "", "", NULL, NULL, NULL, "", NULL},
        {REQUEST_OPEN, "{}", "gate", "", "", NULL, NULL, NULL, "", NULL},
        {REQUEST_OPEN,
         "{\"kind\":\"rollback\",\"hook\":\"h\",\"for\":\"1h30m\",\"who\":\"al\",\"reason\":\"r\"}",
         "rollback", "h", "", NULL, "5400000", "al", "r", NULL},
        {REQUEST_APPROVE, "{\"revision\":\"abc\",\"expires\":\"2026-11-20T20:15:10.5+01:00\"}",
         "gate", "", "abc", "2026-11-20T19:15:10.500000Z", NULL, NULL, "", NULL},
        {REQUEST_CLOSE, "{\"hook\":\"h\"}", "gate", "h", "", NULL, NULL, NULL, "", NULL},
        {.verb = REQUEST_OPEN, .body = "{\"revision\":\"a\"}", .wrong = "revision: is not known"},
        {.verb = REQUEST_CLOSE, .body = "{\"for\":\"1h\"}", .wrong = "for: is not known"},
        {.verb = REQUEST_CLOSE, .body = "{\"x\":1}", .wrong = "kind, hook, reason, who"},
        {.verb = REQUEST_APPROVE, .body = "{}", .wrong = "revision: expected"},
        {.verb = REQUEST_APPROVE, .body = "{\"revision\":\"\"}", .wrong = "revision: expected"},
        {.verb = REQUEST_OPEN, .body = "{\"for\":\"0s\"}", .wrong = "for: expected"},
        {.verb = REQUEST_OPEN, .body = "{\"for\":\"9000h\"}", .wrong = "366 days"},
        {.verb = REQUEST_OPEN, .body = "{\"for\":\"x\"}", .wrong = "for"},
        {.verb = REQUEST_OPEN, .body = "{\"for\":30}", .wrong = "for"},
        {.verb = REQUEST_OPEN,
         .body = "{\"expires\":\"1969-01-01T00:00:00Z\"}",
         .wrong = "expires"},
        {.verb = REQUEST_OPEN, .body = "{\"kind\":\"Gate\"}", .wrong = "gate or rollback"},
        {.verb = REQUEST_OPEN, .body = "{\"hook\":\"\\u0001\"}", .wrong = "hook"},
        {.verb = REQUEST_OPEN, .body = "{\"who\":\"\"}", .wrong = "who"},
        {.verb = REQUEST_OPEN, .body = "\"x\"", .wrong = "object"},
        {.verb = REQUEST_OPEN, .body = "{\"reason\":\"\xff\"}", .wrong = "the body"},
        {.verb = REQUEST_OPEN, .body = "{\"hook\":\"a\",\"hook\":\"b\"}", .wrong = "the body"},
    };
    EACH_ROW (row, cases) {
        struct gate_change change = {0};
        struct errinfo info = {0};
        enum err err =
            request_change(*state, row->body, strlen(row->body), row->verb, &change, &info);
        if (refused(row->body, err, &info, row->wrong))
            continue;
        same("kind", change.gate.kind, row->kind);
        same("hook", change.gate.hook, row->hook);
        same("revision", change.revision, row->revision);
        same("expires", change.expires, row->expires);
        same("for", change.for_ms, row->for_ms);
        same("who", change.who, row->who);
        same("reason", change.reason, row->reason);
    }
}

CASE(long_texts_are_refused)
{
    char name[REQUEST_MAX_NAME + 2], body[2 * REQUEST_MAX_REASON];
    struct gate_name gate;
    struct gate_change change;
    struct errinfo info = {0};
    memset(name, 'x', sizeof(name));
    name[REQUEST_MAX_NAME] = '\0';
    assert_int_equal(request_canary(name, name, &gate, &info), ERR_OK);
    name[REQUEST_MAX_NAME] = 'x';
    name[REQUEST_MAX_NAME + 1] = '\0';
    assert_int_equal(request_canary("a", name, &gate, &info), ERR_INVALID);
    assert_non_null(strstr(info.text, "name: expected at most 253 bytes, found 254"));
    snprintf(body, sizeof(body), "{\"reason\":\"%0*d\"}", REQUEST_MAX_REASON, 7);
    assert_int_equal(request_change(*state, body, strlen(body), REQUEST_OPEN, &change, &info),
                     ERR_OK);
    snprintf(body, sizeof(body), "{\"reason\":\"%0*d\"}", REQUEST_MAX_REASON + 1, 7);
    assert_int_equal(request_change(*state, body, strlen(body), REQUEST_OPEN, &change, &info),
                     ERR_INVALID);
    assert_non_null(strstr(info.text, "reason: expected at most 1000 bytes"));
}

CASE(a_policy_says_how_many_who_and_by_when)
{
    static const struct {
        const char *body, *quorum, *approvers, *deadline, *on_deadline, *wrong;
    } cases[] = {
        {"{}", "1", "{}", NULL, NULL, NULL},
        {"{\"quorum\":2,\"approvers\":[\"a\",\"b \\\"c\\\\\"],\"deadline\":\"4h\",\"onDeadline\":"
         "\"rollback\"}",
         "2", "{\"a\",\"b \\\"c\\\\\"}", "14400000", "rollback", NULL},
        {.body = "{\"quorum\":101}", .wrong = "quorum"},
        {.body = "{\"quorum\":1.5}", .wrong = "quorum"},
        {.body = "{\"approvers\":\"a\"}", .wrong = "approvers"},
        {.body = "{\"approvers\":[\"\"]}", .wrong = "approvers[0]"},
        {.body = "{\"approvers\":[null]}", .wrong = "approvers[0]"},
        {.body = "{\"onDeadline\":\"open\"}", .wrong = "deadline"},
        {.body = "{\"deadline\":\"1h\",\"onDeadline\":\"close\"}", .wrong = "open or rollback"},
        {.body = "{\"quorums\":1}", .wrong = "quorums: is not known"},
    };
    EACH_ROW (row, cases) {
        struct gate_change change = {0};
        struct gate_policy policy;
        struct errinfo info = {0};
        enum err err =
            request_policy(*state, row->body, strlen(row->body), &change, &policy, &info);
        if (refused(row->body, err, &info, row->wrong))
            continue;
        same("quorum", policy.quorum, row->quorum);
        same("approvers", policy.approvers, row->approvers);
        same("deadline", policy.deadline_ms, row->deadline);
        same("onDeadline", policy.on_deadline, row->on_deadline);
    }
}

CASE(a_freeze_is_once_or_every_week)
{
    static const struct {
        const char *body, *namespace_, *from, *weekly_from, *weekly_until, *zone, *wrong;
    } cases[] = {
        {"{\"reason\":\"x\"}", "", NULL, NULL, NULL, NULL, NULL},
        {"{\"reason\":\"x\",\"namespace\":\"n\",\"from\":\"2026-11-20T00:00:00Z\"}", "n",
         "2026-11-20T00:00:00.000000Z", NULL, NULL, NULL, NULL},
        {"{\"reason\":\"x\",\"weekly\":{\"from\":\"Mon 00:00\",\"until\":\"Sun 23:59\"}}", "", NULL,
         "0", "10079", "UTC", NULL},
        {"{\"reason\":\"x\",\"weekly\":{\"from\":\"Fri 16:00\",\"until\":\"Mon "
         "8:00\",\"zone\":\"Europe/Berlin\"}}",
         "", NULL, "6720", "480", "Europe/Berlin", NULL},
        {.body = "{}", .wrong = "reason"},
        {.body = "{\"reason\":\"x\",\"weekly\":{\"from\":\"Mon 24:00\",\"until\":\"Tue 0:00\"}}",
         .wrong = "weekly.from"},
        {.body = "{\"reason\":\"x\",\"weekly\":{\"from\":\"Mon 1:00x\",\"until\":\"Tue 0:00\"}}",
         .wrong = "weekly.from"},
        {.body = "{\"reason\":\"x\",\"weekly\":{\"from\":\"Mon -1:00\",\"until\":\"Tue 0:00\"}}",
         .wrong = "weekly.from"},
        {.body = "{\"reason\":\"x\",\"weekly\":{\"from\":\"Mon 1:00\",\"until\":\"Mon 1:00\"}}",
         .wrong = "weekly.until"},
        {.body = "{\"reason\":\"x\",\"weekly\":{\"from\":\"Mon 1:00\",\"until\":\"Tue "
                 "1:00\",\"day\":1}}",
         .wrong = "weekly.day"},
        {.body = "{\"reason\":\"x\",\"weekly\":[]}", .wrong = "weekly"},
    };
    EACH_ROW (row, cases) {
        struct gate_change change = {0};
        struct gate_freeze freeze;
        struct errinfo info = {0};
        enum err err =
            request_freeze(*state, row->body, strlen(row->body), &change, &freeze, &info);
        if (refused(row->body, err, &info, row->wrong))
            continue;
        same("namespace", change.gate.namespace_, row->namespace_);
        same("from", freeze.from, row->from);
        same("weekly.from", freeze.weekly_from, row->weekly_from);
        same("weekly.until", freeze.weekly_until, row->weekly_until);
        same("weekly.zone", freeze.zone, row->zone);
    }
}

CASE(a_number_is_whole_and_bounded)
{
    static const struct {
        const char *text, *out;
    } cases[] = {
        {NULL, "100"}, {"0", "0"}, {"1000", "1000"}, {"1001", NULL},
        {"-1", NULL},  {"", NULL}, {"1x", NULL},     {"99999999999999999999", NULL},
    };
    EACH_ROW (row, cases) {
        struct errinfo info = {0};
        const char *out;
        enum err err = request_number(*state, "limit", row->text, "100", 1000, &out, &info);
        assert_int_equal(err, row->out ? ERR_OK : ERR_INVALID);
        if (row->out)
            same("limit", out, row->out);
        else
            assert_non_null(strstr(info.text, "limit: expected a whole number up to 1000"));
    }
}

enum { NOW_S = 1795300000, HOUR_S = 3600, DAY_S = 86400 };

CASE(a_link_says_what_it_is_for)
{
#define A "\"namespace\":\"b\",\"name\":\"a\","
    static const struct {
        const char *body;
        enum link_action action;
        enum link_kind kind;
        const char *hook, *revision, *who, *reason;
        int64_t for_ms, expires_s;
        const char *wrong;
    } cases[] = {
        {"{" A "\"action\":\"open\"}", LINK_OPEN, LINK_OF_GATE, "", "", NULL, "", 0, NOW_S + DAY_S,
         NULL},
        {"{" A "\"action\":\"approve\",\"revision\":\"r\",\"hook\":\"h\",\"as\":\"alice\","
         "\"reason\":\"why\",\"for\":\"90s\",\"valid\":\"1h\"}",
         LINK_APPROVE, LINK_OF_GATE, "h", "r", "alice", "why", 90000, NOW_S + HOUR_S, NULL},
        {"{" A "\"action\":\"close\",\"kind\":\"rollback\",\"expires\":\"2026-11-22T22:26:40Z\"}",
         LINK_CLOSE, LINK_OF_ROLLBACK, "", "", NULL, "", 0, NOW_S + DAY_S, NULL},
        {"{" A "\"action\":\"open\",\"valid\":\"720h\"}", LINK_OPEN, LINK_OF_GATE, "", "", NULL, "",
         0, NOW_S + 30 * DAY_S, NULL},
        {.body = "", .wrong = "action"},
        {.body = "[]", .wrong = "JSON object"},
        {.body = "{\"action\":\"open\"}", .wrong = "namespace: expected a name"},
        {.body = "{\"action\":\"open\",\"namespace\":\"b\"}", .wrong = "name: expected a name"},
        {.body = "{\"action\":\"open\",\"namespace\":7}", .wrong = "namespace: expected a string"},
        {.body = "{" A "\"action\":\"Open\"}", .wrong = "expected open, approve or close"},
        {.body = "{" A "\"action\":\"open\",\"kind\":\"x\"}", .wrong = "expected gate or rollback"},
        {.body = "{" A "\"action\":\"approve\"}", .wrong = "revision: expected with"},
        {.body = "{" A "\"action\":\"open\",\"revision\":\"r\"}",
         .wrong = "revision: expected with"},
        {.body = "{" A "\"action\":\"close\",\"for\":\"1m\"}", .wrong = "for: not expected"},
        {.body = "{" A "\"action\":\"open\",\"valid\":\"721h\"}",
         .wrong = "valid: expected at most 30"},
        {.body = "{" A "\"action\":\"open\",\"valid\":\"-1h\"}", .wrong = "valid"},
        {.body = "{" A "\"action\":\"open\",\"valid\":\"0\"}", .wrong = "valid"},
        {.body = "{" A "\"action\":\"open\",\"expires\":\"2026-11-21T22:26:40Z\"}",
         .wrong = "expires: expected a time to come"},
        {.body = "{" A "\"action\":\"open\",\"expires\":\"2026-12-21T22:26:41Z\"}",
         .wrong = "expires: expected at most 30"},
        {.body = "{" A "\"action\":\"open\",\"expires\":\"2026-11-22T22:26:40Z\",\"valid\":\"1h\"}",
         .wrong = "only one of valid and expires"},
        {.body = "{" A "\"action\":\"open\",\"as\":\"\"}", .wrong = "as: expected a name"},
        {.body = "{" A "\"action\":\"open\",\"who\":\"alice\"}", .wrong = "who"},
        {.body = "{" A "\"action\":\"open\",\"reason\":\"\\u0007\"}", .wrong = "reason"},
    };
#undef A
    EACH_ROW (row, cases) {
        struct link link;
        struct errinfo info = {0};
        enum err err =
            request_link(*state, row->body, strlen(row->body), (int64_t)NOW_S * 1000, &link, &info);
        if (refused(row->body, err, &info, row->wrong))
            continue;
        assert_int_equal(link.action, row->action);
        assert_int_equal(link.kind, row->kind);
        same("namespace", link.namespace_, "b");
        same("name", link.name, "a");
        same("hook", link.hook, row->hook);
        same("revision", link.revision, row->revision);
        same("who", link.who, row->who);
        same("reason", link.reason, row->reason);
        assert_int_equal(link.for_ms, row->for_ms);
        assert_int_equal(link.expires_s, row->expires_s);
    }
}
