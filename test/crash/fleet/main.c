/*
 * The daemon of the fleet, disturbed at each of its writes: an Application is made, carried out on a
 * member cluster, and deleted again; both must end as if nobody had disturbed. Two API servers and the
 * daemon in one process, which each run has for itself.
 *
 *   flagger-crash-fleet CRDS [EVERY]     CRDS: the folder of the project; only every EVERYth moment
 *
 * A write is cut off, somebody else writes the object just before it, or the daemon ends before or after it
 * is applied and another one begins. The last line counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cluster/crds.h"
#include "fleet/daemon/members.h"
#include "fleet/rules/record.h"
#include "test/rows.h"

enum {
    POLL_MS = 20,
    QUIET_MS = 1200, /* longer than a status is waited with */
    LIMIT_MS = 40000,
    RETRY_MS = 50
};

enum fault { FAULT_NONE, FAULT_DROPPED, FAULT_MEDDLED, FAULT_KILLED, FAULT_KILLED_AFTER, FAULTS };
static const char *const fault_names[] = {[FAULT_NONE] = "undisturbed",
                                          [FAULT_DROPPED] = "cut before it is applied",
                                          [FAULT_MEDDLED] = "somebody else writes the object first",
                                          [FAULT_KILLED] = "the daemon ends before it is applied",
                                          [FAULT_KILLED_AFTER] =
                                              "the daemon ends after it is applied"};

#define MEDDLED "meddled"

struct world {
    struct arena *arena;
    struct loop *loop;
    const char *root, *folder;
    struct objstore *stores[2]; /* the management cluster, the member */
    struct api *apis[2];
    struct http_client *http;
    struct kube_client *kube;
    struct kube_config config;
    struct members_settings settings;
    struct members *members;
    struct timer *poll;
    enum fault fault;
    int at;     /* the write that is disturbed, from 1; 0 if none */
    int writes; /* so far */
    int64_t last_ms, began_ms;
    bool deleting;
    const char *made;    /* what stood on the member when all was made */
    const char *outcome; /* the whole, at the end; NULL: not there yet */
    const char *trouble;
};

/* --- what the clusters hold */

static struct json_object *get(struct world *w, int cluster, const char *group, const char *plural,
                               const char *namespace_, const char *name)
{
    const struct objkind *kind = objstore_kind(w->stores[cluster], group, plural);

    return kind ? objstore_get(w->stores[cluster], kind, namespace_, name) : NULL;
}

static const char *part(struct world *w, struct json_object *object)
{
    struct json_object *metadata = json_at(object, "metadata", NULL);
    struct json_object *notes = json_copy(w->arena, json_at(metadata, "annotations", NULL));

    if (notes)
        json_object_object_del(notes, MEDDLED);
    if (notes && json_object_object_length(notes) == 0)
        notes = NULL;
    return arena_printf(w->arena, "%s %s %s\n", json_text_sorted(w->arena, notes),
                        json_text_sorted(w->arena, json_at(metadata, "labels", NULL)),
                        json_text_sorted(w->arena, json_at(object, "spec", NULL)));
}

/* All that may be made, as it stands; the member's identity is another one in each run. */
static const char *look(struct world *w)
{
    static const struct {
        const char *group, *plural, *namespace_, *name;
    } all[] = {{"", "namespaces", NULL, "test"},
               {"apps", "deployments", "test", "podinfo-testloader"},
               {"", "services", "test", "podinfo-testloader"},
               {"", "services", "test", "podinfo"},
               {"flagger.app", "metrictemplates", "test", "errors"},
               {"flagger.app", "canaries", "test", "podinfo"}};
    struct json_object *app = get(w, 0, "apps.kurator.dev", "applications", "default", "shop");
    struct json_object *space = get(w, 0, "", "namespaces", NULL, "kube-system");
    const char *text =
        arena_printf(w->arena, "application %s %s\n",
                     json_str_at(app, "metadata", "annotations", FLEET_INVENTORY, NULL),
                     json_text_sorted(w->arena, json_at(app, "metadata", "finalizers", NULL)));

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct json_object *object =
            get(w, 1, all[i].group, all[i].plural, all[i].namespace_, all[i].name);
        text = arena_printf(w->arena, "%s%s/%s %s", text, all[i].plural, all[i].name,
                            object ? part(w, object) : "is not there\n");
    }
    return arena_strike_out(w->arena, text, json_str_at(space, "metadata", "uid", NULL));
}

/* --- the daemon */

static void start_daemon(struct world *w)
{
    const struct members_options options = {.loop = w->loop,
                                            .kube = w->kube,
                                            .api = w->http,
                                            .outside = w->http,
                                            .settings = &w->settings};

    w->members = members_new(&options);
}

static void restart(void *arg)
{
    struct world *w = arg;

    members_free(w->members);
    start_daemon(w);
}

