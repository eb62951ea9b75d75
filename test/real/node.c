#include "real/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cluster/podspec.h"
#include "real/podlook.h"
#include "real/podserve.h"
#include "test/kinds.h"

enum { FRESH_MS = 5000, AGAIN_MS = 200 };

/* A DaemonSet on one node has no pod while it is updated. */
static const char *const names[] = {"pretend-1", "pretend-2"};
enum { N_NODES = sizeof(names) / sizeof(names[0]) };

static const struct kube_resource nodes = {
    .group = "", .version = "v1", .plural = "nodes", .kind = "Node", .cluster_scoped = true};

struct pod {
    struct pod *next;
    struct node *node;
    struct json_object *object; /* as it was seen last; owned */
    unsigned number;
    char address[32];
    int64_t running_ms; /* 0 if not yet */
    bool ready;
    int64_t ready_changed_ms;
    int64_t ending_ms; /* seen deleted then; 0 if not yet */
    struct podserve *serve;
    struct kube_call *call; /* under way */
    bool gone;              /* its object is; freed when no call is under way */
};

struct node {
    struct loop *loop;
    struct kube_client *kube;
    const char *serve; /* the program of pods; or NULL */
    struct watch *watch;
    struct timer *fresh, *again;
    struct pod *pods;
    unsigned addresses;
    bool stopping;
};

static const char *name_of(const struct pod *pod)
{
    return json_str_at(pod->object, "metadata", "name", NULL);
}

static const char *namespace_of(const struct pod *pod)
{
    return json_str_at(pod->object, "metadata", "namespace", NULL);
}

static void pod_free(struct pod *pod)
{
    json_object_put(pod->object);
    free(pod);
}

static void drop_gone(struct node *node)
{
    for (struct pod **at = &node->pods; *at;) {
        struct pod *pod = *at;
        if (pod->gone && !pod->call) {
            *at = pod->next;
            pod_free(pod);
        } else {
            at = &pod->next;
        }
    }
}

/* The next event of the pod, or the timer, shows what is left to do. */
static void on_answer(void *arg, const struct kube_result *result)
{
    struct pod *pod = arg;
    pod->call = NULL;
    if (result->err != ERR_OK && result->err != ERR_NOT_FOUND && result->err != ERR_CONFLICT &&
        result->err != ERR_CANCELLED)
        log_warn("pod", NULL, result->info->text);
}

static void take(struct pod *pod, struct arena *arena, const struct podlook *look)
{
    struct json_object *body = json_own(arena, json_object_new_object());
    json_set_str(body, "apiVersion", "v1");
    json_set_str(body, "kind", "Binding");
    json_set_str(json_sub(body, "metadata"), "name", name_of(pod));
    json_set_str(json_sub(body, "target"), "kind", "Node");
    json_set_str(json_sub(body, "target"), "name",
                 look->wants ? look->wants : names[pod->number % N_NODES]);
    const char *path = kube_path(arena, &kube_pods, namespace_of(pod), name_of(pod), "binding");
    pod->call =
        kube_send(pod->node->kube,
                  &(struct kube_request){
                      .verb = KUBE_CREATE, .raw_path = path, .body = body, .purpose = KUBE_LEASE},
                  on_answer, pod);
}

static void let_go(struct pod *pod, struct arena *arena)
{
    struct json_object *body = json_own(arena, json_object_new_object());
    json_set_str(body, "apiVersion", "v1");
    json_set_str(body, "kind", "DeleteOptions");
    json_set_int(body, "gracePeriodSeconds", 0);
    json_set_str(json_sub(body, "preconditions"), "uid",
                 json_str_at(pod->object, "metadata", "uid", NULL));
    pod->call = kube_send(pod->node->kube,
                          &(struct kube_request){.verb = KUBE_DELETE,
                                                 .resource = &kube_pods,
                                                 .namespace_ = namespace_of(pod),
                                                 .name = name_of(pod),
                                                 .body = body,
                                                 .purpose = KUBE_LEASE},
                          on_answer, pod);
}

