#include "loadtester/load/loads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/log.h"

/* READ_MS: time to read one log. WAITS: number of times that the pods of an ended object are
 * checked until all of them have ended. */
enum {
    READ_MS = 300 * 1000,
    IDLE_MS = 30 * 1000,
    RETRY_MS = 1000,
    ATTEMPTS = 3,
    WAITS = 30,
    MARGIN_MS = 600 * 1000,
    MAX_LISTED = 4096,
    NAMED = 5 /* number of faults shown in the message */
};

struct load_pod {
    char *name, *why; /* why: reason of a failed pod */
    int index;        /* completion index, -1 if none */
    bool ended, good;
};

static const char *const state_names[] = {"creating",  "running", "reading",
                                          "succeeded", "failed",  "refused"};

bool load_run_ended(const struct load_run *run)
{
    return run->state >= LOAD_SUCCEEDED;
}

/* --- memory */

static void free_pods(struct load_run *run)
{
    for (int i = 0; i < run->n_pods; i++) {
        free(run->pods[i].name);
        free(run->pods[i].why);
    }
    free(run->pods);
    run->pods = NULL;
    run->n_pods = 0;
}

static void destroy(struct load_run *run)
{
    results_free(run->results);
    free_pods(run);
    free(run->message);
    arena_free(run->arena);
    free(run);
}

void load_run_free(struct load_run *run)
{
    if (!run)
        return;
    timer_stop(run->timer);
    run->timer = NULL;
    run->dropped = true;
    if (run->call)
        kube_cancel(run->call); /* its done frees it */
    else
        destroy(run);
}

/* True if the run was dropped while the call was in progress: it has been freed then. */
static bool call_ended(struct load_run *run)
{
    bool dropped = run->dropped;

    run->call = NULL;
    if (dropped)
        destroy(run);
    return dropped;
}

/* --- states */

static void set_message(struct load_run *run, const char *text)
{
    free(run->message);
    run->message = heap_strdup(text);
}

static const char *canary_of(struct arena *arena, const struct load_order *order)
{
    return arena_printf(arena, "%s.%s", order->canary_name, order->canary_namespace);
}

static void set_state(struct load_run *run, enum load_state state, const char *message)
{
    struct arena *arena = arena_new();
    const char *canary = canary_of(arena, &run->order);

    run->state = state;
    set_message(run, message);
    if (load_run_ended(run))
        run->ended_ms = clock_wall_ms();
    if (state == LOAD_FAILED || state == LOAD_REFUSED)
        log_warn("load_failed", canary, message, LOG_STR("object", run->order.name),
                 LOG_STR("step", run->order.step));
    else
        log_info(state == LOAD_SUCCEEDED ? "load_finished" : "load_state", canary, message,
                 LOG_STR("object", run->order.name), LOG_STR("state", state_names[state]));
    arena_free(arena);
    run->on_change(run->arg, run);
}