/* What stands between slashes, ended by NULL. */
static const char *const *split(struct arena *arena, const char *path)
{
    enum { MOST = 12 };
    const char **parts = arena_array(arena, MOST + 8, sizeof(*parts));

    for (int i = 0; i < MOST && *path; i++) {
        path += *path == '/';
        parts[i] = arena_strndup(arena, path, strcspn(path, "/"));
        path += strcspn(path, "/");
    }
    return parts;
}

/* "/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME": whoever had read the object is late now. */
static void meddle(struct world *w, int cluster, const char *path)
{
    struct objcall call = {.arena = w->arena, .manager = "somebody"};
    struct json_object *patch =
        rows_json(w->arena, "{'metadata':{'annotations':{'" MEDDLED "':'1'}}}");
    const char *const *parts = split(w->arena, path);
    bool core = strcmp(parts[0], "api") == 0;
    const char *group = core ? "" : parts[1];
    const char *const *at = parts + (core ? 2 : 3);
    bool inside = at[0] && at[1] && at[2] && strcmp(at[0], "namespaces") == 0;
    const char *plural = inside ? at[2] : at[0], *name = inside ? at[3] : at[1];
    const struct objkind *kind = plural ? objstore_kind(w->stores[cluster], group, plural) : NULL;

    if (kind && name &&
        objstore_merge(w->stores[cluster], &call, kind, inside ? at[1] : NULL, name, OBJSUB_NONE,
                       patch, NULL) != ERR_OK)
        log_debug("meddled", NULL, call.fail.message);
}

/* False: it is not served, and its connection is closed. */
static bool on_write(struct world *w, int cluster, const char *path)
{
    w->last_ms = clock_monotonic_ms();
    if (++w->writes != w->at)
        return true;
    switch (w->fault) {
    case FAULT_DROPPED:
        return false;
    case FAULT_KILLED:
        timer_start(w->loop, 0, 0, restart, w);
        return false;
    case FAULT_KILLED_AFTER:
        timer_start(w->loop, 0, 0, restart, w);
        return true;
    case FAULT_MEDDLED:
        meddle(w, cluster, path);
        return true;
    default:
        return true;
    }
}

static bool on_request(struct world *w, int cluster, const char *verb,
                       struct http_conn_request *req)
{
    bool reads =
        strcmp(verb, "get") == 0 || strcmp(verb, "list") == 0 || strcmp(verb, "watch") == 0;

    return reads || strstr(http_req_path(req), "/events") ||
           on_write(w, cluster, http_req_path(req));
}

static bool on_host(void *arg, const char *verb, struct http_conn_request *req)
{
    return on_request(arg, 0, verb, req);
}

static bool on_member(void *arg, const char *verb, struct http_conn_request *req)
{
    return on_request(arg, 1, verb, req);
}

/* --- the course of a run */

/* Its status says that all is as it is to be. */
static bool is_ready(struct world *w)
{
    struct json_object *app = get(w, 0, "apps.kurator.dev", "applications", "default", "shop");
    struct json_object *conditions = json_at(app, "status", "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        struct json_object *one = json_elem(conditions, i);
        if (strcmp(json_str_at(one, "type", NULL), "Ready") == 0)
            return strcmp(json_str_at(one, "status", NULL), "True") == 0;
    }
    return false;
}

static bool is_quiet(struct world *w)
{
    struct members_snapshot all;

    members_snapshot(w->members, &all);
    return all.waiting == 0 && all.running == 0 && all.fleet->context.writes == 0 &&
           all.fleet->context.identity && clock_monotonic_ms() - w->last_ms > QUIET_MS;
}

static void end(struct world *w, const char *trouble)
{
    if (!w->trouble)
        w->trouble = trouble;
    loop_drain(w->loop);
}

static void poll(void *arg)
{
    struct world *w = arg;
    struct objcall call = {.arena = w->arena};
    const struct objkind *kind = objstore_kind(w->stores[0], "apps.kurator.dev", "applications");
    bool gone;

    if (clock_monotonic_ms() - w->began_ms > LIMIT_MS) {
        end(w, arena_printf(w->arena, "it has not ended in time; there is\n%s", look(w)));
        return;
    }
    if (!is_quiet(w) || (!w->deleting && !is_ready(w)))
        return;
    if (!w->deleting) {
        w->deleting = true;
        w->made = look(w);
        w->last_ms = clock_monotonic_ms();
        if (objstore_delete(w->stores[0], &call, kind, "default", "shop", NULL, NULL, &gone) !=
            ERR_OK)
            end(w, call.fail.message);
    } else if (!objstore_get(w->stores[0], kind, "default", "shop")) {
        w->outcome = arena_printf(w->arena, "made:\n%sthen:\n%s", w->made, look(w));
        end(w, NULL);
    }
}