static void tell_status(struct pod *pod, struct arena *arena)
{
    struct podstatus_in in = {.pod = pod->object,
                              .state = POD_RUNNING,
                              .address = pod->address,
                              .ready = pod->ready,
                              .ready_changed_ms = pod->ready_changed_ms,
                              .started_ms = pod->running_ms,
                              .running_ms = pod->running_ms};
    struct json_object *first = json_elem(json_at(pod->object, "spec", "containers", NULL), 0);
    in.container = json_str_at(first, "name", NULL);
    struct json_object *body = json_own(arena, json_object_new_object());
    json_set(body, "status", podstatus_make(arena, &in));
    pod->call = kube_send(pod->node->kube,
                          &(struct kube_request){.verb = KUBE_MERGE_PATCH,
                                                 .resource = &kube_pods,
                                                 .namespace_ = namespace_of(pod),
                                                 .name = name_of(pod),
                                                 .sub = "status",
                                                 .body = body,
                                                 .purpose = KUBE_LEASE},
                          on_answer, pod);
}

/* A deleted pod that has a process keeps it while its clients learn that it goes. */
static bool may_go(struct pod *pod, const struct podlook *look, int64_t now)
{
    if (!pod->ending_ms)
        pod->ending_ms = now;
    return !pod->serve || now - pod->ending_ms >= look->grace_ms;
}

static bool answers(struct pod *pod, const struct podlook *look)
{
    if (!pod->node->serve)
        return true;
    if (!pod->serve && look->image)
        pod->serve = podserve_new(pod->node->loop, pod->node->serve, pod->address, look->image,
                                  name_of(pod));
    return pod->serve && podserve_listens(pod->serve);
}

/* Pods of a node that a case has made are left to the case. */
static bool is_of_another(const struct podlook *look)
{
    for (size_t i = 0; i < N_NODES; i++) {
        if (!look->node || strcmp(look->node, names[i]) == 0)
            return false;
    }
    return true;
}

/* One call at a time; its event brings the next. */
static void act(struct pod *pod)
{
    int64_t now = clock_wall_ms();
    struct podlook look = {0};
    struct arena *arena = arena_new();

    if (pod->call || pod->gone || pod->node->stopping)
        goto out;
    podlook_read(arena, pod->object, &look);
    if (is_of_another(&look))
        goto out;
    if (look.deleting) {
        if (may_go(pod, &look, now))
            let_go(pod, arena);
    } else if (!look.node) {
        take(pod, arena, &look);
    } else {
        bool ready;
        if (!pod->running_ms)
            pod->running_ms = now;
        ready = answers(pod, &look) && podlook_ready(&look, now - pod->running_ms);
        if (ready != pod->ready || !pod->ready_changed_ms)
            pod->ready_changed_ms = now;
        pod->ready = ready;
        if (!look.running || look.ready != ready)
            tell_status(pod, arena);
    }
out:
    arena_free(arena);
}

static struct pod *find(struct node *node, const char *uid)
{
    for (struct pod *pod = node->pods; pod; pod = pod->next)
        if (!pod->gone && strcmp(json_str_at(pod->object, "metadata", "uid", NULL), uid) == 0)
            return pod;
    return NULL;
}

static struct pod *add(struct node *node)
{
    struct pod *pod = heap_alloc(sizeof(*pod));
    unsigned n = ++node->addresses;
    *pod = (struct pod){.node = node, .number = n, .next = node->pods};
    snprintf(pod->address, sizeof(pod->address), "10.200.%u.%u", n / 250 % 250, n % 250 + 1);
    node->pods = pod;
    return pod;
}

