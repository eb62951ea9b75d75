/* Shared only by the waves_*.c files. */
#ifndef FLEET_WAVES_PARTS_H
#define FLEET_WAVES_PARTS_H

#include "fleet/rules/waves.h"

/* The budget of replicas. */
struct waves_share {
    bool counts;           /* the plan has such a budget, and a wave is open */
    const char *uncounted; /* one sentence: a count is unknown, so no Canary is let go */
    int64_t all, allowed, used;
};

/* "CLUSTER/NAMESPACE/NAME", sorted. */
struct waves_keys {
    const char **sorted;
    size_t count;
};

struct waves_work {
    struct arena *arena;
    const struct waves_facts *facts;
    const struct releaseplan *plan;
    struct waves_out *out;
    int *wave_of; /* index of each cluster's wave; -1 if no wave has it */
    /* order_open: the first Application in order that is not complete in the open wave;
     * order_first: the first that is unsettled in the first wave; INT32_MAX if there is none. The
     * Canaries of later ones are held. */
    int order_open, order_first;
    struct waves_share share;
    struct waves_keys let_go_before;  /* Canaries let go, by the status as last written */
    struct waves_revision *revisions; /* the revisions in the new status, by workload */
    size_t n_revisions, *found_last;  /* the one that was asked for last */
};

/* --- waves_canary.c */

/* True if it is releasing something: requests may go to a canary. */
bool waves_is_under_way(const struct waves_canary *canary);
bool waves_rests(const struct waves_canary *canary);
bool waves_is_initialised(const struct waves_canary *canary);
/* True if this plan holds it, so that no release starts there. */
bool waves_is_held(const struct waves_canary *canary);
bool waves_has_promoted(const struct waves_work *w, const struct waves_canary *canary);
bool waves_has_failed(const struct waves_work *w, const struct waves_canary *canary);
/* True if a user has accepted its failure. */
bool waves_is_accepted(const struct waves_work *w, const struct waves_canary *canary);
/* A Canary is not held in the middle of a release, because its canary would keep its requests
 * unattended. Exception: the release of a revision other than the one for which it was let go,
 * while it has no requests yet. */
bool waves_may_be_held(const struct waves_work *w, const struct waves_canary *canary);
/* True if it was let go, by the status as last written. */
bool waves_was_let_go(const struct waves_work *w, const struct waves_cluster *cluster,
                      const struct waves_canary *canary);
void waves_tell(struct waves_work *w, enum waves_phase phase, const char *message);
void waves_look_again(struct waves_work *w, int64_t at_ms);

/* --- lookups */

void waves_index_keys(struct arena *arena, struct waves_keys *out, const char *const *keys,
                      size_t count);
bool waves_has_key(const struct waves_keys *keys, const struct waves_cluster *cluster,
                   const struct waves_canary *canary);
/* Prepares waves_wanted(); must be repeated when the revisions in the status change. */
void waves_index_revisions(struct waves_work *w);
/* The revision that the Canary's workload should get; NULL if unknown. */
const char *waves_wanted(const struct waves_work *w, const struct waves_canary *canary);

/* Reads the revisions that the first wave has promoted. False if the wave is not settled: the
 * status says why, and the revisions stay. */
bool waves_first(struct waves_work *w);

/* Decides which Canaries are held and which are let go while this wave is open (-1 if none); fills
 * in steps and status. */
void waves_take_turns(struct waves_work *w, int open);

/* --- places in a wave */

enum { WAVES_MAX_LOOKS = 32 }; /* limit of one plan */

void waves_step(struct waves_work *w, bool hold, size_t cluster, size_t canary);

/* Why it must wait, or NULL. */
const char *waves_share_says(const struct waves_work *w, const struct waves_canary *canary);
/* Replicas of all Canaries of the cluster, when last seen; 0 if never counted. */
int64_t waves_replicas_of(const struct waves_work *w, size_t cluster);

/* The order of Applications; see waves_first.c. */
void waves_couple(struct waves_work *w, int open);
/* Position of an earlier Application of the train for which it must wait, or -1. */
int waves_train_waits(const struct waves_work *w, int wave, const struct waves_canary *canary);

/* --- waves_status.c: the sentences about clusters and about a wave that is not over */
void waves_say_clusters(struct waves_work *w, int open);
const char *waves_waits_for(const struct waves_work *w, int wave);

#endif
