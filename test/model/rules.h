/*
 * The safety rules of a release, checked at every write of every tick. They know only the cluster
 * before and after, what the tick had read, and a ghost: what an observer would remember of the
 * release. They share no code with decide/.
 */
#ifndef MODEL_RULES_H
#define MODEL_RULES_H

#include "model.h"

/*
 * The ten invariants of what is served, by name: what a rule says that does not hold begins with the
 * name of its invariant. Each is caught with at least two rules that are broken (`.breaks` of a
 * mutation; mutations_test counts them).
 */
#define SAFE_OWNER "no Service that serves selects a pod of another owner"
#define SAFE_ENDPOINTS                                                                             \
    "no write leaves a serving Service with fewer ready endpoints than its rule means"
#define SAFE_SHARE                                                                                 \
    "no share on a side without a ready endpoint while the other side has one, for longer than a " \
    "tick"
#define SAFE_CAPACITY                                                                              \
    "no step to a side with less capacity than its share, unless the scaler's maximum or the "     \
    "user "                                                                                        \
    "says so"
#define SAFE_CONSENT                                                                               \
    "nothing serves that its gate has not let in, for that revision and these configs"
#define SAFE_NUMBER  "a number that another scaler owns is not written"
#define SAFE_END     "a release ends: no tick plans nothing, waits for nothing and is called again"
#define SAFE_REFUSED "what is refused for good is told once and ends at the deadline"
#define SAFE_USER    "of a user's route nothing but the two weights of the named rules is written"
#define SAFE_STATUS  "a status always has phase and weight"

enum {
    GHOST_DOOMED = 1,  /* a cause to roll back was seen */
    GHOST_STOPPED = 2, /* somebody else has scaled the target to zero */
    GHOST_WARM = 4,    /* the target has had traffic, and no interval has passed since the gateway
                        * knows that it has no more */
    GHOST_ALARM = 8,   /* the judge has written that the canary is worse */
    GHOST_SHOWN = 16,  /* ... that it is not worse */
    GHOST_PREPARED =
        32,          /* the pre-rollout hooks have passed for the revision, and that is written */
    GHOST_LOAD = 64, /* a load test runs, or may */
    GHOST_JUDGED = GHOST_ALARM | GHOST_SHOWN,
    GHOST_CAUSES = GHOST_DOOMED | GHOST_STOPPED,
};

struct ghost {
    uint8_t revision; /* the last one to begin its analysis; 0 if none */
    uint8_t passes;   /* its checks that passed, up to what is needed */
    uint8_t fails;    /* its checks that failed, up to the threshold */
    uint8_t flags;
    uint8_t rejected; /* the revision that failed last */
    uint8_t promoted; /* the revision that was promoted last */
    uint8_t carried;  /* what the primary got last, whether the status says so or not */
    uint8_t
        served; /* a bit for the template of each revision that was the primary's, until it fails */
};

/*
 * What the engine does about the Canary: 0, it may tick at any time; otherwise it sleeps until an
 * event is news by tick/wake.h. The low bits are the places that its last tick asked for.
 */
enum { REST_ASLEEP = 1 << 30, REST_HEARS_STATUS = 1 << 29 };

struct state {
    struct cluster cluster;
    struct ghost ghost;
    uint32_t rest;
};

/* An interval has passed, or more. */
void rules_waited(struct model *model, const struct cluster *cluster, struct ghost *ghost);
/* Somebody else than the rules has changed the cluster. */
void rules_happened(struct model *model, const struct cluster *before, const struct cluster *after,
                    struct ghost *ghost);
/* What a rule says that does not hold; NULL: all hold. */
const char *rules_decided(struct model *model, const struct cluster *facts,
                          const struct outcome *outcome, struct ghost *ghost);
const char *rules_step(struct model *model, const struct cluster *facts,
                       const struct cluster *before, const struct cluster *after,
                       const struct outcome *outcome, const struct step *step, struct ghost *ghost);
/* At the end of a tick whose plan ends before a write that the API server refuses. */
const char *rules_refused(struct model *model, const struct cluster *before,
                          const struct cluster *after, const struct outcome *outcome,
                          const struct ghost *ghost);
/* At the end of a tick that nothing has disturbed. */
const char *rules_done(struct model *model, const struct cluster *before,
                       const struct cluster *after, const struct outcome *outcome, bool due,
                       const struct ghost *ghost);

#endif