static void fail(struct load_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void fail(struct load_run *run, const char *fmt, ...)
{
    struct arena *arena = arena_new();
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(arena, fmt, args);
    va_end(args);
    set_state(run, LOAD_FAILED, text);
    arena_free(arena);
}

/* --- logs */

static void read_next(struct load_run *run);

static void note_fault(struct load_run *run, const char *text)
{
    struct arena *arena = arena_new();

    if (run->faults < NAMED)
        set_message(run, arena_printf(arena, "%s%s%s", run->faults ? run->message : "",
                                      run->faults ? "; " : "", text));
    run->faults++;
    arena_free(arena);
}

static void finish(struct load_run *run)
{
    struct arena *arena = arena_new();
    const char *of =
        arena_printf(arena, "%d of %lld pods counted", run->counted, (long long)run->order.pods);

    if (run->faults > NAMED)
        of = arena_printf(arena, "%s, %d faults", of, run->faults);
    if (run->faults == 0 && run->counted < run->order.pods)
        note_fault(run, "the other pods are gone with their logs");
    if (run->faults > 0)
        set_state(run, LOAD_FAILED, arena_printf(arena, "%s: %s", of, run->message));
    else
        set_state(run, LOAD_SUCCEEDED, of);
    free_pods(run);
    arena_free(arena);
}

static bool on_log(void *arg, const char *data, size_t len)
{
    struct load_run *run = arg;

    run->log_bytes += (int64_t)len;
    return run->log_bytes <= run->context->policy->max_log_bytes &&
           results_add(run->results, data, len);
}

static void retry_log(void *arg)
{
    struct load_run *run = arg;

    run->timer = NULL;
    read_next(run);
}

/* NULL if the pod was counted, else the reason. */
static const char *count_pod(struct load_run *run, struct arena *arena,
                             const struct kube_result *result)
{
    struct load_counts *counts = arena_alloc(arena, sizeof(*counts));
    struct errinfo info = {0};

    if (run->log_bytes > run->context->policy->max_log_bytes)
        return arena_printf(arena, "its log is longer than %lld bytes (--job-log-bytes)",
                            (long long)run->context->policy->max_log_bytes);
    if (result->err != ERR_OK && result->err != ERR_CANCELLED)
        return arena_strdup(arena, result->info->text);
    if (results_end(run->results, counts, &info) != ERR_OK)
        return arena_strdup(arena, info.text);
    load_counts_merge(&run->counts, counts);
    run->counted++;
    return NULL;
}

static void on_log_end(void *arg, const struct kube_result *result)
{
    struct load_run *run = arg;
    struct arena *arena;

    if (call_ended(run))
        return;
    if (result->err == ERR_RETRY && ++run->attempts < ATTEMPTS) {
        run->timer = timer_start(run->context->loop, RETRY_MS, 0, retry_log, run);
        return;
    }
    arena = arena_new();
    const char *why = count_pod(run, arena, result);
    if (why)
        note_fault(run, arena_printf(arena, "pod %s: %s", run->pods[run->at_pod].name, why));
    arena_free(arena);
    run->at_pod++;
    run->attempts = 0;
    read_next(run);
}

static void read_log(struct load_run *run, const struct load_pod *pod)
{
    struct arena *arena = arena_new();
    const char *container = run->order.container;
    const char *path =
        kube_path(arena, &load_pods, run->context->policy->namespace_, pod->name, "log");

    if (container)
        path = arena_printf(arena, "%s?container=%s", path, url_encode(arena, container));
    results_free(run->results);
    run->results = results_new(run->order.format);
    run->log_bytes = 0;
    run->call = kube_send(run->context->kube,
                          &(struct kube_request){.verb = KUBE_GET,
                                                 .raw_path = path,
                                                 .on_data = on_log,
                                                 .timeout_ms = READ_MS,
                                                 .idle_timeout_ms = IDLE_MS},
                          on_log_end, run);
    arena_free(arena);
}

/* True if a pod of this index has succeeded: the failed one was repeated. */
static bool was_repeated(const struct load_run *run, const struct load_pod *pod)
{
    for (int i = 0; i < run->n_pods; i++) {
        const struct load_pod *other = &run->pods[i];
        if (pod->index >= 0 && other->good && other->index == pod->index)
            return true;
    }
    return false;
}

static void read_next(struct load_run *run)
{
    struct arena *arena = arena_new();

    while (run->at_pod < run->n_pods) {
        const struct load_pod *pod = &run->pods[run->at_pod];
        if (pod->good) {
            read_log(run, pod);
            break;
        }
        if (!was_repeated(run, pod))
            note_fault(run, arena_printf(arena, "pod %s failed: %s", pod->name,
                                         pod->why ? pod->why : "no reason is given"));
        run->at_pod++;
    }
    arena_free(arena);
    if (run->at_pod == run->n_pods)
        finish(run);
}

/* --- pods */

static char *why_failed(struct json_object *status)
{
    const char *reason = json_str_at(status, "reason", NULL);
    struct json_object *list = json_at(status, "containerStatuses", NULL);

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *end = json_at(json_elem(list, i), "state", "terminated", NULL);
        int64_t code = json_int_at(end, 0, "exitCode", NULL);
        if (code != 0)
            return heap_printf("exit status %lld of container %.80s", (long long)code,
                               json_str_at(json_elem(list, i), "name", NULL));
    }
    return reason ? heap_printf("%.80s", reason) : NULL;
}

