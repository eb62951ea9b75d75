/*
 * The rules of the waves: which Canaries of a ReleasePlan are held, and which are let go
 * (FLEET.md). Pure: facts about all its clusters in, steps and the plan's new status out.
 *
 * The status is written before the first step, because nothing else records which Canaries were let
 * go, and when a wave was over. Everything lives in the arena; facts are borrowed.
 */
#ifndef FLEET_WAVES_H
#define FLEET_WAVES_H

#include "proto/phase.h"
#include "proto/releaseplan.h"

/* Annotations of a Canary that a plan holds with spec.suspend: NAMESPACE/NAME of the plan, and the
 * uid of the namespace kube-system in its cluster. A suspended Canary without them was suspended by
 * a user. */
#define WAVES_HELD_BY "flagger.app/held-by"
#define WAVES_MANAGER "flagger.app/held-by-manager"

struct waves_canary {
    const char *namespace_, *name;
    enum phase phase;
    int weight;                     /* status.canaryWeight */
    const char *applied, *promoted; /* status.lastAppliedSpec, lastPromotedSpec; "" if none */
    bool suspended;
    bool mine;          /* it has the annotation of this plan */
    const char *holder; /* another plan that holds it; NULL if none */
    bool deleting;
    int order; /* position of its Application in the plan's train, from 0 */
    /* Replicas of the workload, at least 1; 0 if not read yet, or if unknown and target is "". Used
     * only as a weight: never read again. */
    int replicas;
    /* The current revision of the workload; NULL if not read since the rules requested it, "" if it
     * cannot be known. */
    const char *target;
};

struct waves_cluster {
    const char *name; /* unique among the clusters */
    struct json_object *labels;
    bool known;      /* its Canaries have been listed; if false, there are none here */
    bool reachable;  /* and the list is up to date */
    bool denied;     /* unknown, because the plan must not act there */
    const char *why; /* why it is not reachable, or denied: one sentence */
    int64_t seen_ms; /* last contact, if unreachable; 0 if never */
    struct waves_canary *canaries;
    size_t n_canaries;
};

/* The gate's response about a wave and a revision. */
struct waves_answer {
    const char *wave, *revision; /* NULL if it was not queried yet */
    bool open;
    const char *says; /* one sentence, if it is closed */
    int64_t at_ms;
};

enum waves_phase {
#define WAVES_PHASE(name) WAVES_##name,
#include "fleet/rules/waves_phase.def"
#undef WAVES_PHASE
};

struct waves_revision {
    const char *workload; /* NAMESPACE/NAME of the Canaries */
    const char *hash;     /* hash of the revision that the first wave has promoted */
};

struct waves_wave {
    const char *name;
    int64_t began_ms, completed_ms; /* 0 if not yet */
    bool passed;                    /* soak time and gate are passed, for this revision */
    int canaries, promoted, failed, under_way, held;
};

enum waves_state {
#define WAVES_STATE(name) WAVES_IS_##name,
#include "fleet/rules/waves_state.def"
#undef WAVES_STATE
};

/* The row of a cluster: about its first Canary that has not promoted the revision, or else about
 * its first Canary. */
struct waves_says {
    const char *cluster, *wave; /* wave NULL: no wave has it */
    enum waves_state state;
    const char *says;
    enum phase phase; /* PHASE_NONE: no Canary is known */
    int weight;
    const char *revision; /* the revision that it is releasing, or else has promoted; "" if none */
    int64_t seen_ms;      /* as in the facts */
    int64_t replicas;     /* sum over all its Canaries, if the budget counts them; read back */
};

struct waves_status {
    enum waves_phase phase;
    const char *message;  /* about the plan, one sentence */
    const char *revision; /* revision of all workloads; "" as long as there is none */
    struct waves_revision *revisions;
    size_t n_revisions;
    const char **let_go; /* CLUSTER/NAMESPACE/NAME */
    size_t n_let_go;
    struct waves_wave *waves; /* the plan's waves, in its order */
    size_t n_waves;
    struct waves_says *clusters;
    size_t n_clusters;
    bool late;
};

struct waves_facts {
    const struct releaseplan *plan;
    int64_t now_ms;
    struct waves_cluster *clusters; /* the plan's clusters, by name */
    size_t n_clusters;
    const struct waves_status *status; /* as last written; all zero if never written */
    struct waves_answer answer;
};

struct waves_step {
    bool hold; /* false: it is let go */
    size_t cluster, canary;
};

struct waves_out {
    struct waves_status status;
    struct waves_step *steps;
    size_t n_steps;
    /* Targets and replicas to read; the rules are called again afterwards. */
    struct waves_step *looks;
    size_t n_looks;
    const struct releaseplan_wave *ask; /* the wave whose gate must be queried; NULL if none */
    int64_t again_ms; /* time of the next change that comes without an event; 0 if none */
    bool given_back;  /* a plan that is being deleted no longer holds anything */
};

/* Limit for the Canaries that are let go at once: each has a row in the status. */
enum { WAVES_MAX_LET_GO = 2000 };

/* Delays before a gate or a target is queried again. */
enum { WAVES_GATE_MS = 10000, WAVES_LOOK_MS = 30000 };

void waves_decide(struct arena *arena, const struct waves_facts *facts, struct waves_out *out);

/* Reads back from the plan's status only what the rules have to remember. A value of the wrong type
 * counts as absent. */
struct waves_status waves_status_read(struct arena *arena, struct json_object *plan);

/* The whole status as JSON. old is the previous status, or NULL: conditions that stay the same keep
 * their times. */
struct json_object *waves_status_json(struct arena *arena, const struct releaseplan *plan,
                                      const struct waves_status *status, struct json_object *old,
                                      int64_t now_ms);

/* "CLUSTER/NAMESPACE/NAME" */
const char *waves_key(struct arena *arena, const struct waves_cluster *cluster,
                      const struct waves_canary *canary);

#endif
