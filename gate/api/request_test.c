/* Bodies with the values that are read, or the message that rejects them: rows of requests.yaml. */

#include <stdio.h>
#include <string.h>

#include "gate/api/api.h"
#include "test/expect.h"
#include "test/unit.h"

enum { NOW_S = 1795300000 };

static const char *text_of(struct json_object *row, const char *key)
{
    return json_str_at(row, key, NULL);
}

/* A gate's kind, hook and names, as far as they are set. */
static struct json_object *describe_gate(struct arena *arena, const struct gate_name *gate)
{
    struct json_object *out = json_own(arena, json_object_new_object());

    json_set_str(out, "kind", gate->kind);
    json_set_str(out, "hook", gate->hook);
    json_set_str(out, "namespace", gate->namespace_);
    json_set_str(out, "name", gate->name);
    return out;
}

static struct json_object *webhook(struct arena *arena, struct json_object *row)
{
    const char *body = text_of(row, "body");
    struct gate_name gate = {.kind = "gate"};
    struct gate_question question;
    struct errinfo info = {0};

    if (request_webhook(arena, body, strlen(body), text_of(row, "hook"), &gate, &question, &info) !=
        ERR_OK)
        return expect_error(arena, info.text);
    struct json_object *out = describe_gate(arena, &gate);
    json_set_str(out, "revision", question.revision);
    json_set_str(out, "phase", question.phase);
    json_set_str(out, "release", question.release);
    return out;
}

static struct json_object *change(struct arena *arena, struct json_object *row)
{
    static const char *const verbs[] = {"open", "approve", "close"};
    const char *body = text_of(row, "body");
    struct gate_change read = {0};
    struct errinfo info = {0};
    enum request_verb verb = REQUEST_OPEN;

    while (strcmp(verbs[verb], text_of(row, "verb")) != 0)
        verb++;
    if (request_change(arena, body, strlen(body), verb, &read, &info) != ERR_OK)
        return expect_error(arena, info.text);
    struct json_object *out = describe_gate(arena, &read.gate);
    json_set_str(out, "revision", read.revision);
    json_set_str(out, "expires", read.expires);
    json_set_str(out, "for", read.for_ms);
    json_set_str(out, "who", read.who);
    json_set_str(out, "reason", read.reason);
    return out;
}

static struct json_object *policy(struct arena *arena, struct json_object *row)
{
    const char *body = text_of(row, "body");
    struct gate_change read = {0};
    struct gate_policy says;
    struct errinfo info = {0};

    if (request_policy(arena, body, strlen(body), &read, &says, &info) != ERR_OK)
        return expect_error(arena, info.text);
    struct json_object *out = json_own(arena, json_object_new_object());
    json_set_str(out, "quorum", says.quorum);
    json_set_str(out, "approvers", says.approvers);
    json_set_str(out, "deadline", says.deadline_ms);
    json_set_str(out, "onDeadline", says.on_deadline);
    return out;
}

static struct json_object *freeze(struct arena *arena, struct json_object *row)
{
    const char *body = text_of(row, "body");
    struct gate_change read = {0};
    struct gate_freeze says;
    struct errinfo info = {0};

    if (request_freeze(arena, body, strlen(body), &read, &says, &info) != ERR_OK)
        return expect_error(arena, info.text);
    struct json_object *out = describe_gate(arena, &read.gate);
    json_set_str(out, "from", says.from);
    json_set_str(out, "weekly from", says.weekly_from);
    json_set_str(out, "weekly until", says.weekly_until);
    json_set_str(out, "zone", says.zone);
    return out;
}

static struct json_object *number(struct arena *arena, struct json_object *row)
{
    struct errinfo info = {0};
    const char *read;

    if (request_number(arena, "limit", text_of(row, "text"), "100", 1000, &read, &info) != ERR_OK)
        return expect_error(arena, info.text);
    return json_own(arena, json_object_new_string(read));
}

static struct json_object *link(struct arena *arena, struct json_object *row)
{
    const char *body = text_of(row, "body");
    struct link read;
    struct errinfo info = {0};

    if (request_link(arena, body, strlen(body), (int64_t)NOW_S * 1000, &read, &info) != ERR_OK)
        return expect_error(arena, info.text);
    struct json_object *out = json_own(arena, json_object_new_object());
    json_set_str(out, "action", link_action_name(read.action));
    json_set_str(out, "kind", link_kind_name(read.kind));
    json_set_str(out, "namespace", read.namespace_);
    json_set_str(out, "name", read.name);
    json_set_str(out, "hook", read.hook);
    json_set_str(out, "revision", read.revision);
    json_set_str(out, "who", read.who);
    json_set_str(out, "reason", read.reason);
    json_set_int(out, "for", read.for_ms);
    json_set_int(out, "expires in", read.expires_s - NOW_S);
    return out;
}

static void rows_of(struct arena *arena, const char *group,
                    struct json_object *(*run)(struct arena *arena, struct json_object *row))
{
    const char *why = expect_rows(arena, "gate/api/requests.yaml", group, run);

    if (why)
        fail_msg("%s", why);
}

CASE(a_webhook_names_a_canary_hook_and_revision)
{
    rows_of(arena, "webhook", webhook);
}

CASE(a_change_has_its_fields_and_no_others)
{
    rows_of(arena, "change", change);
}

CASE(a_policy_says_how_many_who_and_by_when)
{
    rows_of(arena, "policy", policy);
}

CASE(a_freeze_is_once_or_every_week)
{
    rows_of(arena, "freeze", freeze);
}

CASE(a_number_is_whole_and_bounded)
{
    rows_of(arena, "number", number);
}

CASE(a_link_says_what_it_is_for)
{
    rows_of(arena, "link", link);
}

/* Cannot be written as a row of a file. */
CASE(what_is_no_utf8_is_refused)
{
    static const char canary[] = "{\"name\":\"a\",\"namespace\":\"b\"}";
    static const char body[] = "{\"reason\":\"\xff\"}";
    struct gate_name gate;
    struct gate_question question;
    struct gate_change read;
    struct errinfo info = {0};

    assert_int_equal(
        request_webhook(arena, canary, strlen(canary), "\xff", &gate, &question, &info),
        ERR_INVALID);
    assert_non_null(strstr(info.text, "hook"));
    assert_int_equal(request_change(arena, body, strlen(body), REQUEST_OPEN, &read, &info),
                     ERR_INVALID);
    assert_non_null(strstr(info.text, "the body"));
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
    assert_int_equal(request_change(arena, body, strlen(body), REQUEST_OPEN, &change, &info),
                     ERR_OK);
    snprintf(body, sizeof(body), "{\"reason\":\"%0*d\"}", REQUEST_MAX_REASON + 1, 7);
    assert_int_equal(request_change(arena, body, strlen(body), REQUEST_OPEN, &change, &info),
                     ERR_INVALID);
    assert_non_null(strstr(info.text, "reason: expected at most 1000 bytes"));
}