static bool on_pod(void *arg, struct json_object *item, bool whole)
{
    struct load_run *run = arg;
    struct json_object *metadata = json_at(item, "metadata", NULL);
    const char *name = json_str_at(metadata, "name", NULL);
    const char *index =
        json_str_at(metadata, "annotations", "batch.kubernetes.io/job-completion-index", NULL);
    const char *phase = json_str_at(item, "status", "phase", NULL);

    if (run->dropped || !name || run->n_pods >= MAX_LISTED)
        return !run->dropped;
    run->pods = heap_grow(run->pods, (size_t)(run->n_pods + 1) * sizeof(*run->pods));
    struct load_pod *pod = &run->pods[run->n_pods++];
    *pod = (struct load_pod){.name = heap_strdup(name),
                             .index = index ? (int)strtol(index, NULL, 10) : -1};
    bool failed = phase && strcmp(phase, "Failed") == 0;
    pod->good = whole && phase && strcmp(phase, "Succeeded") == 0;
    pod->ended = pod->good || failed || !whole;
    pod->why = failed ? why_failed(json_at(item, "status", NULL)) : NULL;
    return true;
}

static void list_pods(void *arg);

static bool all_ended(const struct load_run *run)
{
    for (int i = 0; i < run->n_pods; i++) {
        if (!run->pods[i].ended)
            return false;
    }
    return true;
}

static void on_pods(void *arg, const struct kube_result *result)
{
    struct load_run *run = arg;

    if (call_ended(run))
        return;
    bool again = result->err == ERR_RETRY || (result->err == ERR_OK && !all_ended(run));
    if (again && ++run->waits < WAITS) {
        run->timer = timer_start(run->context->loop, RETRY_MS, 0, list_pods, run);
        return;
    }
    if (result->err != ERR_OK) {
        fail(run, "its pods cannot be listed: %s", result->info->text);
        return;
    }
    run->at_pod = run->counted = run->faults = 0;
    run->counts = (struct load_counts){0};
    read_next(run);
}

static void list_pods(void *arg)
{
    struct load_run *run = arg;
    struct arena *arena = arena_new();
    const char *selector = run->order.resource == &load_jobs
                               ? arena_printf(arena, "job-name=%s", run->order.name)
                               : arena_printf(arena, "k6_cr=%s,runner=true", run->order.name);

    run->timer = NULL;
    free_pods(run);
    run->call = kube_send(run->context->kube,
                          &(struct kube_request){.verb = KUBE_LIST,
                                                 .resource = &load_pods,
                                                 .namespace_ = run->context->policy->namespace_,
                                                 .query = arena_printf(arena, "labelSelector=%s",
                                                                       url_encode(arena, selector)),
                                                 .on_item = on_pod},
                          on_pods, run);
    arena_free(arena);
}

static void begin_reading(struct load_run *run)
{
    run->waits = 0;
    set_state(run, LOAD_READING, "it has ended, the logs of its pods are read");
    list_pods(run);
}

/* --- the object */

static void look(void *arg);

static void look_later(struct load_run *run)
{
    run->timer = timer_start(run->context->loop, run->context->poll_ms, 0, look, run);
}

static struct json_object *condition(struct json_object *object, const char *type)
{
    struct json_object *list = json_at(object, "status", "conditions", NULL);
    struct json_object *found = json_find(list, "type", type, NULL);
    const char *status = json_str_at(found, "status", NULL);

    return status && strcmp(status, "True") == 0 ? found : NULL;
}

static void see_job(struct load_run *run, struct arena *arena, struct json_object *job)
{
    struct json_object *failed = condition(job, "Failed");
    const char *reason = json_str_at(failed, "reason", NULL);

    if (failed && reason && strcmp(reason, "DeadlineExceeded") == 0) {
        fail(run, "it took longer than its activeDeadlineSeconds, and its pods were ended");
    } else if (failed || condition(job, "Complete")) {
        begin_reading(run);
    } else {
        set_message(run, arena_printf(arena, "%lld of %lld pods have ended, %lld run",
                                      (long long)json_int_at(job, 0, "status", "succeeded", NULL),
                                      (long long)run->order.pods,
                                      (long long)json_int_at(job, 0, "status", "active", NULL)));
        look_later(run);
    }
}

