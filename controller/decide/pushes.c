/*
 * spec.pushes: a revision waits if it is pushed outside of the windows, or when the permitted
 * number of releases of the day has begun. status.pushes counts the releases of a day; if it is
 * missing, as when the limit was just added, the history is counted. A revision that leads back, or
 * that a person requests, is never held.
 */
#include "decide/pushes.h"

#include <string.h>

#include "base/clock.h"
#include "decide/condition.h"
#include "decide/history.h"
#include "decide/rules.h"
#include "decide/status.h"
#include "decide/steering.h"
#include "tick/edit.h"

enum { LOOK_MS = 60 * 60 * 1000 }; /* the clock may be set in the meantime */

static const char field[] = "pushes"; /* of the status */

static bool is_given(const struct release *r)
{
    return r->canary->pushes.per_day > 0 || r->canary->pushes.n_windows > 0;
}

/* True for a revision that is never held: it leads back, or a person has requested it. */
static bool is_free(struct release *r)
{
    const char *until;

    return !is_given(r) || steering_ends_analysis(r) || steering_is_analysed_again(r) ||
           release_goes_forward(r) || history_leads_back(r, &until);
}

/* A release that waits at its gate, or waited there until another came, has not begun. */
static bool began_since(struct json_object *release, int64_t day_ms)
{
    const char *began = json_str_at(release, "analysisBegan", NULL);
    int64_t ms;

    return began && clock_parse(began, &ms, NULL) == ERR_OK && ms >= day_ms;
}

static int64_t begun_in_day(const struct release *r)
{
    int64_t day_ms = canary_pushes_day_ms(&r->canary->pushes, r->tick->now_ms), noted_ms;
    struct json_object *status = r->canary->status.json;
    struct json_object *past = json_at(status, "history", NULL);
    const char *day = json_str_at(status, field, "day", NULL);
    int64_t count = began_since(json_at(status, "release", NULL), day_ms);

    if (day && clock_parse(day, &noted_ms, NULL) == ERR_OK)
        return noted_ms == day_ms ? json_int_at(status, 0, field, "begun", NULL) : 0;
    for (size_t i = 0; i < json_len(past); i++)
        count += began_since(json_elem(past, i), day_ms);
    return count;
}

/* True if the release that this one replaces has made no step and no check: this one takes its
 * place in the count of the day. */
static bool takes_place(const struct release *r)
{
    return release_is_analysing(r) &&
           json_len(json_at(r->canary->status.json, "release", "steps", NULL)) == 0;
}

/* Other releases that have begun on this day. */
static int64_t begun(const struct release *r)
{
    int64_t count = begun_in_day(r);

    return count > 0 && takes_place(r) ? count - 1 : count;
}

static bool is_full(const struct release *r)
{
    return r->canary->pushes.per_day > 0 && begun(r) >= r->canary->pushes.per_day;
}

/* The time when the revision may begin. */
static int64_t begins_ms(const struct release *r, bool full)
{
    const struct canary_pushes *pushes = &r->canary->pushes;
    int64_t now_ms = r->tick->now_ms;

    return canary_pushes_open_ms(pushes, full ? canary_pushes_next_day_ms(pushes, now_ms) : now_ms);
}

bool pushes_hold(struct release *r)
{
    bool full = is_given(r) && is_full(r);
    int64_t at_ms = is_free(r) ? r->tick->now_ms : begins_ms(r, full);
    char at[CLOCK_TEXT];

    if (at_ms <= r->tick->now_ms) {
        condition_clear(r, CONDITION_SCHEDULED);
        return false;
    }
    clock_rfc3339(at_ms, at);
    const char *text =
        full ? arena_printf(
                   r->tick->arena,
                   "The new revision of %s waits until %s: %d releases have begun today, as "
                   "many as spec.pushes.perDay allows",
                   release_target(r), at, r->canary->pushes.per_day)
             : arena_printf(r->tick->arena,
                            "The new revision of %s waits until %s, when a window of "
                            "spec.pushes.windows opens",
                            release_target(r), at);
    if (condition_set(r, CONDITION_SCHEDULED, full ? "DayIsFull" : "OutsideOfWindows", text))
        event_normal(r, "%s", text);
    int64_t left = at_ms - r->tick->now_ms;
    release_requeue_within(r, left < LOOK_MS ? left : LOOK_MS);
    return true;
}

void pushes_count(struct release *r)
{
    struct json_object *out = edit_object(r->tick->arena);
    int64_t day_ms = canary_pushes_day_ms(&r->canary->pushes, r->tick->now_ms);
    char day[CLOCK_TEXT];

    condition_clear(r, CONDITION_SCHEDULED);
    if (r->canary->pushes.per_day == 0) {
        if (json_at(r->canary->status.json, field, NULL))
            status_object(r, field, NULL);
        return;
    }
    json_set_str(out, "day", clock_rfc3339(day_ms, day));
    json_set_int(out, "begun", begun(r) + !is_free(r));
    status_object(r, field, out);
}

/* A gate is asked once the revision may begin, and its deadline counts from then. */
enum rule_result begin_scheduled(struct release *r)
{
    if (!pushes_hold(r))
        return RULE_CONTINUE;
    if (release_is_idle(r))
        release_requeue(r, REQUEUE_NEVER);
    condition_clear(r, CONDITION_APPROVED);
    return RULE_DONE;
}
