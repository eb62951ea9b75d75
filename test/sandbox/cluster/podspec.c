#include "cluster/podspec.h"

#include <string.h>

#include "app/behaviour.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "object/form.h"
#include "object/meta.h"

#define READY_AFTER "sandbox.flagger.app/ready-after"
#define NEVER_READY "sandbox.flagger.app/never-ready"
#define CRASH       "sandbox.flagger.app/crash"
#define NO_IMAGE    "sandbox.flagger.app/no-image"

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

/* The first container that is a process. */
static void find_process(struct json_object *pod, const struct podrun *runs, struct podspec *out)
{
    struct json_object *containers = json_at(pod, "spec", "containers", NULL);
    for (size_t i = 0; i < json_len(containers) && !out->container; i++) {
        struct json_object *one = json_elem(containers, i);
        const char *image = json_str_at(one, "image", NULL);
        if (behaviour_is_demo(image))
            out->container = one;
        for (const struct podrun *run = runs; run && run->image && !out->container; run++) {
            if (!behaviour_is_named(image, run->image))
                continue;
            out->container = one;
            out->program = run->program;
        }
    }
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

enum err podspec_read(struct json_object *pod, const struct podrun *runs, struct podspec *out,
                      struct errinfo *ei)
{
    const char *after = meta_annotation(pod, READY_AFTER);

    *out = (struct podspec){.port = APP_PORT,
                            .ready_after_ms = READY_AFTER_MS,
                            .never_ready = is_true(pod, NEVER_READY),
                            .crash = is_true(pod, CRASH),
                            .no_image = is_true(pod, NO_IMAGE)};
    find_process(pod, runs, out);
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
    return form(arena,
                "{phase: %s, conditions: ["
                "{type: Initialized, status: 'True', lastTransitionTime: %s}, "
                "{type: Ready, status: %s, lastTransitionTime: %s, reason: %s}, "
                "{type: ContainersReady, status: %s, lastTransitionTime: %s, reason: %s}, "
                "{type: PodScheduled, status: 'True', lastTransitionTime: %s}], "
                "hostIP: 127.0.0.1, podIP: %s, podIPs: [{ip: %s}], startTime: %s, "
                "containerStatuses: %p}",
                in->state == POD_WAITING ? "Pending" : "Running", start, ready, since, reason,
                ready, since, reason, start, in->address, in->address, start, statuses);
}

/* ---- the environment ---- */

enum { MAX_VALUE = 128 * 1024 };

struct build {
    struct arena *arena;
    const struct podenv_in *in;
    struct json_object *vars; /* name -> value, in order of definition */
};

/* $(NAME) becomes the value of an earlier variable, $$ a dollar; unknown names stay as they are. */
static const char *expand(struct arena *arena, struct json_object *vars, const char *text)
{
    struct buf out;
    buf_init(&out, MAX_VALUE);
    while (*text) {
        const char *end = text[0] == '$' && text[1] == '(' ? strchr(text, ')') : NULL;
        const char *value =
            end ? json_str_at(vars, arena_strndup(arena, text + 2, (size_t)(end - text - 2)), NULL)
                : NULL;
        if (value) {
            buf_puts(&out, value);
            text = end + 1;
        } else {
            if (text[0] == '$' && text[1] == '$')
                text++;
            buf_add(&out, text++, 1);
        }
    }
    const char *result = arena_strdup(arena, out.data);
    buf_fini(&out);
    return result;
}

static const char *data_of(struct arena *arena, struct json_object *obj, bool secret,
                           const char *key)
{
    const char *text = json_str_at(obj, "data", key, NULL);
    if (!text || !secret)
        return text;
    char *plain;
    return base64_decode(arena, text, &plain, NULL, NULL) == ERR_OK ? plain : NULL;
}

/* The object that a reference names, of the pod's namespace; NULL when there is none. */
static struct json_object *look_up(struct build *b, struct json_object *ref, bool secret)
{
    const char *name = json_str_at(ref, "name", NULL);
    return name ? b->in->lookup(b->in->arg, b->arena, secret, name) : NULL;
}

static enum err missing(const char *what, struct json_object *ref, struct errinfo *ei)
{
    const char *name = json_str_at(ref, "name", NULL);
    if (json_bool_at(ref, false, "optional", NULL))
        return ERR_OK;
    return err_set(ei, ERR_NOT_FOUND, "%s \"%s\" not found", what, name ? name : "");
}

static enum err from_key(struct build *b, const char *name, struct json_object *ref, bool secret,
                         struct errinfo *ei)
{
    const char *what = secret ? "secret" : "configmap", *key = json_str_at(ref, "key", NULL);
    struct json_object *obj = look_up(b, ref, secret);
    const char *value = obj && key ? data_of(b->arena, obj, secret, key) : NULL;
    if (value)
        json_set_str(b->vars, name, value);
    if (value || !obj || json_bool_at(ref, false, "optional", NULL))
        return value ? ERR_OK : missing(what, ref, ei);
    return err_set(ei, ERR_NOT_FOUND, "couldn't find key %s in %s %s/%s", key ? key : "", what,
                   meta_ns(b->in->pod), json_str_at(ref, "name", NULL));
}

/* The address is not in the pod yet, when its process is started. */
static enum err from_field(struct build *b, const char *name, struct json_object *ref)
{
    const char *path = json_str_at(ref, "fieldPath", NULL);
    bool address = path && strcmp(path, "status.podIP") == 0;
    struct json_object *value = path ? jsonpath_first(b->arena, b->in->pod, path) : NULL;
    json_set_str(b->vars, name, address ? b->in->address : json_object_get_string(value) ?: "");
    return ERR_OK;
}

static enum err add_var(struct build *b, struct json_object *var, struct errinfo *ei)
{
    const char *name = json_str_at(var, "name", NULL), *value = json_str_at(var, "value", NULL);
    struct json_object *from = json_at(var, "valueFrom", NULL), *ref;

    if (!name)
        return err_set(ei, ERR_INVALID, "a variable without a name");
    if ((ref = json_at(from, "configMapKeyRef", NULL)))
        return from_key(b, name, ref, false, ei);
    if ((ref = json_at(from, "secretKeyRef", NULL)))
        return from_key(b, name, ref, true, ei);
    if ((ref = json_at(from, "fieldRef", NULL)))
        return from_field(b, name, ref);
    json_set_str(b->vars, name, expand(b->arena, b->vars, value ? value : ""));
    return ERR_OK;
}

static enum err add_all(struct build *b, struct json_object *source, struct errinfo *ei)
{
    struct json_object *ref = json_at(source, "configMapRef", NULL);
    bool secret = !ref;
    ref = secret ? json_at(source, "secretRef", NULL) : ref;
    const char *prefix = json_str_at(source, "prefix", NULL);
    struct json_object *obj = look_up(b, ref, secret), *data = json_at(obj, "data", NULL);

    if (!obj)
        return missing(secret ? "secret" : "configmap", ref, ei);
    if (!data)
        return ERR_OK;
    json_object_object_foreach(data, key, unused)
    {
        (void)unused;
        json_set_str(b->vars, arena_printf(b->arena, "%s%s", prefix ? prefix : "", key),
                     data_of(b->arena, obj, secret, key));
    }
    return ERR_OK;
}

enum err podenv_make(struct arena *arena, const struct podenv_in *in, const char *const **env,
                     struct errinfo *ei)
{
    struct build b = {.arena = arena, .in = in, .vars = json_own(arena, json_object_new_object())};
    struct json_object *sources = json_at(in->container, "envFrom", NULL);
    struct json_object *vars = json_at(in->container, "env", NULL);
    enum err err = ERR_OK;

    json_set_str(b.vars, "HOSTNAME", meta_name(in->pod));
    for (size_t i = 0; i < json_len(sources) && err == ERR_OK; i++)
        err = add_all(&b, json_elem(sources, i), ei);
    for (size_t i = 0; i < json_len(vars) && err == ERR_OK; i++)
        err = add_var(&b, json_elem(vars, i), ei);
    if (err != ERR_OK)
        return err;

    size_t count = (size_t)json_object_object_length(b.vars), at = 0;
    const char **list = arena_array(arena, count + 1, sizeof(*list));
    json_object_object_foreach(b.vars, key, value) list[at++] =
        arena_printf(arena, "%s=%s", key, json_object_get_string(value));
    *env = list;
    return ERR_OK;
}

const char *const *podenv_args(struct arena *arena, struct json_object *container,
                               const char *const *env)
{
    struct json_object *args = json_at(container, "args", NULL);
    struct json_object *vars = json_own(arena, json_object_new_object());
    const char **list = arena_array(arena, json_len(args) + 1, sizeof(*list));

    for (size_t i = 0; env[i]; i++) {
        const char *eq = strchr(env[i], '=');
        json_set_str(vars, arena_strndup(arena, env[i], (size_t)(eq - env[i])), eq + 1);
    }
    for (size_t i = 0; i < json_len(args); i++) {
        const char *text = json_object_get_string(json_elem(args, i));
        list[i] = expand(arena, vars, text ? text : "");
    }
    return list;
}
