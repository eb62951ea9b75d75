/* Shared by the wave*.c files only. */
#ifndef MEMBERS_WAVE_PARTS_H
#define MEMBERS_WAVE_PARTS_H

#include "fleet/daemon/member.h"
#include "fleet/daemon/wave.h"
#include "fleet/rules/waves.h"

/* --- wave_facts.c */

/* A cluster of the plan, beside the facts of it. */
struct wave_member {
    struct member *member; /* NULL if it cannot be connected to */
};

struct wave_facts {
    struct releaseplan plan;
    struct waves_cluster *clusters;
    struct wave_member *members; /* of the clusters */
    size_t count;
    const char *trouble; /* why there are none, or not all, one sentence; NULL if there are */
    bool begins;         /* a cluster is being listed for the first time, and has not failed yet */
    /* name_hash() of the Canaries that are meant, also where there is none yet; of a plan by labels
     * that of their namespace alone. */
    uint64_t *names;
    size_t n_names;
};

struct workload_probes; /* results of reading workloads */

/* Where the facts come from. Everything lives in the arena, or is borrowed until the loop turns. */
struct wave_source {
    struct fleet_daemon *fleet;
    struct arena *arena;
    const char *label; /* NAMESPACE/NAME of the plan */
    struct workload_probes *probes;
    int64_t now_ms; /* monotonic */
    /* The cluster with this kubeconfig, as long as the plan needs it. */
    struct member *(*member)(void *arg, const char *namespace_, const char *access);
    void *arg;
};

void wave_gather(const struct wave_source *source, struct wave_facts *facts);

/* --- probes of workloads */

struct workload_probes *workload_probes_new(struct members_context *context,
                                            void (*seen)(void *arg), void *arg);
void workload_probes_free(struct workload_probes *probes);
/* Reads the workload, unless that is under way or has just failed, and if `weighs` its primary too;
 * calls seen() afterwards. */
void workload_probes_start(struct workload_probes *probes, const char *key, struct member *member,
                           const char *namespace_, const char *name, bool weighs);
/* The connection to this member closes: drops its probes. */
void workload_probes_drop(struct workload_probes *probes, const struct member *member);
int workload_probes_under_way(const struct workload_probes *probes);

/* --- the gate */

struct wave_gate;
typedef void (*wave_gate_fn)(void *arg, bool open, const char *says);
/* Everything is copied; done once, from the loop, not after wave_gate_free(). */
struct wave_gate *wave_gate_ask(struct members_context *context, const struct releaseplan *plan,
                                const struct releaseplan_wave *wave, const char *revision,
                                wave_gate_fn done, void *arg);
void wave_gate_free(struct wave_gate *gate); /* NULL is allowed */

/* --- steps */

/* One Canary is held or let go. */
struct wave_step;
typedef void (*wave_step_fn)(void *arg, struct wave_step *step);
struct wave_step_spec {
    struct member *member;
    const char *namespace_, *name;
    const char *label; /* of the plan */
    uint64_t version;  /* of the digest that the rules have seen */
    bool hold;
};
/* NULL if the cluster is not connected or the Canary was replaced. Calls done once, from the loop;
 * done frees the step. */
struct wave_step *wave_step_start(struct members_context *context,
                                  const struct wave_step_spec *spec, wave_step_fn done, void *arg);
void wave_step_free(struct wave_step *step);
const struct member *wave_step_member(const struct wave_step *step);

/* --- the plan itself */

enum wave_state { WAVE_RESTING, WAVE_RECORDING, WAVE_STEPPING };

/* A round takes so many steps at once. */
enum { WAVE_MAX_STEPS = 256 };

struct wave {
    struct fleet_daemon *fleet;
    char *namespace_, *name, *label, *uid;
    enum wave_state state;
    bool due;            /* something has changed since the last round */
    bool awake;          /* it waits to be settled */
    struct timer *timer; /* to the next round */
    int64_t timer_at;    /* monotonic */
    int64_t begun_ms;    /* monotonic: when it was first known here */
    int64_t cost_ms;     /* how long asking the rules has taken last */
    int64_t settled_ms;  /* monotonic: when the last round began */
    struct backoff backoff;
    struct member **members; /* that it uses, each once */
    size_t n_members;
    uint64_t *watched; /* name_hash() of its Canaries; of a plan by labels their namespace */
    size_t n_watched;
    bool by_labels;
    struct workload_probes *probes;
    struct wave_gate *gate;
    struct answer {
        char *wave, *revision, *says;
        bool open;
        int64_t at_ms; /* wall clock */
    } answer;
    char *said; /* the last message that was told as an event */
    /* of the round under way */
    struct tracked_request *ask;
    struct round {
        struct arena *arena; /* NULL if there is none */
        struct wave_step_spec *steps;
        size_t n_steps, next, stride; /* the next one to be taken */
        int64_t until_ms;             /* monotonic */
    } round;
    struct wave_step *steps[WAVE_MAX_STEPS]; /* under way */
    int n_steps;
};

/* --- parts of a round */

/* A member that the plan needs from now on; as of wave_source.member. */
struct member *wave_use(void *arg, const char *namespace_, const char *access);
void wave_let_go(struct wave *wave, struct member **members, size_t count);
/* Which Canaries wake it. */
void wave_watch(struct wave *wave, const struct wave_facts *facts);
void wave_add_step(struct wave *wave, struct member *member, const char *namespace_,
                   const char *name, bool hold);
/* Lets go of Canaries that it holds but no longer selects. Returns their number, unreachable ones
 * included. */
size_t wave_free_strays(struct wave *wave, const struct wave_facts *facts);

#endif
