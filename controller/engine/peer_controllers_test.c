/* Canaries that another controller drives: the checks of its lease, and the reports to the
 * rules. */
#include "engine/fixture_test.h"

static const char *state_name(const struct tick *tick)
{
    static const char *const names[] = {
        [PEER_UNKNOWN] = "unknown", [PEER_LIVES] = "lives", [PEER_GONE] = "gone"};

    return tick->peer.lease ? names[tick->peer.state] : "nobody";
}

static void note_state(struct fixture *f, const struct tick *tick)
{
    const char *name = state_name(tick);

    if (f->logged == 0 || strcmp(f->log[f->logged - 1], name) != 0)
        note(f, "%s", name);
    tick->plan->requeue = REQUEUE_NEVER;
}

/* Writes the name of this controller, as the rules would. */
static void claim(struct fixture *f, struct tick *tick)
{
    plan_a_status(f, tick);
    tick->plan->claims = true;
    tick->plan->requeue = REQUEUE_NOW;
    f->controller = f->settings.controller;
}

static enum rule_result rule_take_over(struct fixture *f, struct tick *tick)
{
    note_state(f, tick);
    if (!tick->peer.lease) {
        loop_drain(f->loop);
    } else if (tick->peer.state == PEER_LIVES) {
        f->renews = false; /* its process ends */
    } else if (tick->peer.state == PEER_GONE) {
        claim(f, tick);
    }
    return RULE_DONE;
}

static void expect(const struct fixture *f, const char *const *steps)
{
    int at = 0;

    for (int i = 0; i < f->logged; i++) {
        if (strcmp(f->log[i], "read canary") == 0 || strncmp(f->log[i], "event", 5) == 0)
            continue;
        if (!steps[at] || strcmp(f->log[i], steps[at]) != 0)
            fail_msg("step %d is \"%s\", and not \"%s\"", at, f->log[i],
                     steps[at] ? steps[at] : "");
        at++;
    }
    assert_null(steps[at]);
}

static void begin(struct fixture *f)
{
    f->settings.controller = "ns/ours";
    f->stop_after = 0;
    f->phase = "Initialized";
    f->controller = "ns/theirs";
}

FIXTURE_CASE(it_is_looked_at_until_it_is_taken_over)
{
    static const char *const steps[] = {"unknown", "lives",  "gone", "write status",
                                        "unknown", "nobody", NULL};
    begin(f);
    f->renews = true;
    f->rule = rule_take_over;
    run_engine(f, false);
    assert_false(f->timed_out);
    expect(f, steps);
}

/* The lease was renewed between the decision and the write: no action may precede the check. */
static enum rule_result rule_take_too_early(struct fixture *f, struct tick *tick)
{
    note_state(f, tick);
    if (tick->peer.lease && tick->peer.state == PEER_GONE) {
        claim(f, tick);
        f->renews = true;
    } else if (tick->peer.lease && tick->peer.state == PEER_LIVES) {
        loop_drain(f->loop);
    }
    return RULE_DONE;
}

FIXTURE_CASE(one_that_came_back_is_heard_of)
{
    static const char *const steps[] = {"unknown", "gone",  "write status",
                                        "unknown", "lives", NULL};
    begin(f);
    f->rule = rule_take_too_early;
    run_engine(f, false);
    assert_false(f->timed_out);
    expect(f, steps);
}

static void end_after_looks(void *arg)
{
    struct fixture *f = arg;

    if (f->looks >= 20)
        loop_drain(f->loop);
}

static enum rule_result rule_note(struct fixture *f, struct tick *tick)
{
    note_state(f, tick);
    return RULE_DONE;
}

/* One read for all Canaries, and no callback without a change. */
FIXTURE_CASE(a_crowd_is_one_look)
{
    begin(f);
    f->renews = true;
    f->twin = true;
    f->rule = rule_note;
    f->ticker = timer_start(f->loop, 20, 20, end_after_looks, f);
    run_engine(f, false);
    assert_false(f->timed_out);
    assert_true(f->decided <= 4); /* not known, and alive: of each */
    assert_non_null(strstr(f->metrics, "flagger_canaries_of_others{controller=\"ns/theirs\"} 2\n"));
}

static enum rule_result rule_note_and_end(struct fixture *f, struct tick *tick)
{
    note_state(f, tick);
    loop_drain(f->loop);
    return RULE_DONE;
}

static enum rule_result rule_end_when_known(struct fixture *f, struct tick *tick)
{
    note_state(f, tick);
    if (tick->peer.state != PEER_UNKNOWN)
        loop_drain(f->loop);
    return RULE_DONE;
}

/* The lease describes the part of the cluster that its controller manages. */
FIXTURE_CASE(one_that_looks_elsewhere_drives_it_no_more)
{
    static const struct {
        const char *notes, *state;
    } rows[] = {
        {"\"flagger.app/namespaces\":\"a,test\"", "lives"},
        {"\"flagger.app/namespaces\":\"a,tests\"", "gone"},
        {"\"flagger.app/watch-selector\":\"team=red\"", "gone"},
        {"\"flagger.app/watch-selector\":\"team!=red\"", "lives"},
        {"\"flagger.app/watch-selector\":\"(\"", "lives"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (i > 0)
            set_up((void **)&f);
        begin(f);
        f->renews = true;
        f->notes = rows[i].notes;
        f->rule = rule_end_when_known;
        run_engine(f, false);
        assert_false(f->timed_out);
        assert_int_equal(noted(f, rows[i].state), 1);
        if (i + 1 < sizeof(rows) / sizeof(rows[0]))
            tear_down((void **)&f);
    }
}

FIXTURE_CASE(its_own_name_and_none_are_nobody)
{
    static const char *const steps[] = {"nobody", NULL};
    begin(f);
    f->controller = f->settings.controller;
    f->rule = rule_note_and_end;
    run_engine(f, false);
    expect(f, steps);
    assert_int_equal(f->looks, 0);
}

FIXTURE_CASE(what_is_no_lease_is_held_by_nobody)
{
    static const char *const steps[] = {"gone", NULL};
    begin(f);
    f->controller = "junk";
    f->rule = rule_note_and_end;
    run_engine(f, false);
    expect(f, steps);
    assert_int_equal(f->looks, 0);
}