/* A TestRun has no deadline of its own. */
static bool is_late(const struct load_run *run, struct json_object *object)
{
    const char *created = json_str_at(object, "metadata", "creationTimestamp", NULL);
    int64_t at;

    return created && clock_parse(created, &at, NULL) == ERR_OK &&
           clock_wall_ms() - at > run->context->policy->max_duration_ms + MARGIN_MS;
}

static void see_testrun(struct load_run *run, struct arena *arena, struct json_object *object)
{
    const char *stage = json_str_at(object, "status", "stage", NULL);

    if (stage && strcmp(stage, "finished") == 0) {
        begin_reading(run);
    } else if (stage && strcmp(stage, "error") == 0) { /* "stopped" comes before "finished" */
        fail(run, "the TestRun %s has ended in the stage %s", run->order.name, stage);
    } else if (is_late(run, object)) {
        load_sweep(run->context, run->order.resource, &run->order, false, NULL, NULL);
        fail(run, "it took longer than --job-max-duration, and was deleted");
    } else {
        set_message(run, arena_printf(arena, "the TestRun is in the stage %.40s",
                                      stage && *stage ? stage : "(none)"));
        look_later(run);
    }
}

static bool is_ours(const struct load_run *run, struct json_object *object)
{
    const char *label = json_str_at(object, "metadata", "labels", LOAD_LABEL_CANARY, NULL);

    return label && strcmp(label, run->order.of_canary) == 0;
}

static void on_object(void *arg, const struct kube_result *result)
{
    struct load_run *run = arg;

    if (call_ended(run))
        return;
    run->gone = result->err == ERR_NOT_FOUND;
    if (run->gone)
        fail(run, "%s %s was deleted before its end", run->order.resource->kind, run->order.name);
    else if (result->err == ERR_DENIED)
        fail(run, "it cannot be watched: %s", result->info->text);
    else if (result->err != ERR_OK)
        look_later(run);
    else if (!is_ours(run, result->body))
        fail(run, "another %s has the name %s", run->order.resource->kind, run->order.name);
    else if (run->order.resource == &load_jobs)
        see_job(run, result->arena, result->body);
    else
        see_testrun(run, result->arena, result->body);
}

static void look(void *arg)
{
    struct load_run *run = arg;

    run->timer = NULL;
    run->call = kube_send(run->context->kube,
                          &(struct kube_request){.verb = KUBE_GET,
                                                 .resource = run->order.resource,
                                                 .namespace_ = run->context->policy->namespace_,
                                                 .name = run->order.name},
                          on_object, run);
}

static void create(void *arg);

/* A creation without an answer may have succeeded: because of the name, it succeeds at most
 * once. */
static void on_created(void *arg, const struct kube_result *result)
{
    struct load_run *run = arg;
    struct arena *arena;

    if (call_ended(run))
        return;
    if (result->err == ERR_RETRY && ++run->attempts < ATTEMPTS) {
        run->timer = timer_start(run->context->loop, RETRY_MS, 0, create, run);
        return;
    }
    run->attempts = 0;
    run->adopted = result->err == ERR_CONFLICT && result->status == 409;
    if (result->err == ERR_OK || run->adopted) {
        set_state(run, LOAD_RUNNING,
                  run->adopted ? "it was there already, and is watched" : "its pods are created");
        look(run);
        return;
    }
    arena = arena_new();
    set_state(run, LOAD_REFUSED,
              arena_printf(arena, "the %s was not created in namespace %s%s: %s",
                           run->order.resource->kind, run->context->policy->namespace_,
                           result->status == 403 ? ", the load tester needs a Role there" : "",
                           result->info->text));
    arena_free(arena);
}

