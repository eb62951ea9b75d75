#include "cluster/podspec.h"

#include <string.h>

#include "app/behaviour.h"
#include "base/duration.h"
#include "object/form.h"
#include "object/meta.h"

#define READY_AFTER "sandbox.flagger.app/ready-after"
#define NEVER_READY "sandbox.flagger.app/never-ready"
#define CRASH       "sandbox.flagger.app/crash"

enum { APP_PORT = 9898, READY_AFTER_MS = 100, LEAVE_MS = 250 };

int podspec_port(struct json_object *pod, struct json_object *port)
{
    struct json_object *containers = json_at(pod, "spec", "containers", NULL);
    if (!port || json_object_is_type(port, json_type_int))
        return port ? json_object_get_int(port) : 0;
    const char *wanted = json_object_get_string(port);
    for (size_t i = 0; i < json_len(containers); i++) {
        struct json_object *ports = json_at(json_elem(containers, i), "ports", NULL);
        for (size_t k = 0; k < json_len(ports); k++) {
            const char *name = json_str_at(json_elem(ports, k), "name", NULL);
            if (name && wanted && strcmp(name, wanted) == 0)
                return (int)json_int_at(json_elem(ports, k), 0, "containerPort", NULL);
        }
    }
    return 0;
}

static struct json_object *find_app(struct json_object *pod)
{
    struct json_object *containers = json_at(pod, "spec", "containers", NULL);
    for (size_t i = 0; i < json_len(containers); i++)
        if (behaviour_is_demo(json_str_at(json_elem(containers, i), "image", NULL)))
            return json_elem(containers, i);
    return NULL;
}

static bool is_true(struct json_object *pod, const char *annotation)
{
    const char *text = meta_annotation(pod, annotation);
    return text && strcmp(text, "true") == 0;
}

static void read_probe(struct json_object *pod, struct podspec *out)
{
    struct json_object *probe = json_at(out->container, "readinessProbe", NULL);
    struct json_object *http = json_at(probe, "httpGet", NULL);
    struct json_object *tcp = json_at(probe, "tcpSocket", NULL);

    out->initial_delay_ms = 1000 * json_int_at(probe, 0, "initialDelaySeconds", NULL);
    out->period_ms = 1000 * json_int_at(probe, 10, "periodSeconds", NULL);
    out->timeout_ms = 1000 * json_int_at(probe, 1, "timeoutSeconds", NULL);
    out->failures = json_int_at(probe, 3, "failureThreshold", NULL);
    out->successes = json_int_at(probe, 1, "successThreshold", NULL);
    out->probe_port = out->port;
    if (!probe)
        return;
    out->probe = tcp ? PROBE_TCP : PROBE_HTTP;
    out->probe_path = "/readyz"; /* in place of a command */
    if (tcp)
        out->probe_port = podspec_port(pod, json_at(tcp, "port", NULL));
    if (!http)
        return;
    const char *path = json_str_at(http, "path", NULL);
    out->probe_path = path ? path : "/";
    out->probe_port = podspec_port(pod, json_at(http, "port", NULL));
    out->probe_headers = json_at(http, "httpHeaders", NULL);
}

enum err podspec_read(struct json_object *pod, struct podspec *out, struct errinfo *ei)
{
    const char *after = meta_annotation(pod, READY_AFTER);

    *out = (struct podspec){.container = find_app(pod),
                            .port = APP_PORT,
                            .ready_after_ms = READY_AFTER_MS,
                            .never_ready = is_true(pod, NEVER_READY),
                            .crash = is_true(pod, CRASH)};
    out->grace_ms = 1000 * json_int_at(pod, 30, "spec", "terminationGracePeriodSeconds", NULL);
    int64_t sleep_s =
        json_int_at(out->container, 0, "lifecycle", "preStop", "sleep", "seconds", NULL);
    out->leave_ms = sleep_s > 0 ? 1000 * sleep_s : LEAVE_MS;
    struct json_object *ports = json_at(out->container, "ports", NULL);
    if (json_len(ports) > 0)
        out->port = (int)json_int_at(json_elem(ports, 0), APP_PORT, "containerPort", NULL);
    read_probe(pod, out);
    if (!after)
        return ERR_OK;
    enum err err = duration_parse_ms(after, &out->ready_after_ms, ei);
    return err == ERR_OK ? ERR_OK : err_wrap(ei, err, "annotation " READY_AFTER);
}

/* ---- the status ---- */

static struct json_object *container_status(struct arena *arena, const struct podstatus_in *in,
                                            struct json_object *container)
{
    const char *name = json_str_at(container, "name", NULL);
    bool own = name && in->container && strcmp(name, in->container) == 0;
    bool waits = in->state == POD_WAITING || (own && in->state == POD_BACKOFF);
    bool failed = in->last_exit != 0 || in->last_signal;
    struct json_object *state =
        waits ? form(arena, "{waiting: {reason: %s, message: %s}}", in->reason, in->message)
              : form(arena, "{running: {startedAt: %s}}",
                     meta_time(arena, own ? in->running_ms : in->started_ms));
    struct json_object *last = form(arena, "{}");

    if (own && in->has_last)
        last = form(arena, "{terminated: {exitCode: %d, reason: %s, finishedAt: %s}}",
                    in->last_signal ? 128 + in->last_signal : in->last_exit,
                    failed ? "Error" : "Completed", meta_time(arena, in->last_ended_ms));
    if (own && in->has_last && in->last_signal)
        json_set_int(json_at(last, "terminated", NULL), "signal", in->last_signal);
    return form(arena,
                "{name: %s, image: %s, imageID: '', ready: %i, started: %i, restartCount: %d, "
                "state: %p, lastState: %p}",
                name, json_str_at(container, "image", NULL), own ? in->ready : !waits, !waits,
                own ? in->restarts : 0, state, last);
}

struct json_object *podstatus_make(struct arena *arena, const struct podstatus_in *in)
{
    struct json_object *statuses = form(arena, "[]");
    struct json_object *containers = json_at(in->pod, "spec", "containers", NULL);
    const char *reason = in->ready ? NULL : "ContainersNotReady";
    const char *start = meta_time(arena, in->started_ms), *ready = in->ready ? "True" : "False";
    const char *since = meta_time(arena, in->ready_changed_ms);

    for (size_t i = 0; i < json_len(containers); i++)
        form_add(statuses, container_status(arena, in, json_elem(containers, i)));
    return form(
        arena,
        "{phase: %s, conditions: ["
        "{type: Initialized, status: 'True', lastTransitionTime: %s}, "
        "{type: Ready, status: %s, lastTransitionTime: %s, reason: %s}, "
        "{type: ContainersReady, status: %s, lastTransitionTime: %s, reason: %s}, "
        "{type: PodScheduled, status: 'True', lastTransitionTime: %s}], "
        "hostIP: 127.0.0.1, podIP: %s, podIPs: [{ip: %s}], startTime: %s, qosClass: BestEffort, "
        "containerStatuses: %p}",
        in->state == POD_WAITING ? "Pending" : "Running", start, ready, since, reason, ready, since,
        reason, start, in->address, in->address, start, statuses);
}
