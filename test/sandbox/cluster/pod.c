#include "cluster/context.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/node.h"
#include "cluster/podspec.h"
#include "net/child/child.h"
#include "object/form.h"
#include "object/meta.h"

enum {
    LOG_KEEP = 256 * 1024,
    EAGER_PROBE_MS = 150, /* until the first success */
    CRASH_AFTER_MS = 300, /* of a simulated pod that crashes */
    MAX_BACKOFF_MS = 30 * 1000,
    STEADY_MS = 60 * 1000, /* a run so long ends the back-off */
    RETRY_MS = 500,        /* while a ConfigMap or Secret is missing */
};

/* One pod of the store. Lives until its object is gone and its process has ended. */
struct pod {
    struct cluster *cluster;
    LIST_ENTRY(pod) others;
    struct json_object *object; /* as it was first seen: the spec does not change */
    const char *ns, *name;      /* of it */
    struct podspec spec;
    char address[ADDRESS_TEXT];
    bool gone;    /* taken off the list, waits for its process only */
    bool started; /* answered once in this run */
    struct child *child;
    struct timer *timer; /* of the state: start, back-off, leaving */
    struct timer *probe_timer;
    struct probe *probe; /* under way */
    int64_t failures, successes;
    int crashes;              /* since the last steady run */
    struct podstatus_in view; /* its message is ours */
    char *message;
    struct buf log; /* the end of what it has written */
};

LIST_HEAD(pod_list, pod);
struct pods {
    struct cluster *cluster;
    struct pod_list list, leaving; /* leaving: gone, but with a process */
};

/* A probe outlives its pod when the pod goes first. */
struct probe {
    struct pod *pod; /* NULL: nobody is interested any more */
    struct http_call *call;
};

static void start(void *arg);
static void probe_later(struct pod *pod, int64_t delay_ms);

static void later(struct pod *pod, int64_t delay_ms, void (*fn)(void *arg))
{
    timer_stop(pod->timer);
    pod->timer = timer_start(pod->cluster->loop, delay_ms, 0, fn, pod);
}

static void write_status(struct pod *pod)
{
    struct cluster *cluster = pod->cluster;
    struct arena *arena = arena_new();
    pod->view.pod = pod->object;
    pod->view.address = pod->address;
    if (!pod->gone && !cluster->draining)
        context_status(cluster, arena, cluster->kinds[KIND_POD], pod->ns, pod->name,
                       podstatus_make(arena, &pod->view));
    arena_free(arena);
}

static void set_ready(struct pod *pod, bool ready)
{
    if (pod->view.ready == ready)
        return;
    pod->view.ready = ready;
    pod->view.ready_changed_ms = clock_wall_ms();
}

static void set_state(struct pod *pod, enum pod_state state, const char *reason,
                      const char *message)
{
    assert(pod->view.state != POD_STOPPING || state == POD_STOPPING);
    pod->view.state = state;
    pod->view.reason = reason;
    free(pod->message);
    pod->view.message = pod->message = heap_strdup(message);
    if (state != POD_RUNNING)
        set_ready(pod, false);
    write_status(pod);
}

/* ---- readiness ---- */

static void forget_probe(struct pod *pod)
{
    timer_stop(pod->probe_timer);
    pod->probe_timer = NULL;
    if (!pod->probe)
        return;
    struct http_call *call = pod->probe->call;
    pod->probe->pod = NULL;
    pod->probe = NULL;
    http_cancel(call);
}

static void count_probe(struct pod *pod, bool success)
{
    bool was_ready = pod->view.ready;

    pod->successes = success ? pod->successes + 1 : 0;
    pod->failures = success ? 0 : pod->failures + 1;
    if (success && pod->successes >= pod->spec.successes) {
        pod->started = true;
        set_ready(pod, true);
    } else if (!success && pod->failures >= pod->spec.failures) {
        set_ready(pod, false);
    }
    if (was_ready != pod->view.ready)
        write_status(pod);
    if (pod->started && pod->spec.probe == PROBE_NONE)
        return; /* it listens: that is all there is to know */
    bool eager = !pod->started && pod->spec.period_ms > EAGER_PROBE_MS;
    probe_later(pod, eager ? EAGER_PROBE_MS : pod->spec.period_ms);
}

