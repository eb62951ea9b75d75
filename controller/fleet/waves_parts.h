/* What the files of the waves share; nobody else includes this. */
#ifndef FLEET_WAVES_PARTS_H
#define FLEET_WAVES_PARTS_H

#include "fleet/waves.h"

struct waves_work {
    struct arena *arena;
    const struct waves_facts *facts;
    const struct releaseplan *plan;
    struct waves_out *out;
    int *wave_of; /* of each cluster; -1: none has it */
};

/* --- waves_canary.c */

/* It releases something: requests may go to a canary. */
bool waves_is_under_way(const struct waves_canary *canary);
bool waves_rests(const struct waves_canary *canary);
bool waves_is_initialised(const struct waves_canary *canary);
/* It is held by this plan, so that nothing begins there. */
bool waves_is_held(const struct waves_canary *canary);
/* What its workload is to get; NULL: nothing is known of that. */
const char *waves_wanted(const struct waves_work *w, const struct waves_canary *canary);
bool waves_has_promoted(const struct waves_work *w, const struct waves_canary *canary);
bool waves_has_failed(const struct waves_work *w, const struct waves_canary *canary);
/* In the middle of a release nothing is held, or requests would stay with a canary that nobody looks
 * after; but one that has begun another revision than it was let go for, and has no requests yet,
 * is. */
bool waves_may_be_held(const struct waves_work *w, const struct waves_canary *canary);
/* As it was last written down. */
bool waves_was_let_go(const struct waves_work *w, const struct waves_cluster *cluster,
                      const struct waves_canary *canary);
void waves_tell(struct waves_work *w, enum waves_phase phase, const char *message);
void waves_look_again(struct waves_work *w, int64_t at_ms);

/* waves_first.c: what the first wave has promoted. False: it is not settled, and the status says
 * why; the revisions stay as they were. */
bool waves_first(struct waves_work *w);

/* waves_turns.c: who is held and let go when this wave is open (-1: none), as steps and status. */
void waves_take_turns(struct waves_work *w, int open);
void waves_step(struct waves_work *w, bool hold, size_t cluster, size_t canary);

/* waves_sentence.c: what of each cluster and of a wave that is not over is told. */
void waves_say_clusters(struct waves_work *w, int open);
const char *waves_waits_for(const struct waves_work *w, int wave);

#endif
