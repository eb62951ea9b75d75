/* What the files of a ReleasePlan share; nobody else includes this. */
#ifndef MEMBERS_WAVE_PARTS_H
#define MEMBERS_WAVE_PARTS_H

#include "fleet/waves.h"
#include "members/claim.h"
#include "members/wave.h"

/* --- wave_facts.c */

/* A cluster of the plan, beside the facts of it. */
struct wave_member {
    struct member *member; /* NULL: nobody can connect to it */
};

struct wave_facts {
    struct releaseplan plan;
    struct waves_cluster *clusters;
    struct wave_member *members; /* of the clusters */
    size_t count;
    const char *trouble; /* why there are none, or not all, one sentence; NULL: there are */
};

struct wave_sight; /* wave_sight.c: what was seen of workloads */

/* Where the facts come from. Everything lives in the arena, or is borrowed until the loop turns. */
struct wave_source {
    struct hub *hub;
    struct arena *arena;
    const char *label; /* NAMESPACE/NAME of the plan */
    struct wave_sight *sight;
    int64_t now_ms; /* monotonic */
    /* The cluster with this kubeconfig, as long as the plan needs it. */
    struct member *(*member)(void *arg, const char *namespace_, const char *access);
    void *arg;
};

void wave_gather(const struct wave_source *source, struct wave_facts *facts);
struct waves_canary wave_canary(const struct wave_source *source, const char *cluster,
                                const struct stock_canary *canary);

/* --- wave_sight.c */

struct wave_sight *wave_sight_new(struct members_context *context, void (*seen)(void *arg),
                                  void *arg);
void wave_sight_free(struct wave_sight *sight);
/* The revision of the workload: NULL: nobody has looked lately; "": it cannot be known. Borrowed. */
const char *wave_sight_of(const struct wave_sight *sight, const char *key, int64_t now_ms);
/* How many replicas serve for it, at least 1, as they were when it was looked at last, however long
 * ago; 0: nobody has looked, or it cannot be known. */
int wave_sight_replicas(const struct wave_sight *sight, const char *key);
/* Looks at it, unless that is under way or has just failed, and where `weighs` at its primary as well;
 * seen() follows. */
void wave_sight_look(struct wave_sight *sight, const char *key, struct member *member,
                     const char *namespace_, const char *name, bool weighs);
/* The connection of this member goes: nothing is asked there any more. */
void wave_sight_drop(struct wave_sight *sight, const struct member *member);
int wave_sight_under_way(const struct wave_sight *sight);

/* --- wave_gate.c */

struct wave_gate;
typedef void (*wave_gate_fn)(void *arg, bool open, const char *says);
/* Everything is copied; done once, from the loop, not after wave_gate_free(). */
struct wave_gate *wave_gate_ask(struct members_context *context, const struct releaseplan *plan,
                                const struct releaseplan_wave *wave, const char *revision,
                                wave_gate_fn done, void *arg);
void wave_gate_free(struct wave_gate *gate); /* NULL is allowed */

/* --- wave_step.c */

/* One Canary is held or let go. */
struct wave_step;
typedef void (*wave_step_fn)(void *arg, struct wave_step *step);
struct wave_step_spec {
    struct member *member;
    const char *namespace_, *name;
    const char *label; /* of the plan */
    bool hold;
};
/* NULL: nobody is connected there, or the Canary is not known. done once, from the loop; it frees the
 * step. */
struct wave_step *wave_step_start(struct members_context *context,
                                  const struct wave_step_spec *spec, wave_step_fn done, void *arg);
void wave_step_free(struct wave_step *step);
const struct member *wave_step_member(const struct wave_step *step);

#endif