static void on_probed(void *arg, const struct http_result *result)
{
    struct probe *probe = arg;
    struct pod *pod = probe->pod;

    free(probe);
    if (!pod)
        return;
    pod->probe = NULL;
    bool success = result->err == ERR_OK && ((result->status >= 200 && result->status < 400) ||
                                             pod->spec.probe == PROBE_TCP);
    count_probe(pod, success);
}

static void probe_now(void *arg)
{
    struct pod *pod = arg;
    struct arena *arena = arena_new();
    struct json_object *headers = pod->spec.probe_headers;
    struct http_header *list = arena_array(arena, json_len(headers) + 2, sizeof(*list));
    const char *path = pod->spec.probe == PROBE_NONE ? "/healthz" : pod->spec.probe_path;

    pod->probe_timer = NULL;
    list[0] = (struct http_header){"user-agent", "kube-probe/sandbox"};
    for (size_t i = 0; i < json_len(headers); i++)
        list[i + 1] = (struct http_header){json_str_at(json_elem(headers, i), "name", NULL),
                                           json_str_at(json_elem(headers, i), "value", NULL)};
    const struct http_request request = {
        .url = arena_printf(arena, "http://%s:%d%s%s", pod->address, pod->spec.probe_port,
                            path[0] == '/' ? "" : "/", path),
        .headers = list,
        .proxy = "",
        .timeout_ms = pod->spec.timeout_ms,
    };
    pod->probe = heap_alloc(sizeof(*pod->probe));
    pod->probe->pod = pod;
    pod->probe->call = http_send(pod->cluster->probes, &request, on_probed, pod->probe);
    arena_free(arena);
}

static void probe_later(struct pod *pod, int64_t delay_ms)
{
    pod->probe_timer = timer_start(pod->cluster->loop, delay_ms, 0, probe_now, pod);
}

/* ---- the end ---- */

static void pod_free(struct pod *pod)
{
    LIST_REMOVE(pod, others);
    forget_probe(pod);
    timer_stop(pod->timer);
    if (pod->address[0])
        address_give_back(&pod->cluster->pod_addresses, pod->address);
    json_object_put(pod->object);
    buf_fini(&pod->log);
    free(pod->message);
    free(pod);
}

/* Its object is gone: ends the process, if any, and then itself. */
static void pod_leave(struct pod *pod)
{
    if (!pod->child) {
        pod_free(pod);
        return;
    }
    LIST_REMOVE(pod, others);
    LIST_INSERT_HEAD(&pod->cluster->pods->leaving, pod, others);
    pod->gone = true;
    forget_probe(pod);
    timer_stop(pod->timer);
    pod->timer = NULL;
    child_stop(pod->child);
}

/* Everything of it has ended: the object may go; its deletion brings pod_leave(). */
static void remove_object(struct pod *pod)
{
    struct arena *arena = arena_new();
    if (!pod->cluster->draining)
        context_remove(pod->cluster, arena, KIND_POD, pod->ns, pod->name);
    arena_free(arena);
}

static void on_left(void *arg)
{
    struct pod *pod = arg;
    pod->timer = NULL;
    forget_probe(pod);
    if (pod->child)
        child_stop(pod->child);
    else
        remove_object(pod);
}

static void pod_stop(struct pod *pod)
{
    forget_probe(pod);
    set_state(pod, POD_STOPPING, NULL, NULL);
    later(pod, pod->spec.leave_ms, on_left);
}

/* ---- runs ---- */

static void back_off(struct pod *pod)
{
    int64_t delay = 10;
    if (clock_wall_ms() - pod->view.running_ms > STEADY_MS)
        pod->crashes = 0;
    if (pod->crashes > 0)
        delay = 500LL << (pod->crashes < 7 ? pod->crashes : 7);
    if (delay > MAX_BACKOFF_MS)
        delay = MAX_BACKOFF_MS;
    pod->crashes++;
    forget_probe(pod);
    pod->view.has_last = true;
    pod->view.last_ended_ms = clock_wall_ms();
    pod->view.restarts++;
    char text[128];
    snprintf(text, sizeof(text), "back-off %lldms restarting failed container", (long long)delay);
    set_state(pod, POD_BACKOFF, "CrashLoopBackOff", text);
    later(pod, delay, start);
}