static void create(void *arg)
{
    struct load_run *run = arg;

    run->timer = NULL;
    run->call = kube_send(run->context->kube,
                          &(struct kube_request){.verb = KUBE_CREATE,
                                                 .resource = run->order.resource,
                                                 .namespace_ = run->context->policy->namespace_,
                                                 .body = run->order.object},
                          on_created, run);
}

struct load_run *load_run_new(struct load_context *context, struct arena *arena,
                              const struct load_order *order,
                              void (*on_change)(void *arg, struct load_run *run), void *arg)
{
    struct load_run *run = heap_alloc(sizeof(*run));

    *run = (struct load_run){.context = context,
                             .arena = arena,
                             .order = *order,
                             .message = heap_strdup("it is created"),
                             .created_ms = clock_wall_ms(),
                             .on_change = on_change,
                             .arg = arg};
    create(run);
    return run;
}

/* --- figures */

double load_run_ms(const struct load_run *run, double percent)
{
    double seconds = histogram_percentile(&run->counts.times, percent);

    return seconds < 0 ? -1 : seconds * 1000;
}

static void set_figure(struct json_object *out, const char *key, double value)
{
    struct arena *arena = arena_new();

    if (value >= 0)
        json_object_object_add(out, key,
                               json_object_new_double_s(value, arena_printf(arena, "%.6g", value)));
    arena_free(arena);
}

static void set_figures(const struct load_run *run, struct json_object *out)
{
    const struct load_counts *counts = &run->counts;

    json_set_int(out, "requests", counts->requests);
    json_set_int(out, "failures", counts->failures);
    if (counts->requests > 0)
        set_figure(out, "failureRate", 100.0 * (double)counts->failures / (double)counts->requests);
    set_figure(out, "p50", load_run_ms(run, 50));
    set_figure(out, "p90", load_run_ms(run, 90));
    set_figure(out, "p95", load_run_ms(run, 95));
    set_figure(out, "p99", load_run_ms(run, 99));
    set_figure(out, "max", load_run_ms(run, 100));
}

struct json_object *load_run_json(const struct load_run *run)
{
    struct json_object *out = json_object_new_object();
    char time[CLOCK_TEXT];

    json_set_str(out, "state", state_names[run->state]);
    if (load_run_ended(run) && run->counted > 0)
        set_figures(run, out);
    json_set_str(out, "message", run->message);
    json_set_int(out, "pods", run->order.pods);
    json_set_str(out, "step", run->order.step);
    json_set_str(out, "kind", run->order.resource->kind);
    json_set_str(out, "object", run->order.name);
    json_set_str(out, "template", run->order.template_);
    json_set_str(out, "canary", run->order.canary_name);
    json_set_str(out, "namespace", run->order.canary_namespace);
    json_set_str(out, "checksum", run->order.checksum);
    json_set_str(out, "created", clock_rfc3339(run->created_ms, time));
    if (run->ended_ms)
        json_set_str(out, "ended", clock_rfc3339(run->ended_ms, time));
    return out;
}

/* --- deletion */

struct sweep {
    struct load_context context; /* a copy: it may outlive the context of all load tests */
    struct arena *arena;
    const struct kube_resource *resource;
    char of_release[LOAD_HASH];
    bool older;
    int calls;
    const char *why; /* the first failure, NULL if none */
    load_swept_fn done;
    void *arg;
};

static void sweep_end(struct sweep *sweep, const struct kube_result *result)
{
    if (result->err != ERR_OK && result->err != ERR_NOT_FOUND && result->err != ERR_CANCELLED)
        log_warn("load_not_deleted", NULL, result->info->text);
    if (result->err != ERR_OK && result->err != ERR_NOT_FOUND && !sweep->why)
        sweep->why = arena_strdup(sweep->arena, result->info->text);
    if (--sweep->calls > 0)
        return;
    if (sweep->done)
        sweep->done(sweep->arg, sweep->why);
    arena_free(sweep->arena);
    free(sweep);
}

static void on_deleted(void *arg, const struct kube_result *result)
{
    sweep_end(arg, result);
}

static bool has_ended(struct json_object *item)
{
    const char *stage = json_str_at(item, "status", "stage", NULL);

    return condition(item, "Complete") || condition(item, "Failed") ||
           (stage && strcmp(stage, "finished") == 0);
}

