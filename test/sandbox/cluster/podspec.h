/*
 * What the sandbox reads from a pod - which container is a process, its port, how readiness is found
 * out, its environment - and the status that it writes, as a kubelet does. Pure.
 */
#ifndef CLUSTER_PODSPEC_H
#define CLUSTER_PODSPEC_H

#include "base/json.h"

enum probe_kind { PROBE_NONE, PROBE_HTTP, PROBE_TCP };

/* Pods with an image of this name are run by a program. */
struct podrun {
    const char *image, *program; /* both NULL: the end of a list */
};

struct podspec {
    struct json_object *container; /* the process, NULL: the pod is simulated; borrowed */
    const char *program;           /* that runs it, of the list; NULL: it is the demo app */
    int port;                      /* where the app listens */
    enum probe_kind probe;
    const char *probe_path;
    int probe_port;
    struct json_object *probe_headers; /* [{name, value}], may be NULL */
    int64_t initial_delay_ms, period_ms, timeout_ms;
    int64_t failures, successes; /* thresholds */
    int64_t leave_ms;            /* between leaving the Services and TERM: preStop.sleep */
    int64_t grace_ms;            /* between TERM and KILL */
    /* simulated pods */
    int64_t ready_after_ms;
    bool never_ready;
    bool crash;
    bool no_image; /* its image cannot be pulled */
};

/* runs: what is run besides the demo app, or NULL. ERR_INVALID when an annotation cannot be read. Texts
 * are borrowed from the tree. */
enum err podspec_read(struct json_object *pod, const struct podrun *runs, struct podspec *out,
                      struct errinfo *ei) MUST_USE;
/* A port given by number or by the name of a port of any container; 0 when there is none such. */
int podspec_port(struct json_object *pod, struct json_object *port);

/* The environment and arguments of a container: env, envFrom, references to ConfigMaps, Secrets and
 * the pod's own fields, $(NAME) expansion. */
struct podenv_in {
    struct json_object *pod;
    struct json_object *container;
    const char *address; /* the pod's */
    /* A ConfigMap or Secret of the pod's namespace, NULL if there is none; borrowed for as long as
     * the arena. */
    struct json_object *(*lookup)(void *arg, struct arena *arena, bool secret, const char *name);
    void *arg;
};

/*
 * *env: a NULL-ended list "NAME=value", owned by the arena; later entries win. ERR_NOT_FOUND says
 * which ConfigMap, Secret or key is missing (it may come later); optional references may miss.
 */
enum err podenv_make(struct arena *arena, const struct podenv_in *in, const char *const **env,
                     struct errinfo *ei) MUST_USE;
/* container.args with $(NAME) replaced from env; NULL-ended. */
const char *const *podenv_args(struct arena *arena, struct json_object *container,
                               const char *const *env);

enum pod_state {
    POD_WAITING,  /* cannot start yet: something it refers to is missing */
    POD_RUNNING,  /* its process runs, or the simulation says so */
    POD_BACKOFF,  /* ended, and will be started again */
    POD_STOPPING, /* is being deleted */
};

struct podstatus_in {
    struct json_object *pod;
    enum pod_state state;
    const char *container; /* name of the one that is the process or the simulation */
    const char *address;
    bool ready;
    int64_t ready_changed_ms; /* wall clock, as all times here */
    int64_t started_ms;       /* of the pod */
    int64_t running_ms;       /* of the container's present run */
    int restarts;
    const char *reason, *message; /* while waiting or backing off */
    bool has_last;                /* the container ended before */
    int last_exit, last_signal;
    int64_t last_ended_ms;
};

/* Owned by the arena. */
struct json_object *podstatus_make(struct arena *arena, const struct podstatus_in *in);

#endif
