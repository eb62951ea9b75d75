/*
 * What the rules would do next with a Canary that another controller looks after. Their plans are
 * carried out on the facts of the tick, one after the other, with the time that they ask for in
 * between, until the release stands elsewhere or nothing more would happen. Pure; nothing is
 * written, and no webhook is asked: each way in which they might answer is foreseen.
 */
#ifndef OBSERVE_FORESEE_H
#define OBSERVE_FORESEE_H

#include "tick/tick.h"

/* Where a release stands: what of a status tells a step. */
struct stand {
    enum phase phase;
    int weight, iterations, failed_checks;
};
struct stand stand_of(const struct canary *canary);
bool stand_same(const struct stand *a, const struct stand *b);
/* "Progressing, 20 percent, 1 failed checks". */
const char *stand_text(struct arena *arena, const struct stand *stand);

/* What webhooks would say. */
enum assumed {
    ASSUMED_YES,      /* gates are open, checks pass, nobody wants a rollback */
    ASSUMED_NO,       /* gates are closed, checks fail */
    ASSUMED_ROLLBACK, /* somebody wants a rollback */
    ASSUMPTIONS
};

/* What an object becomes. */
struct foreseen_write {
    struct foreseen_write *next;
    const struct kube_resource *resource;
    const char *namespace_, *name;
    struct json_object *patch; /* RFC 7386, of what was read; NULL: it is deleted */
};

struct foreseen {
    struct foreseen *next;
    enum assumed assumed;
    bool moves; /* to another stand; false: the rules leave it at that */
    int passed; /* other stands on the way */
    struct stand to;
    int64_t after_ms;  /* what the rules would have waited for on the way */
    const char *plans; /* their outlines (plan_outline()), "" for nothing */
    struct foreseen_write *writes;
};

struct foresight;
/* Of the tick's Canary, until it stands elsewhere; or at `until` (NULL: anywhere), which must outlive
 * it, over at most two stands on the way. Lives in the tick's arena. */
struct foresight *foresight_new(struct tick *tick, const struct stand *until);
/* To be called in place of decide(), and as that is. The plan is always empty. */
enum verdict foresee(struct foresight *foresight, struct tick *tick);
/* After VERDICT_STOP: an entry for each answer of webhooks that makes a difference; NULL when a rule
 * broke (tick->broken says so) or the Canary cannot be read. */
const struct foreseen *foresight_result(const struct foresight *foresight);

#endif