static bool on_swept(void *arg, struct json_object *item, bool whole)
{
    struct sweep *sweep = arg;
    struct json_object *metadata = json_at(item, "metadata", NULL);
    const char *name = json_str_at(metadata, "name", NULL);
    const char *release = json_str_at(metadata, "labels", LOAD_LABEL_RELEASE, NULL);
    bool same_release = release && strcmp(release, sweep->of_release) == 0;

    (void)whole;
    if (!name || (sweep->older && same_release && has_ended(item)))
        return true; /* results of an earlier step, kept for people */
    sweep->calls++;
    (void)kube_send(sweep->context.kube,
                    &(struct kube_request){.verb = KUBE_DELETE,
                                           .resource = sweep->resource,
                                           .namespace_ = sweep->context.policy->namespace_,
                                           .name = name,
                                           .query = "propagationPolicy=Background"},
                    on_deleted, sweep);
    return true;
}

void load_sweep(struct load_context *context, const struct kube_resource *resource,
                const struct load_order *order, bool older, load_swept_fn done, void *arg)
{
    struct sweep *sweep = heap_alloc(sizeof(*sweep));
    struct arena *arena = arena_new();
    const char *selector =
        older ? arena_printf(arena, LOAD_LABEL_CANARY "=%s," LOAD_LABEL_STEP "!=%s",
                             order->of_canary, order->of_step)
              : arena_printf(arena, LOAD_LABEL_CANARY "=%s", order->of_canary);

    *sweep = (struct sweep){.context = *context,
                            .arena = arena,
                            .resource = resource,
                            .older = older,
                            .calls = 1,
                            .done = done,
                            .arg = arg};
    memcpy(sweep->of_release, order->of_release, LOAD_HASH);
    (void)kube_send(context->kube,
                    &(struct kube_request){.verb = KUBE_LIST,
                                           .resource = resource,
                                           .namespace_ = context->policy->namespace_,
                                           .query = arena_printf(arena, "labelSelector=%s",
                                                                 url_encode(arena, selector)),
                                           .on_item = on_swept},
                    on_deleted, sweep);
}

/* --- all load tests */

struct loads_waiter {
    struct loads_waiter *next;
    loads_fn fn;
    void *arg;
};

struct item {
    TAILQ_ENTRY(item) link;
    struct loads *loads;
    struct load_run *run;
    struct loads_waiter *waiters;
    int n_waiters;
    bool over; /* its release has ended: kept only for lists */
    bool ends; /* its release has ended: the object is deleted as soon as it is created */
};

struct loads {
    struct load_context context;
    TAILQ_HEAD(items, item) items; /* newest first */
    int count;
};

struct loads *loads_new(struct loop *loop, struct kube_client *kube,
                        const struct load_policy *policy, int64_t poll_ms)
{
    struct loads *loads = heap_alloc(sizeof(*loads));

    *loads = (struct loads){
        .context = {.loop = loop, .kube = kube, .policy = policy, .poll_ms = poll_ms}};
    TAILQ_INIT(&loads->items);
    return loads;
}

static void call_waiters(struct item *item, const struct load_run *run)
{
    struct loads_waiter *next, *waiter = item->waiters;

    item->waiters = NULL;
    item->n_waiters = 0;
    for (; waiter; waiter = next) {
        next = waiter->next;
        waiter->fn(waiter->arg, run);
        free(waiter);
    }
}

static void drop(struct loads *loads, struct item *item)
{
    TAILQ_REMOVE(&loads->items, item, link);
    loads->count--;
    call_waiters(item, NULL);
    load_run_free(item->run);
    free(item);
}

void loads_stop(struct loads *loads)
{
    struct item *item;

    while (loads && (item = TAILQ_FIRST(&loads->items)))
        drop(loads, item);
}

void loads_free(struct loads *loads)
{
    loads_stop(loads);
    free(loads);
}

/* --- questions */

static struct item *find(const struct loads *loads, const char *name)
{
    struct item *item;

    TAILQ_FOREACH(item, &loads->items, link)
    {
        if (!item->over && !item->ends && strcmp(item->run->order.name, name) == 0)
            return item;
    }
    return NULL;
}