static void on_drain(void *arg)
{
    struct world *w = arg;

    timer_stop(w->poll);
    members_free(w->members);
    kube_client_free(w->kube);
    http_client_free(w->http);
}

/* --- what is there from the beginning */

static const char member_objects[] =
    "[{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'test'}},{'apiVersion':'v1','kind':"
    "'Service','metadata':{'name':'podinfo','namespace':'test'},'spec':{'clusterIP':'10.0.0.1',"
    "'ports':[{'port':80}]}}]";
static const char application[] =
    "{'apiVersion':'apps.kurator.dev/v1alpha1','kind':'Application','metadata':{'name':'shop',"
    "'namespace':'default'},'spec':{'destination':{'fleet':'f'},'syncPolicies':[{'rollout':{"
    "'testLoader':true,'trafficRoutingProvider':'istio','workload':{'name':'podinfo','namespace':"
    "'test'},'serviceName':'podinfo','port':80,'rolloutPolicy':{'trafficRouting':{'analysisTimes':"
    "5},"
    "'trafficAnalysis':{'checkIntervalSeconds':60,'checkFailedTimes':3,'metrics':[{'name':'errors',"
    "'intervalSeconds':60,'thresholdRange':{'max':1},'customMetric':{'provider':{'type':"
    "'prometheus','address':'http://p'},'query':'up'}}]}}}}]}}";

static bool make(struct world *w, int cluster, struct json_object *object)
{
    struct objcall call = {.arena = w->arena, .manager = "kubectl"};
    const char *version = json_str_at(object, "apiVersion", NULL);
    const char *slash = strchr(version, '/');
    const char *group = slash ? arena_strndup(w->arena, version, (size_t)(slash - version)) : "";
    const struct objkind *kind =
        objstore_kind_named(w->stores[cluster], group, json_str_at(object, "kind", NULL));

    call.version = slash ? slash + 1 : version;
    if (kind &&
        objstore_create(w->stores[cluster], &call, kind,
                        json_str_at(object, "metadata", "namespace", NULL), object, NULL) == ERR_OK)
        return true;
    w->trouble = kind ? call.fail.message : "there is no such kind";
    return false;
}

static bool make_objects(struct world *w)
{
    struct json_object *list = rows_json(w->arena, member_objects);
    struct json_object *secret = rows_json(
        w->arena, "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'one','namespace':"
                  "'default','labels':{'flagger.app/cluster':'one'}}}");
    char *text;
    struct errinfo ei;

    for (size_t i = 0; i < json_len(list); i++)
        if (!make(w, 1, json_elem(list, i)))
            return false;
    if (file_read(w->arena, api_kubeconfig(w->apis[1]), 1 << 20, &text, NULL, &ei) != ERR_OK) {
        w->trouble = arena_strdup(w->arena, ei.text);
        return false;
    }
    json_set_str(json_sub(secret, "stringData"), "value", text);
    return make(w, 0, secret) && make(w, 0, rows_json(w->arena, application));
}

static enum err build(struct world *w, struct errinfo *ei)
{
    static const char *const crds[] = {"deploy/fleet", "proto/crd"};
    enum err err = ERR_OK;

    for (int i = 0; err == ERR_OK && i < 2; i++) {
        const char *folder = arena_printf(w->arena, "%s/%d", w->folder, i);
        const struct api_options options = {.directory = folder};
        w->stores[i] = objstore_new(w->loop, 0);
        err = crds_load(w->stores[i], arena_printf(w->arena, "%s/%s", w->root, crds[i]), ei);
        if (err == ERR_OK && mkdir(folder, 0700) == 0)
            err = api_new(w->loop, w->stores[i], &options, &w->apis[i], ei);
        if (err == ERR_OK)
            api_on_request(w->apis[i], i == 0 ? on_host : on_member, w);
    }
    const struct kube_config_source source = {
        .kubeconfig = err == ERR_OK ? api_kubeconfig(w->apis[0]) : NULL};
    return err == ERR_OK ? kube_config_load(w->arena, &source, &w->config, ei) : err;
}

static void run_world(struct world *w)
{
    struct errinfo ei;

    w->loop = loop_new(5000);
    if (build(w, &ei) != ERR_OK)
        w->trouble = arena_strdup(w->arena, ei.text);
    if (w->trouble || !make_objects(w))
        return;
    w->settings = (struct members_settings){.loader_image = "loader",
                                            .grants = &grants_any,
                                            .claim_namespace = "kube-system",
                                            .name = "torture",
                                            .agent = "flagger-fleet",
                                            .abandon_ms = 3600 * 1000,
                                            .qps = 10000,
                                            .burst = 10000,
                                            .max_runs = 8,
                                            .retry_ms = RETRY_MS};
    w->http = http_client_new(w->loop, &(struct http_client_options){.max_per_host = -1});
    w->kube = kube_client_new(w->loop, w->http, &w->config, NULL);
    w->began_ms = w->last_ms = clock_monotonic_ms();
    start_daemon(w);
    w->poll = timer_start(w->loop, POLL_MS, POLL_MS, poll, w);
    loop_on_drain(w->loop, on_drain, w);
    (void)loop_run(w->loop);
}

