/*
 * Predicts the next step of a Canary that another controller manages, by the rules. Their plans are
 * applied to the facts of the tick one after the other, with the requested delays in between, until
 * the position of the release changes, or the rules would do nothing more. Pure: nothing is written
 * and no webhook is called; each possible answer is an alternative.
 */
#ifndef SHADOW_FORESEE_H
#define SHADOW_FORESEE_H

#include "decide/waiting.h"
#include "tick/tick.h"

/* The position of a release: the parts of a status that identify a step. */
struct position {
    enum phase phase;
    int weight, iterations, failed_checks;
};
struct position position_of(const struct canary *canary);
bool position_same(const struct position *a, const struct position *b);
/* "Progressing, 20 percent, 1 failed checks". */
const char *position_text(struct arena *arena, const struct position *position);

/* Assumed answers of webhooks. */
enum assumed {
    ASSUMED_YES,      /* gates are open, checks pass, no rollback is requested */
    ASSUMED_NO,       /* gates are closed, checks fail */
    ASSUMED_ROLLBACK, /* a rollback is requested */
    ASSUMPTIONS
};

/* The predicted change of an object. */
struct foreseen_write {
    struct foreseen_write *next;
    const struct kube_resource *resource;
    const char *namespace_, *name;
    struct json_object *patch; /* RFC 7386, relative to the object as read; NULL if it is deleted */
};

struct foreseen {
    struct foreseen *next;
    enum assumed assumed;
    bool moves; /* moves to another position; false if the rules do not move the release */
    int passed; /* positions passed on the way */
    struct position to;
    int64_t after_ms;  /* total delay requested by the rules on the way */
    const char *plans; /* outlines (plan_outline()); "" for nothing */
    struct foreseen_write *writes;
    struct waiting waits; /* of the Canary in the state left by the plans; QUIET if it moves */
};

struct foresight;
/*
 * Predicts for the tick's Canary, until its position changes, or until it reaches `until` (NULL:
 * any), which must outlive the result, through at most two positions on the way. Lives in the
 * tick's arena.
 */
struct foresight *foresight_new(struct tick *tick, const struct position *until);
/* Call in place of decide(), with the same contract. The plan is always empty. */
enum rule_result foresee(struct foresight *foresight, struct tick *tick);
/*
 * After RULE_DONE: an entry for each relevant answer of webhooks; NULL if a rule broke
 * (tick->broken) or the Canary cannot be read.
 */
const struct foreseen *foresight_result(const struct foresight *foresight);

/*
 * Copies of objects in the state left by plans: a plan is applied to copies, and from then on the
 * tick sees these. Pure.
 */

struct copy {
    struct copy *next;
    const struct kube_resource *resource;
    const char *namespace_, *name;
    struct json_object *base, *now; /* as read, and with the plans applied; NULL: none exists */
};

/* Everything lives in the arena. */
struct copies {
    struct arena *arena;
    struct json_object *canary; /* the Canary in the state left by the plans */
    struct copy *first;
};

/* NULL if no plan wrote the object and it was not put. */
struct copy *copies_find(const struct copies *copies, const struct kube_resource *resource,
                         const char *namespace_, const char *name);
/* Replaces the object; NULL if it does not exist. */
void copies_put(struct copies *copies, const struct kube_resource *resource, const char *namespace_,
                const char *name, struct json_object *object);
/* Applies the tick's plan. True if an object was written. */
bool copies_carry_out(struct copies *copies, struct tick *tick);

#endif