static struct item *find_run(const struct loads *loads, const struct load_run *run)
{
    struct item *item;

    TAILQ_FOREACH(item, &loads->items, link)
    {
        if (item->run == run)
            return item;
    }
    return NULL;
}

/* Only now is it certain that there is a new step: load tests of older steps that still run are
 * ended. */
static void on_change(void *arg, struct load_run *run)
{
    struct item *item = arg;

    if (run->state == LOAD_RUNNING && (item->ends || !run->adopted))
        load_sweep(&item->loads->context, run->order.resource, &run->order, !item->ends, NULL,
                   NULL);
    item->over = item->over || (item->ends && run->state != LOAD_CREATING);
    call_waiters(item, run);
}

static bool make_room(struct loads *loads)
{
    struct item *item;

    if (loads->count < LOADS_KEPT)
        return true;
    TAILQ_FOREACH_REVERSE(item, &loads->items, items, link)
    {
        if (load_run_ended(item->run)) {
            drop(loads, item);
            return true;
        }
    }
    return false;
}

static int running_in(const struct loads *loads, const char *namespace_)
{
    const struct item *item;
    int n = 0;

    TAILQ_FOREACH(item, &loads->items, link)
    {
        n += !load_run_ended(item->run) &&
             strcmp(item->run->order.canary_namespace, namespace_) == 0;
    }
    return n;
}

const struct load_run *loads_ask(struct loads *loads, struct arena *arena,
                                 const struct load_order *order, const char **full)
{
    struct item *item = find(loads, order->name);

    *full = NULL;
    if (item) {
        arena_free(arena);
        return item->run;
    }
    if (running_in(loads, order->canary_namespace) >= LOADS_PER_NAMESPACE || !make_room(loads)) {
        *full = "too many load tests run already";
        arena_free(arena);
        return NULL;
    }
    item = heap_alloc(sizeof(*item));
    *item = (struct item){.loads = loads};
    TAILQ_INSERT_HEAD(&loads->items, item, link);
    loads->count++;
    item->run = load_run_new(&loads->context, arena, order, on_change, item);
    return item->run;
}

bool loads_wait(struct loads *loads, const struct load_run *run, loads_fn fn, void *arg)
{
    struct item *item = find_run(loads, run);

    if (!item || item->n_waiters >= LOADS_MAX_WAITERS)
        return false;
    struct loads_waiter *waiter = heap_alloc(sizeof(*waiter));
    *waiter = (struct loads_waiter){.next = item->waiters, .fn = fn, .arg = arg};
    item->waiters = waiter;
    item->n_waiters++;
    return true;
}

void loads_answered(struct loads *loads, const struct load_run *run)
{
    struct item *item = find_run(loads, run);

    if (item && (run->state == LOAD_REFUSED || run->gone))
        item->over = true;
}

void loads_end(struct loads *loads, const struct load_order *order, load_swept_fn done, void *arg)
{
    struct item *item, *next;

    load_sweep(&loads->context, order->resource, order, false, done, arg);
    for (item = TAILQ_FIRST(&loads->items); item; item = next) {
        next = TAILQ_NEXT(item, link);
        const struct load_order *other = &item->run->order;
        if (other->resource != order->resource || strcmp(other->of_canary, order->of_canary) != 0)
            continue;
        if (load_run_ended(item->run))
            item->over = true;
        else if (item->run->state == LOAD_CREATING)
            item->ends = true;
        else
            drop(loads, item);
    }
}

const char *loads_list(const struct loads *loads, struct arena *arena, const char *namespace_,
                       const char *name)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *list = json_object_new_array();
    const struct item *item;

    json_object_object_add(out, "loadTests", list);
    TAILQ_FOREACH(item, &loads->items, link)
    {
        const struct load_order *order = &item->run->order;
        if (!namespace_ || (strcmp(order->canary_namespace, namespace_) == 0 &&
                            strcmp(order->canary_name, name) == 0))
            json_object_array_add(list, load_run_json(item->run));
    }
    return json_text(arena, out);
}
