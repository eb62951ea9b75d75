/*
 * What requests to the gate bring: the first line is the value of ?hook=, the rest the body, read
 * as every kind of body there is. What is taken keeps the bounds of api.h, so that nothing
 * longer or unreadable gets to the database; what is refused is refused with a sentence.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "fuzz.h"
#include "gate/api/api.h"

enum { NOW_S = 1795300000, DAYS_30_S = 30 * 86400 };

static void check_text(const char *text, size_t max)
{
    if (!text)
        return;
    assert(strlen(text) <= max && utf8_valid(text, strlen(text)));
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        assert(*c >= ' ' && *c != 0x7f);
}

static void check_name(const char *text)
{
    assert(text && *text && !strchr(text, '/'));
    check_text(text, REQUEST_MAX_NAME);
}

static bool taken(enum err err, const struct errinfo *info)
{
    assert(err == ERR_OK || (err == ERR_INVALID && info->text[0]));
    assert(err == ERR_OK || utf8_valid(info->text, strlen(info->text)));
    return err == ERR_OK;
}

static void check_webhook(struct arena *arena, const char *body, size_t len, const char *hook)
{
    struct gate_name gate = {.kind = "gate"};
    struct gate_question question;
    struct errinfo info = {0};
    if (!taken(request_webhook(arena, body, len, hook, &gate, &question, &info), &info))
        return;
    check_name(gate.namespace_);
    check_name(gate.name);
    check_text(gate.hook, REQUEST_MAX_NAME);
    check_text(question.revision, REQUEST_MAX_REVISION);
    check_text(question.phase, REQUEST_MAX_NAME);
    check_text(question.release, REQUEST_MAX_REVISION);
}

static void check_why(const struct gate_change *change)
{
    assert(change->reason);
    check_text(change->reason, REQUEST_MAX_REASON);
    check_text(change->who, REQUEST_MAX_NAME);
    assert(!change->who || *change->who);
}

static void check_change(struct arena *arena, const char *body, size_t len, enum request_verb verb)
{
    struct gate_change change = {0};
    struct errinfo info = {0};
    if (!taken(request_change(arena, body, len, verb, &change, &info), &info))
        return;
    assert(strcmp(change.gate.kind, "gate") == 0 || strcmp(change.gate.kind, "rollback") == 0);
    assert((verb == REQUEST_APPROVE) == (*change.revision != '\0'));
    assert(!change.expires || !change.for_ms);
    assert(!change.for_ms || strtoll(change.for_ms, NULL, 10) > 0);
    assert(verb != REQUEST_CLOSE || (!change.expires && !change.for_ms));
    check_text(change.gate.hook, REQUEST_MAX_NAME);
    check_text(change.revision, REQUEST_MAX_REVISION);
    check_why(&change);
}

static void check_rules(struct arena *arena, const char *body, size_t len)
{
    struct gate_change change = {0};
    struct gate_policy policy;
    struct gate_freeze freeze;
    struct errinfo info = {0};
    if (taken(request_policy(arena, body, len, &change, &policy, &info), &info)) {
        int64_t quorum = strtoll(policy.quorum, NULL, 10);
        assert(quorum >= 1 && quorum <= REQUEST_MAX_APPROVERS);
        assert(policy.approvers[0] == '{' && !policy.deadline_ms == !policy.on_deadline);
        check_why(&change);
    }
    if (taken(request_freeze(arena, body, len, &change, &freeze, &info), &info)) {
        assert(!freeze.weekly_from == !freeze.weekly_until && !freeze.weekly_from == !freeze.zone);
        assert(*change.gate.namespace_ || !*change.gate.name);
        assert(*change.reason);
        check_why(&change);
    }
}

/* A request that was taken makes a link that can be read. */
static void check_link(struct arena *arena, const char *body, size_t len)
{
    static const struct link_key key = {.text = "the key of the fuzz target: known", .len = 33};
    struct link link, again;
    const char *token;
    struct errinfo info = {0};
    if (!taken(request_link(arena, body, len, (int64_t)NOW_S * 1000, &link, &info), &info))
        return;
    assert(link.expires_s >= NOW_S && link.expires_s <= NOW_S + DAYS_30_S);
    check_name(link.namespace_);
    check_name(link.name);
    enum err err = link_sign(arena, &key, &link, &token, &info);
    assert(err == ERR_OK);
    enum link_verdict verdict = link_verify(arena, &key, 1, token, NOW_S - 1, &again);
    assert(verdict == LINK_GOOD && strcmp(again.reason, link.reason) == 0);
    (void)err, (void)verdict;
}

FUZZ_TARGET(arena, data, size)
{
    const char *text = (const char *)data;
    const char *end = size ? memchr(text, '\n', size) : NULL;
    const char *hook = end ? arena_strndup(arena, text, (size_t)(end - text)) : NULL;
    const char *body = end ? end + 1 : text;
    size_t len = end ? size - (size_t)(body - text) : size;
    check_webhook(arena, body, len, hook);
    for (int verb = REQUEST_OPEN; verb <= REQUEST_CLOSE; verb++)
        check_change(arena, body, len, (enum request_verb)verb);
    check_rules(arena, body, len);
    check_link(arena, body, len);
}
