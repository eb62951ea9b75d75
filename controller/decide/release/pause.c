/*
 * The pause between leading traffic away from somebody and taking away who had it. A route or a
 * selector that was written is not what proxies and nodes do in the same moment: they hear of it in
 * their own time. So
 *
 *   it is written -> the mesh says that it has taken it over -> a whole interval -> it goes.
 *
 * The interval is for those that say nothing: nodes, and proxies behind a gateway that speaks for
 * them. A mesh that says nothing of its own (plain Services) is not waited for: the interval counts
 * from the write, and nothing is written down twice.
 *
 * A condition is the memory of it, so that it outlives a restart: for one reason while the mesh is
 * waited for, for another, with a transition time of its own, while the interval counts. A mesh
 * that takes back what it has said leads back to the first.
 */
#include "decide/release/pause.h"

#include "decide/release/condition.h"
#include "decide/release/release.h"

static const char pending[] = "RoutesPending"; /* the reason while the mesh is waited for */

static void tell(struct release *r, const struct pause *pause, bool counts)
{
    condition_clear(r, pause->type); /* or its time would stay */
    if (!counts)
        condition_set(r, pause->type, pending, "The mesh has not taken over the routes yet.");
    else if (pause->done)
        condition_set_true(r, pause->type, pause->reason, pause->text);
    else
        condition_set(r, pause->type, pause->reason, pause->text);
}

static enum verdict ask_mesh(struct release *r, const struct pause *pause, bool *has_taken_over)
{
    const char *why;
    enum verdict verdict = pause->unasked ? VERDICT_GO : release_look_settled(r, &why);

    *has_taken_over = verdict == VERDICT_GO;
    return verdict == VERDICT_NEED_FACTS ? verdict : VERDICT_GO;
}

enum verdict pause_begin(struct release *r, const struct pause *pause)
{
    bool counts;
    enum verdict verdict = ask_mesh(r, pause, &counts);

    if (verdict == VERDICT_GO)
        tell(r, pause, counts);
    return verdict;
}

enum verdict pause_note(struct release *r, const struct pause *pause)
{
    int64_t since;
    bool counts;
    enum verdict verdict = ask_mesh(r, pause, &counts);

    if (verdict == VERDICT_GO &&
        !condition_since(r, pause->type, counts ? pause->reason : pending, &since))
        tell(r, pause, counts);
    return verdict;
}

/* The mesh is waited for. What lasts longer than an interval is told. */
static enum verdict wait_for_mesh(struct release *r, const struct pause *pause)
{
    int64_t since, interval = tick_interval_ms(r->tick);
    const char *why;

    release_wake(r, interval);
    if (!condition_since(r, pause->type, pending, &since) || since + interval > r->tick->now_ms)
        return VERDICT_STOP;
    enum verdict verdict = release_look_settled(r, &why);
    return verdict == VERDICT_STOP ? condition_hold(r, pause->type, pending, why) : verdict;
}

int64_t pause_left_ms(struct release *r, const struct pause *pause)
{
    int64_t since, rest = 0;

    if (condition_since(r, pause->type, pause->reason, &since))
        rest = since + tick_interval_ms(r->tick) + pause->more_ms - r->tick->now_ms;
    return rest > 0 ? rest : 0;
}

enum verdict pause_pass(struct release *r, const struct pause *pause)
{
    int64_t since = r->tick->now_ms, rest = tick_interval_ms(r->tick) + pause->more_ms;
    bool counts;
    enum verdict verdict = pause_note(r, pause);

    if (verdict == VERDICT_GO)
        verdict = ask_mesh(r, pause, &counts);
    if (verdict != VERDICT_GO)
        return verdict;
    if (!counts)
        return wait_for_mesh(r, pause);
    if (condition_since(r, pause->type, pause->reason, &since))
        rest -= r->tick->now_ms - since;
    if (rest <= 0)
        return VERDICT_GO;
    release_wake(r, rest);
    return VERDICT_STOP;
}
