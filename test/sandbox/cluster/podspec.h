/* What the sandbox reads from a pod: which container is a process, its port, and how readiness is
 * found out. Pure. */
#ifndef CLUSTER_PODSPEC_H
#define CLUSTER_PODSPEC_H

#include "base/json.h"

enum probe_kind { PROBE_NONE, PROBE_HTTP, PROBE_TCP };

struct podspec {
    struct json_object *container; /* the demo app's, NULL: the pod is simulated; borrowed */
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
};

/* ERR_INVALID when an annotation cannot be read. Texts are borrowed from the tree. */
enum err podspec_read(struct json_object *pod, struct podspec *out, struct errinfo *ei) MUST_USE;
/* A port given by number or by the name of a port of any container; 0 when there is none such. */
int podspec_port(struct json_object *pod, struct json_object *port);

#endif