/* --- runs, each in a process of its own */

struct result {
    int writes;
    const char *outcome, *trouble;
};

/* What the process leaves: how many writes there were, and how it ended. */
static void leave(const struct world *w)
{
    const char *path = arena_printf(w->arena, "%s/result", w->folder);
    const char *text =
        arena_printf(w->arena, "%d %s %s", w->writes, w->outcome ? "ended" : "trouble",
                     w->outcome   ? w->outcome
                     : w->trouble ? w->trouble
                                  : "it ended before its time");
    struct errinfo ei;

    if (file_write(path, text, strlen(text), 0600, &ei) != ERR_OK)
        fprintf(stderr, "%s\n", ei.text);
}

static struct result run(struct arena *arena, const char *root, const char *folder, int at,
                         enum fault fault)
{
    struct result result = {.trouble = "the process died"};
    char *text = NULL;
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();

    if (pid == 0) {
        struct world w = {.arena = arena, .root = root, .folder = folder, .at = at, .fault = fault};
        log_set_level("error");
        run_world(&w);
        leave(&w);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        result.trouble = arena_printf(arena, "the process died (%d)", status);
    else if (file_read(arena, arena_printf(arena, "%s/result", folder), 1 << 20, &text, NULL,
                       NULL) != ERR_OK)
        result.trouble = "it left no result";
    if (!text)
        return result;
    result.writes = (int)strtol(text, &text, 10);
    result.trouble = strncmp(text, " trouble ", 9) == 0 ? text + 9 : NULL;
    result.outcome = result.trouble ? NULL : text + strlen(" ended ");
    return result;
}

static const char *fresh_folder(struct arena *arena)
{
    char *folder = arena_strdup(arena, "/tmp/flagger-crash.XXXXXX");

    if (!mkdtemp(folder)) {
        perror(folder);
        exit(1);
    }
    return folder;
}

static void clear_folder(struct arena *arena, const char *folder)
{
    static const char *const files[] = {"ca.crt", "tls.crt", "tls.key", "token", "kubeconfig"};

    for (int i = 0; i < 2; i++) {
        for (size_t j = 0; j < sizeof(files) / sizeof(files[0]); j++)
            (void)unlink(arena_printf(arena, "%s/%d/%s", folder, i, files[j]));
        (void)rmdir(arena_printf(arena, "%s/%d", folder, i));
    }
    (void)unlink(arena_printf(arena, "%s/result", folder));
    (void)rmdir(folder);
}

static struct result run_fresh(struct arena *arena, const char *root, int at, enum fault fault)
{
    const char *folder = fresh_folder(arena);
    struct result result = run(arena, root, folder, at, fault);

    clear_folder(arena, folder);
    return result;
}

/* From where they differ. */
static void tell(int at, enum fault fault, const struct result *result, const char *still)
{
    const char *found = result->outcome ? result->outcome : result->trouble;
    size_t same = 0;

    while (result->outcome && found[same] && found[same] == still[same])
        same++;
    printf("write %d, %s: ...%.300s\nand undisturbed ...%.300s\n", at, fault_names[fault],
           found + same, still + same);
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    const char *root = argc > 1 ? argv[1] : ".";
    if (argc > 4) { /* one moment alone, for a debugger */
        struct world w = {.arena = arena,
                          .root = root,
                          .folder = fresh_folder(arena),
                          .at = (int)strtol(argv[3], NULL, 10),
                          .fault = (enum fault)strtol(argv[4], NULL, 10)};
        run_world(&w);
        printf("%s\n", w.outcome ? w.outcome : w.trouble);
        return w.outcome == NULL;
    }
    int every = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;
    struct result still = run_fresh(arena, root, 0, FAULT_NONE);
    int runs = 0, wrong = 0, moment = 0;

    if (still.trouble || every < 1) {
        fprintf(stderr, "undisturbed: %s\n", still.trouble);
        return 1;
    }
    for (int at = 1; at <= still.writes; at++)
        for (enum fault fault = FAULT_DROPPED; fault < FAULTS; fault++) {
            if (moment++ % every != 0)
                continue;
            struct result result = run_fresh(arena, root, at, fault);
            bool same = result.outcome && strcmp(result.outcome, still.outcome) == 0;
            runs++;
            wrong += !same;
            if (!same)
                tell(at, fault, &result, still.outcome);
        }
    printf("%d writes, %d runs, %d wrong\n", still.writes, runs, wrong);
    arena_free(arena);
    return wrong > 0;
}