static void on_ended(void *arg, const struct child_result *result)
{
    struct pod *pod = arg;
    pod->child = NULL;
    if (pod->gone) {
        pod_free(pod);
        return;
    }
    pod->view.last_exit = result->exit_status;
    pod->view.last_signal = result->signal;
    if (pod->view.state == POD_STOPPING) {
        if (!pod->timer)
            remove_object(pod);
    } else if (!pod->cluster->draining) {
        log_info("pod_ended", NULL, "a pod's process has ended and will be started again",
                 LOG_STR("pod", pod->name), LOG_STR("namespace", pod->ns),
                 LOG_INT("status", result->exit_status), LOG_INT("signal", result->signal));
        back_off(pod);
    }
}

static void on_output(void *arg, const char *data, size_t len)
{
    struct pod *pod = arg;
    if (len > LOG_KEEP - pod->log.len) /* half at a time: moving it is not free */
        buf_consume(&pod->log, pod->log.len / 2);
    buf_add(&pod->log, data, len < LOG_KEEP / 2 ? len : LOG_KEEP / 2);
}

static struct json_object *look_up(void *arg, struct arena *arena, bool secret, const char *name)
{
    struct pod *pod = arg;
    return context_get(pod->cluster, arena, secret ? KIND_SECRET : KIND_CONFIGMAP, pod->ns, name);
}

/* own: NULL-ended, put before the arguments of the container. */
static const char *const *argv_of(struct arena *arena, struct pod *pod, const char *const *env,
                                  const char *const *own)
{
    const char *const *args = podenv_args(arena, pod->spec.container, env);
    size_t count = 0, extra = 0;
    while (own[count])
        count++;
    while (args[extra])
        extra++;
    const char **argv = arena_array(arena, count + extra + 1, sizeof(*argv));
    memcpy(argv, own, count * sizeof(*own));
    memcpy(argv + count, args, extra * sizeof(*args));
    return argv;
}

static const char *const *app_argv(struct arena *arena, struct pod *pod, const char *const *env)
{
    const char *const own[] = {pod->cluster->options.app,
                               "--address",
                               pod->address,
                               "--port",
                               arena_printf(arena, "%d", pod->spec.port),
                               "--pod",
                               pod->name,
                               "--image",
                               json_str_at(pod->spec.container, "image", NULL),
                               NULL};
    return argv_of(arena, pod, env, own);
}

/* PROGRAM NAMESPACE POD ADDRESS ARGUMENT...; what else it wants to know of the pod, the API tells. */
static const char *const *run_argv(struct arena *arena, struct pod *pod, const char *const *env)
{
    const char *const own[] = {pod->spec.program, pod->ns, pod->name, pod->address, NULL};
    return argv_of(arena, pod, env, own);
}

static void start_process(struct pod *pod)
{
    struct arena *arena = arena_new();
    const struct podenv_in in = {.pod = pod->object,
                                 .container = pod->spec.container,
                                 .address = pod->address,
                                 .lookup = look_up,
                                 .arg = pod};
    const char *const *env;
    struct errinfo ei;

    if (podenv_make(arena, &in, &env, &ei) != ERR_OK) {
        set_state(pod, POD_WAITING, "CreateContainerConfigError", ei.text);
        later(pod, RETRY_MS, start);
        arena_free(arena);
        return;
    }
    const struct child_spec spec = {.argv = pod->spec.program ? run_argv(arena, pod, env)
                                                              : app_argv(arena, pod, env),
                                    .env = env,
                                    .cwd = "/",
                                    .grace_ms = pod->spec.grace_ms > 0 ? pod->spec.grace_ms : 1,
                                    .max_output = 1,
                                    .on_output = on_output};
    pod->child = child_spawn(pod->cluster->loop, &spec, on_ended, pod);
    pod->view.running_ms = clock_wall_ms();
    set_state(pod, POD_RUNNING, NULL, NULL);
    probe_later(pod, pod->spec.initial_delay_ms > 0 ? pod->spec.initial_delay_ms : 30);
    arena_free(arena);
}

static void on_simulated_ready(void *arg)
{
    struct pod *pod = arg;
    pod->timer = NULL;
    set_ready(pod, true);
    write_status(pod);
}

static void on_simulated_crash(void *arg)
{
    struct pod *pod = arg;
    pod->timer = NULL;
    pod->view.last_exit = 1;
    pod->view.last_signal = 0;
    back_off(pod);
}

static void start_simulation(struct pod *pod)
{
    static const char *const text =
        "this container is simulated: only images named demo-app, or by --run, run as processes\n";
    buf_puts(&pod->log, text);
    if (pod->spec.no_image) {
        set_state(pod, POD_WAITING, "ImagePullBackOff", "Back-off pulling image: not found");
        return;
    }
    pod->view.running_ms = clock_wall_ms();
    set_state(pod, POD_RUNNING, NULL, NULL);
    if (pod->spec.crash)
        later(pod, CRASH_AFTER_MS, on_simulated_crash);
    else if (!pod->spec.never_ready)
        later(pod, pod->spec.ready_after_ms, on_simulated_ready);
}

