/*
 * The rules of the waves: which Canaries of a ReleasePlan are held, and which are let go (FLEET.md).
 * Pure: facts of all its clusters in, steps and the plan's new status out.
 *
 * The status is written before the first step, for it remembers what nothing else does: which
 * Canaries were let go, and when a wave was over. Everything lives in the arena; facts are borrowed.
 */
#ifndef FLEET_WAVES_H
#define FLEET_WAVES_H

#include "proto/phase.h"
#include "proto/releaseplan.h"

/* On a Canary that a plan holds with spec.suspend: NAMESPACE/NAME of the plan, and the uid of its
 * cluster's namespace kube-system. What has none of it is somebody else's. */
#define WAVES_HELD_BY "flagger.app/held-by"
#define WAVES_MANAGER "flagger.app/held-by-manager"

struct waves_canary {
    const char *namespace_, *name;
    enum phase phase;
    int weight;                     /* status.canaryWeight */
    const char *applied, *promoted; /* status.lastAppliedSpec, lastPromotedSpec; "" if none */
    bool suspended;
    bool mine;          /* with the annotation of this plan */
    const char *holder; /* another plan that holds it; NULL: none */
    bool deleting;
    int car; /* the place of its Application in the train of the plan, from 0 */
    /* That its workload has, at least 1. 0: nobody has looked yet; beside a target of "" it cannot be
     * known. It need not be asked for again: it only weighs. */
    int replicas;
    /* The revision that its workload has now. NULL: nobody has looked since the rules have asked; "":
     * it cannot be known. */
    const char *target;
};

struct waves_cluster {
    const char *name; /* no two have the same */
    struct json_object *labels;
    bool known;      /* its Canaries have been listed; else it has none here */
    bool reachable;  /* and they are as they are now */
    bool denied;     /* not known, for the plan may not act there */
    const char *why; /* not reachable, or denied: one sentence */
    int64_t seen_ms; /* the last answer from there, when it is not reachable; 0: there was none */
    struct waves_canary *canaries;
    size_t n_canaries;
};

/* What the gate has said of a wave and a revision. */
struct waves_answer {
    const char *wave, *revision; /* NULL: nothing was asked yet */
    bool open;
    const char *says; /* one sentence, when it is closed */
    int64_t at_ms;
};

enum waves_phase {
#define WAVES_PHASE(name) WAVES_##name,
#include "fleet/waves_phase.def"
#undef WAVES_PHASE
};

struct waves_revision {
    const char *workload; /* NAMESPACE/NAME of the Canaries */
    const char *hash;     /* that the first wave has promoted */
};

struct waves_wave {
    const char *name;
    int64_t began_ms, completed_ms; /* 0: not yet */
    bool passed;                    /* soak and gate are behind it, for this revision */
    int canaries, promoted, failed, under_way, held;
};

enum waves_state {
#define WAVES_STATE(name) WAVES_IS_##name,
#include "fleet/waves_state.def"
#undef WAVES_STATE
};

/* What is told of a cluster: of the first of its Canaries that has not promoted the revision, else
 * of the first. */
struct waves_says {
    const char *cluster, *wave; /* wave NULL: none has it */
    enum waves_state state;
    const char *says;
    enum phase phase; /* PHASE_NONE: no Canary is known */
    int weight;
    const char *revision; /* that it releases, or else has promoted; "" if none */
    int64_t seen_ms;      /* as in the facts */
    int64_t replicas;     /* of all its Canaries, where the budget counts them; read back */
};

struct waves_status {
    enum waves_phase phase;
    const char *message;  /* of the plan, one sentence */
    const char *revision; /* of all workloads; "" as long as there is none */
    struct waves_revision *revisions;
    size_t n_revisions;
    const char **let_go; /* CLUSTER/NAMESPACE/NAME */
    size_t n_let_go;
    struct waves_wave *waves; /* of the plan, in its order */
    size_t n_waves;
    struct waves_says *clusters;
    size_t n_clusters;
    bool late;
};

struct waves_facts {
    const struct releaseplan *plan;
    int64_t now_ms;
    struct waves_cluster *clusters; /* of the plan, by name */
    size_t n_clusters;
    const struct waves_status *status; /* as it was last written; all 0: never yet */
    struct waves_answer answer;
};

struct waves_step {
    bool hold; /* else it is let go */
    size_t cluster, canary;
};

struct waves_out {
    struct waves_status status;
    struct waves_step *steps;
    size_t n_steps;
    /* Targets and replicas to be looked at, after which the rules are asked again. */
    struct waves_step *looks;
    size_t n_looks;
    const struct releaseplan_wave *ask; /* whose gate is to be asked; NULL: none */
    int64_t again_ms;                   /* when time changes something; 0: never */
    bool given_back;                    /* a plan that is being deleted holds nothing any more */
};

/* So many at most are let go at once, whatever a plan says: each stands in its status. */
enum { WAVES_MAX_LET_GO = 2000 };

/* What a caller of the rules waits before a target or a gate is asked once more. */
enum { WAVES_GATE_MS = 10000, WAVES_LOOK_MS = 30000 };

void waves_decide(struct arena *arena, const struct waves_facts *facts, struct waves_out *out);

/* "CLUSTER/NAMESPACE/NAME" */
const char *waves_key(struct arena *arena, const struct waves_cluster *cluster,
                      const struct waves_canary *canary);

#endif