static void on_pod(void *arg, enum watch_event event, struct json_object *object)
{
    struct node *node = arg;
    const char *uid = json_str_at(object, "metadata", "uid", NULL);
    if (event == WATCH_SYNCED || !uid)
        return;
    struct pod *pod = find(node, uid);
    if (event == WATCH_GONE) {
        if (pod) {
            pod->gone = true;
            podserve_end(pod->serve);
            pod->serve = NULL;
        }
        drop_gone(node);
        return;
    }
    if (!pod)
        pod = add(node);
    json_object_put(pod->object);
    pod->object = json_object_get(object);
    act(pod);
}

static void on_again(void *arg)
{
    struct node *node = arg;
    drop_gone(node);
    for (struct pod *pod = node->pods; pod; pod = pod->next)
        act(pod);
}

static void ignore(void *arg, const struct kube_result *result)
{
    (void)arg;
    if (result->err != ERR_OK && result->err != ERR_CONFLICT && result->err != ERR_CANCELLED)
        log_warn("node", NULL, result->info->text);
}

static struct json_object *node_object(struct arena *arena, const char *name)
{
    char now[CLOCK_TEXT];
    clock_rfc3339(clock_wall_ms(), now);
    const char *text = arena_printf(
        arena,
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\","
        "\"labels\":{\"kubernetes.io/os\":\"linux\",\"kubernetes.io/hostname\":\"%s\"}},"
        "\"status\":{\"capacity\":{\"cpu\":\"100\",\"memory\":\"100Gi\",\"pods\":\"1000\"},"
        "\"allocatable\":{\"cpu\":\"100\",\"memory\":\"100Gi\",\"pods\":\"1000\"},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\","
        "\"lastHeartbeatTime\":\"%s\",\"lastTransitionTime\":\"%s\"}]}}",
        name, name, now, now);
    struct json_object *object = NULL;
    if (json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &object, NULL) != ERR_OK)
        abort();
    return object;
}

/* The lifecycle controller takes a node whose heartbeat is old for lost, and its pods for unready.
 */
static void keep_fresh(void *arg)
{
    struct node *node = arg;
    struct arena *arena = arena_new();
    for (size_t i = 0; i < N_NODES; i++) {
        struct json_object *body = node_object(arena, names[i]);
        json_object_object_del(body, "metadata");
        kube_send(node->kube,
                  &(struct kube_request){.verb = KUBE_MERGE_PATCH,
                                         .resource = &nodes,
                                         .name = names[i],
                                         .sub = "status",
                                         .body = body,
                                         .purpose = KUBE_LEASE},
                  ignore, NULL);
    }
    arena_free(arena);
}

struct node *node_new(struct loop *loop, struct kube_client *kube, const char *serve)
{
    struct node *node = heap_alloc(sizeof(*node));
    struct arena *arena = arena_new();
    *node = (struct node){.loop = loop, .kube = kube, .serve = serve};
    for (size_t i = 0; i < N_NODES; i++)
        kube_send(kube,
                  &(struct kube_request){.verb = KUBE_CREATE,
                                         .resource = &nodes,
                                         .body = node_object(arena, names[i])},
                  ignore, NULL);
    arena_free(arena);
    node->watch = watch_new(loop, kube, &(struct watch_spec){.resource = &kube_pods}, on_pod, node);
    node->fresh = timer_start(loop, FRESH_MS, FRESH_MS, keep_fresh, node);
    node->again = timer_start(loop, AGAIN_MS, AGAIN_MS, on_again, node);
    return node;
}

void node_stop(struct node *node)
{
    node->stopping = true;
    for (struct pod *pod = node->pods; pod; pod = pod->next) {
        podserve_end(pod->serve);
        pod->serve = NULL;
    }
    watch_free(node->watch);
    timer_stop(node->fresh);
    timer_stop(node->again);
    node->watch = NULL;
    node->fresh = node->again = NULL;
}

void node_free(struct node *node)
{
    while (node->pods) {
        struct pod *pod = node->pods;
        node->pods = pod->next;
        pod_free(pod);
    }
    free(node);
}