static void start(void *arg)
{
    struct pod *pod = arg;
    pod->timer = NULL;
    pod->failures = pod->successes = 0;
    pod->started = false;
    if (!pod->address[0] && !address_take(&pod->cluster->pod_addresses, pod->address)) {
        set_state(pod, POD_WAITING, "ContainerCreating", "no address is free on this machine");
        later(pod, RETRY_MS, start);
    } else if (pod->spec.container) {
        start_process(pod);
    } else {
        start_simulation(pod);
    }
}

static void pod_new(struct cluster *cluster, struct json_object *obj)
{
    struct errinfo ei;
    struct pod *pod = heap_alloc(sizeof(*pod));
    *pod = (struct pod){.cluster = cluster,
                        .object = json_object_get(obj),
                        .ns = meta_ns(obj),
                        .name = meta_name(obj)};
    buf_init(&pod->log, LOG_KEEP);
    LIST_INSERT_HEAD(&cluster->pods->list, pod, others);
    pod->view.started_ms = pod->view.ready_changed_ms = clock_wall_ms();
    if (podspec_read(obj, cluster->options.runs, &pod->spec, &ei) != ERR_OK) {
        pod->spec.never_ready = true;
        log_warn("pod_annotation", NULL, ei.text, LOG_STR("pod", pod->name),
                 LOG_STR("namespace", pod->ns));
    }
    struct json_object *first = json_elem(json_at(obj, "spec", "containers", NULL), 0);
    pod->view.container =
        json_str_at(pod->spec.container ? pod->spec.container : first, "name", NULL);
    start(pod);
}

static struct pod *find(struct pods *pods, const char *ns, const char *name)
{
    struct pod *pod = LIST_FIRST(&pods->list);
    while (pod && (strcmp(pod->name, name) != 0 || strcmp(pod->ns, ns) != 0))
        pod = LIST_NEXT(pod, others);
    return pod;
}

/* What a scheduler does. */
static bool schedule(struct cluster *cluster, struct arena *arena, const char *ns, const char *name)
{
    const char *node = node_in_turn(cluster, arena, 0);
    if (node)
        context_merge(cluster, arena, KIND_POD, ns, name,
                      form(arena, "{spec: {nodeName: %s}}", node));
    else
        context_queue_after(cluster, pods_sync, ns, name, RETRY_MS);
    return node != NULL;
}

void pods_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct cluster *cluster = arg;
    struct json_object *obj = context_get(cluster, arena, KIND_POD, ns, name);
    struct pod *pod = find(cluster->pods, ns, name);

    if (pod && (!obj || strcmp(meta_uid(pod->object), meta_uid(obj)) != 0)) {
        pod_leave(pod);
        pod = NULL;
    }
    if (!obj)
        return;
    if (!json_str_at(obj, "spec", "nodeName", NULL) && !schedule(cluster, arena, ns, name))
        return;
    if (!pod && meta_deleting(obj))
        context_remove(cluster, arena, KIND_POD, ns, name);
    else if (!pod)
        pod_new(cluster, obj);
    else if (meta_deleting(obj) && pod->view.state != POD_STOPPING)
        pod_stop(pod);
}

struct pods *pods_new(struct cluster *cluster)
{
    struct pods *pods = heap_alloc(sizeof(*pods));
    *pods = (struct pods){.cluster = cluster};
    objstore_graceful(cluster->store, cluster->kinds[KIND_POD]);
    return pods;
}

void pods_stop(struct pods *pods)
{
    while (!LIST_EMPTY(&pods->list))
        pod_leave(LIST_FIRST(&pods->list));
}

void pods_free(struct pods *pods)
{
    while (pods && !LIST_EMPTY(&pods->list))
        pod_free(LIST_FIRST(&pods->list));
    while (pods && !LIST_EMPTY(&pods->leaving))
        pod_free(LIST_FIRST(&pods->leaving));
    free(pods);
}

void pods_log(struct pods *pods, const char *ns, const char *name, struct buf *out)
{
    struct pod *pod = find(pods, ns, name);
    if (pod)
        buf_add(out, pod->log.data, pod->log.len);
}
