/*
 * A past release under another policy. The judge is the controller's own (controller/judge), and so
 * are the rule when a look is enough for a step (decide/judged.h) and the bounds of a
 * threshold (decide/metrics.h).
 *
 * The traffic is what it was: a replay knows none that would have come after the real end, nor that
 * of another weight. Steps are made where the release made its own; those that the policy would not
 * have allowed yet are made at a later look, and where there is none, the release would still be
 * under way. Of request-success-rate a check is made once each interval, of the counts, and where
 * there are none, as of other metrics, when one was made and its value was kept. Within a look
 * requests are taken as evenly spread.
 */
#ifndef BACKTEST_REPLAY_H
#define BACKTEST_REPLAY_H

#include "ctl/backtest/judge_policy.h"
#include "ctl/backtest/past.h"

enum replay_end {
    REPLAY_UNKNOWN, /* data that the policy needs was not kept */
    REPLAY_UNDER_WAY,
    REPLAY_PROMOTED,
    REPLAY_ROLLED_BACK,
};

struct replay {
    enum replay_end end;
    int64_t at_s;     /* as of struct past */
    double requests;  /* of the canary until then */
    const char *why;  /* "" if there is nothing to say */
    const char *note; /* the part of the policy that was left out; NULL if none */
};

/* "promoted" and so on, for programs. */
const char *replay_end_name(enum replay_end end);
/* Texts live in the arena. */
struct replay replay_run(struct arena *arena, const struct past *past, const struct policy *policy);

#endif
