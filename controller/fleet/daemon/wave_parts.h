/* Shared by the wave*.c files only. */
#ifndef MEMBERS_WAVE_PARTS_H
#define MEMBERS_WAVE_PARTS_H

#include "fleet/daemon/member.h"
#include "fleet/daemon/wave.h"
#include "fleet/rules/waves.h"

/* --- wave_facts.c */

/* A cluster of the plan: what the daemon knows besides the facts for the rules. */
struct wave_member {
    struct member *member; /* NULL if it cannot be connected to */
};

struct wave_facts {
    struct releaseplan plan;
    struct waves_cluster *clusters;
    struct wave_member *members; /* one for each cluster */
    size_t count;
    const char *trouble; /* why none or not all are there, one sentence; NULL if all are there */
    bool begins; /* a cluster is being listed for the first time, and that has not failed yet */
    /* name_hash() of the selected Canaries, including those that do not exist yet; for a plan by
     * labels of just their namespace. */
    uint64_t *names;
    size_t n_names;
};

struct workload_probes; /* results of reading workloads */

/* Source of the facts. Everything lives in the arena, or is borrowed until the next loop
 * iteration. */
struct wave_source {
    struct fleet_daemon *fleet;
    struct arena *arena;
    const char *label; /* NAMESPACE/NAME of the plan */
    struct workload_probes *probes;
    int64_t now_ms; /* monotonic */
    /* The member with this kubeconfig, valid as long as the plan needs it. */
    struct member *(*member)(void *arg, const char *namespace_, const char *access);
    void *arg;
};

void wave_gather(const struct wave_source *source, struct wave_facts *facts);

/* --- probes of workloads */

struct workload_probes *workload_probes_new(struct members_context *context,
                                            void (*seen)(void *arg), void *arg);
void workload_probes_free(struct workload_probes *probes);
/* Reads the workload, unless a read is under way or has just failed, and if `weighs` its primary
 * too; calls seen() afterwards. */
void workload_probes_start(struct workload_probes *probes, const char *key, struct member *member,
                           const char *namespace_, const char *name, bool weighs);
/* The connection to this member is closing: drops its probes. */
void workload_probes_drop(struct workload_probes *probes, const struct member *member);
int workload_probes_under_way(const struct workload_probes *probes);

/* --- the gate */

struct wave_gate;
typedef void (*wave_gate_fn)(void *arg, bool open, const char *says);
/* Copies everything; calls done once, from the loop, and not after wave_gate_free(). */
struct wave_gate *wave_gate_ask(struct members_context *context, const struct releaseplan *plan,
                                const struct releaseplan_wave *wave, const char *revision,
                                wave_gate_fn done, void *arg);
void wave_gate_free(struct wave_gate *gate); /* NULL is allowed */

/* --- steps */

/* Holding one Canary or letting it go. */
struct wave_step;
typedef void (*wave_step_fn)(void *arg, struct wave_step *step);
struct wave_step_spec {
    struct member *member;
    const char *namespace_, *name;
    const char *label; /* of the plan */
    uint64_t version;  /* hash of the digest that the rules have seen */
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

/* A round carries out at most this many steps at once. */
enum { WAVE_MAX_STEPS = 256 };

struct wave {
    struct fleet_daemon *fleet;
    char *namespace_, *name, *label, *uid;
    enum wave_state state;
    bool due;            /* something has changed since the last round */
    bool awake;          /* waits for wave_settle() */
    struct timer *timer; /* until the next round */
    int64_t timer_at;    /* monotonic */
    int64_t begun_ms;    /* monotonic: when this process first saw it */
    int64_t cost_ms;     /* time that the last call of the rules took */
    int64_t settled_ms;  /* monotonic: when the last round began */
    struct backoff backoff;
    struct member **members; /* the members that it uses, each once */
    size_t n_members;
    uint64_t *watched; /* name_hash() of its Canaries; for a plan by labels of their namespace */
    size_t n_watched;
    bool by_labels;
    struct workload_probes *probes;
    struct wave_gate *gate;
    struct answer {
        char *wave, *revision, *says;
        bool open;
        int64_t at_ms; /* wall clock */
    } answer;
    char *said; /* the message last reported as an event */
    /* Request of the round under way. */
    struct tracked_request *ask;
    struct round {
        struct arena *arena; /* NULL if there is none */
        struct wave_step_spec *steps;
        size_t n_steps, next, stride; /* the next step to start */
        int64_t until_ms;             /* monotonic */
    } round;
    struct wave_step *steps[WAVE_MAX_STEPS]; /* steps under way */
    int n_steps;
};

/* --- parts of a round */

/* A member that the plan needs from now on; as in wave_source.member. */
struct member *wave_use(void *arg, const char *namespace_, const char *access);
void wave_let_go(struct wave *wave, struct member **members, size_t count);
/* Sets which Canaries wake it. */
void wave_watch(struct wave *wave, const struct wave_facts *facts);
void wave_add_step(struct wave *wave, struct member *member, const char *namespace_,
                   const char *name, bool hold);
/* Lets go of Canaries that it holds but no longer selects. Returns their number, including the
 * unreachable ones. */
size_t wave_free_strays(struct wave *wave, const struct wave_facts *facts);

#endif
