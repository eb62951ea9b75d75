/*
 * Load tests from many pods end with what they were started for: their release, whether it was
 * promoted, rolled back, cancelled or begun anew with another revision, or their Canary, when it is
 * deleted or suspended.
 *
 * A webhook of the types rollout and pre-rollout with metadata.type job or k6 starts one
 * (webhook_is_load()). status.loadTests names the release that may have some, before its first
 * webhook is called, and stands until each of these webhooks has taken the end: a controller that
 * restarts, or a load tester that was away, leaves nothing running. A load tester that does not take
 * it is asked once an interval, up to the progress deadline, or for a minute where the Canary is
 * deleted; from then on the deadlines of the load tests themselves count.
 */
#include <string.h>

#include "base/clock.h"
#include "decide/release.h"
#include "decide/rules.h"
#include "decide/status.h"
#include "proto/webhook_message.h"
#include "tick/edit.h"

static const char key[] = "loadTests";

/* A namespace is deleted with its load tester; its end should not wait for that. */
enum { DELETION_MS = 60 * 1000 };

static bool runs_load(const struct canary_webhook *hook)
{
    return (hook->type == HOOK_ROLLOUT || hook->type == HOOK_PRE_ROLLOUT) &&
           webhook_is_load(hook->metadata);
}

static bool has_load(const struct canary *canary)
{
    for (int i = 0; i < canary->analysis.n_webhooks; i++)
        if (runs_load(&canary->analysis.webhooks[i]))
            return true;
    return false;
}

static struct json_object *record_of(const struct release *r)
{
    return json_at(r->canary->status.json, key, NULL);
}

bool load_tests_may_run(const struct canary *canary)
{
    return has_load(canary) || json_at(canary->status.json, key, NULL);
}

/* The end of the release before it: one of the same revision that is begun anew is another one. */
static const char *after_of(const struct release *r)
{
    struct json_object *history = json_at(r->canary->status.json, "history", NULL);
    const char *ended = json_str_at(json_elem(history, 0), "ended", NULL);

    return ended ? ended : "";
}

/* The revision of the status: that of the release that runs, or has run last. */
static const char *revision_of(const struct release *r)
{
    return canary_checksum(r->tick->arena, r->canary);
}

static bool is_text(struct json_object *record, const char *field, const char *text)
{
    const char *found = json_str_at(record, field, NULL);

    return strcmp(found ? found : "", text) == 0;
}

/* True if the release that runs is the one of the record. */
static bool is_of_now(const struct release *r, struct json_object *record)
{
    bool runs = release_is_analysing(r) || release_is_promoting(r);

    return runs && is_text(record, "revision", revision_of(r)) &&
           is_text(record, "after", after_of(r));
}

/* --- the end */

/* CONTINUE: all have taken it, or *closed has not, which said *said. */
static enum rule_result send_end(struct release *r, const struct canary_webhook **closed,
                                 const char **said)
{
    enum phase phase = r->phase == PHASE_Succeeded ? PHASE_Succeeded : PHASE_Failed;
    const struct hook_answer *answer;

    *closed = NULL;
    for (int i = 0; i < r->canary->analysis.n_webhooks; i++) {
        const struct canary_webhook *hook = &r->canary->analysis.webhooks[i];
        if (!runs_load(hook))
            continue;
        if (!need_hook(r->tick, i, phase, revision_of(r), &answer))
            return RULE_NEEDS_FACTS;
        if (!answer->passed && !*closed) {
            *closed = hook;
            *said = answer->text;
        }
    }
    return RULE_CONTINUE;
}

/* They run on until their own deadline. */
static void leave(struct release *r, const char *why)
{
    event_warning(r,
                  "Load tests of %s are left running until their own deadline, they could not be "
                  "ended: %s",
                  release_canary(r), why);
    status_object(r, key, NULL);
}

static bool is_past(const struct release *r, const char *time, int64_t more_ms)
{
    int64_t at_ms;

    return clock_parse(time, &at_ms, NULL) != ERR_OK || r->tick->now_ms - at_ms >= more_ms;
}

static bool is_late(const struct release *r, const char *until)
{
    const char *deleted = json_str_at(r->canary->json, "metadata", "deletionTimestamp", NULL);

    return (until && is_past(r, until, 0)) ||
           (r->canary->deleting && (!deleted || is_past(r, deleted, DELETION_MS)));
}

/* Asked again in an interval. The record has the end of that, and the event is sent once. */
static void try_again(struct release *r, struct json_object *record, const char *why)
{
    const char *until = json_str_at(record, "until", NULL);
    struct json_object *now = json_copy(r->tick->arena, record);
    char text[CLOCK_TEXT];

    if (is_late(r, until)) {
        leave(r, why);
        return;
    }
    release_requeue_within(r, tick_interval_ms(r->tick));
    if (until)
        return;
    until = clock_rfc3339(r->tick->now_ms / 1000 * 1000 + tick_deadline_ms(r->tick), text);
    json_set_str(now, "until", until);
    status_object(r, key, now);
    event_warning(r, "Load tests of %s could not be ended, it is tried again: %s",
                  release_canary(r), why);
}

static enum rule_result close_all(struct release *r)
{
    struct json_object *record = record_of(r);
    const struct canary_webhook *closed;
    const char *said = "";

    if (!record)
        return RULE_CONTINUE;
    if (!has_load(r->canary)) {
        leave(r, "the spec has no webhook any more that runs them");
        return RULE_CONTINUE;
    }
    enum rule_result verdict = send_end(r, &closed, &said);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (closed)
        try_again(r, record, arena_printf(r->tick->arena, "%s said: %s", closed->name, said));
    else
        status_object(r, key, NULL);
    return RULE_CONTINUE;
}

bool load_tests_are_left(const struct release *r)
{
    struct json_object *now;
    bool changed = json_object_object_get_ex(r->status, key, &now);

    return changed ? now != NULL : record_of(r) != NULL;
}

/* --- the rules */

/* DONE: they have ended, which is written before anything else is asked or done. */
static enum rule_result close_first(struct release *r)
{
    bool had = load_tests_are_left(r);
    enum rule_result verdict = close_all(r);

    if (verdict != RULE_CONTINUE || !had || load_tests_are_left(r))
        return verdict;
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

enum rule_result load_tests_end(struct release *r)
{
    bool runs = release_is_analysing(r) || release_is_promoting(r);

    /* while a release runs, load_tests_begin() does this, behind the guards */
    return runs && !r->canary->suspend && !r->canary->deleting ? RULE_CONTINUE : close_first(r);
}

/* A step may start a load test once the record of its release is written, and those of the release
 * before it have ended. */
enum rule_result load_tests_begin(struct release *r)
{
    struct json_object *record = record_of(r);

    if (record && !is_of_now(r, record)) {
        enum rule_result verdict = close_first(r);
        return verdict == RULE_CONTINUE ? RULE_DONE : verdict;
    }
    if (record || !has_load(r->canary))
        return RULE_CONTINUE;
    struct json_object *now = edit_object(r->tick->arena);
    json_set_str(now, "revision", revision_of(r));
    if (*after_of(r))
        json_set_str(now, "after", after_of(r));
    status_object(r, key, now);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}
