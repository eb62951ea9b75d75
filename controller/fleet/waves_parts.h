/* What the files of the waves share; nobody else includes this. */
#ifndef FLEET_WAVES_PARTS_H
#define FLEET_WAVES_PARTS_H

#include "fleet/waves.h"

/* What the budget allows of replicas (waves_share.c). */
struct waves_share {
    bool counts;           /* the plan has such a budget, and a wave is open */
    const char *uncounted; /* one sentence: something is not known, and nobody is let go */
    int64_t all, allowed, used;
};

/* "CLUSTER/NAMESPACE/NAME", sorted (waves_index.c). */
struct waves_keys {
    const char **sorted;
    size_t count;
};

struct waves_work {
    struct arena *arena;
    const struct waves_facts *facts;
    const struct releaseplan *plan;
    struct waves_out *out;
    int *wave_of; /* of each cluster; -1: none has it */
    /* The first car of the train that something is missing of in the open wave, and the first that is
     * not settled in the first one; INT32_MAX: none. Later ones are held (waves_train.c). */
    int car_open, car_first;
    struct waves_share share;
    struct waves_keys let_go_before;  /* as it was last written down */
    struct waves_revision *revisions; /* those of the new status, by workload */
    size_t n_revisions, *found_last;  /* which of them was asked for last */
};

/* --- waves_canary.c */

/* It releases something: requests may go to a canary. */
bool waves_is_under_way(const struct waves_canary *canary);
bool waves_rests(const struct waves_canary *canary);
bool waves_is_initialised(const struct waves_canary *canary);
/* It is held by this plan, so that nothing begins there. */
bool waves_is_held(const struct waves_canary *canary);
bool waves_has_promoted(const struct waves_work *w, const struct waves_canary *canary);
bool waves_has_failed(const struct waves_work *w, const struct waves_canary *canary);
/* A person takes its failure as it is. */
bool waves_is_accepted(const struct waves_work *w, const struct waves_canary *canary);
/* In the middle of a release nothing is held, or requests would stay with a canary that nobody looks
 * after; but one that has begun another revision than it was let go for, and has no requests yet,
 * is. */
bool waves_may_be_held(const struct waves_work *w, const struct waves_canary *canary);
/* As it was last written down. */
bool waves_was_let_go(const struct waves_work *w, const struct waves_cluster *cluster,
                      const struct waves_canary *canary);
void waves_tell(struct waves_work *w, enum waves_phase phase, const char *message);
void waves_look_again(struct waves_work *w, int64_t at_ms);

/* --- waves_index.c */

void waves_index_keys(struct arena *arena, struct waves_keys *out, const char *const *keys,
                      size_t count);
bool waves_has_key(const struct waves_keys *keys, const struct waves_cluster *cluster,
                   const struct waves_canary *canary);
/* For waves_wanted(); anew when those of the status are other ones. */
void waves_index_revisions(struct waves_work *w);
/* What the workload of a Canary is to get; NULL: nothing is known of that. */
const char *waves_wanted(const struct waves_work *w, const struct waves_canary *canary);

/* waves_first.c: what the first wave has promoted. False: it is not settled, and the status says
 * why; the revisions stay as they were. */
bool waves_first(struct waves_work *w);

/* waves_turns.c: who is held and let go when this wave is open (-1: none), as steps and status. */
void waves_take_turns(struct waves_work *w, int open);

/* --- waves_place.c */

enum { WAVES_MAX_LOOKS = 32 }; /* of one answer */

/* Its workload has another revision than the first wave has promoted. */
bool waves_is_other(const struct waves_work *w, const struct waves_canary *canary);
/* It has a place already: it was let go, or might begin something of its own. */
bool waves_has_place(const struct waves_work *w, int wave, const struct waves_cluster *cluster,
                     const struct waves_canary *canary);
/* How many were let go on a cluster that nobody has seen since the start, by the status. */
int waves_unseen(const struct waves_work *w, const struct waves_cluster *cluster);
void waves_step(struct waves_work *w, bool hold, size_t cluster, size_t canary);
void waves_look_at(struct waves_work *w, size_t cluster, size_t canary);

/* waves_share.c */
void waves_count_share(struct waves_work *w, int open);
/* There is room for its replicas. */
bool waves_share_has_room(const struct waves_work *w, const struct waves_canary *canary);
/* What keeps it from its turn, or NULL. */
const char *waves_share_says(const struct waves_work *w, const struct waves_canary *canary);
/* Of all Canaries of the cluster, as last seen; 0: never counted. */
int64_t waves_replicas_of(const struct waves_work *w, size_t cluster);

/* waves_train.c */
void waves_couple(struct waves_work *w, int open);
/* An earlier Application of the train comes first; its place in the train, or -1. */
int waves_train_waits(const struct waves_work *w, int wave, const struct waves_canary *canary);

/* waves_sentence.c: what of each cluster and of a wave that is not over is told. */
void waves_say_clusters(struct waves_work *w, int open);
const char *waves_waits_for(const struct waves_work *w, int wave);

#endif
