#include "random_edits/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE "{'name':'request-success-rate','thresholdRange':{'min':99},'interval':'3s'}"
/*
 * The last of the checks looks at nothing but the version that is analysed: the metric's three
 * seconds and one until it is scraped have passed since the first step.
 */
#define STEPS "'interval':'1s','threshold':6,'stepWeight':15,'maxWeight':75,'metrics':[" RATE "]"

/* Beside other hooks: a revision is let in, looked at in each step, and let out. */
#define HOOKS                                                                                      \
    "'webhooks':[{'name':'start','type':'confirm-rollout','url':'HOOKS/start'},"                   \
    "{'name':'check','type':'rollout','url':'HOOKS/check'},"                                       \
    "{'name':'promote','type':'confirm-promotion','url':'HOOKS/promote'},"                         \
    "{'name':'back','type':'rollback','url':'HOOKS/back'}]"

/* A row; what all rows have stands first. */
#define APP(name_, about_, canary_, ...)                                                           \
    {                                                                                              \
        .name = (name_), .about = (about_), .canary = (canary_), __VA_ARGS__                       \
    }

#define NAME_OF      "'app.kubernetes.io/name':'NAME'"
#define COMPONENT_OF "'app.kubernetes.io/component':"

const struct app apps[] = {
    APP("steps", "growing weights on the Gateway API, with hooks",
        "{'spec':{'analysis':{" STEPS "," HOOKS "}}}", .gateway = true, .hooks = true),
    APP("blue", "blue/green on plain Services, by two labels",
        "{'spec':{'provider':'kubernetes','service':{'gatewayRefs':null,'hosts':null},"
        "'analysis':{'interval':'1s','threshold':6,'iterations':5,'metrics':[" RATE "]," HOOKS
        "}}}",
        .hooks = true, .labels = "{" NAME_OF "," COMPONENT_OF "'web'}",
        .other = "{" NAME_OF "," COMPONENT_OF "'worker'}", .replicas = 3),
    APP("ab", "an A/B test by header, by three labels",
        "{'spec':{'analysis':{'interval':'1s','threshold':6,'iterations':5,'metrics':[" RATE
        "],'match':[{'headers':{'x-group':{'exact':'insider'}}}]}}}",
        .gateway = true, .insiders = true,
        .labels = "{'app':'NAME','component':'web','env':'prod'}",
        .other = "{'app':'NAME','component':'web','env':'test'}"),
    APP("sticky", "session affinity, beside a workload that is called as its primary",
        "{'spec':{'analysis':{" STEPS ",'sessionAffinity':{'cookieName':'on-canary'}}}}",
        .gateway = true, .labels = "{'name':'NAME','tier':'front'}",
        .other = "{'name':'NAME-primary','tier':'back'}", .replicas = 2),
    APP("mirror", "mirrored requests first, and a ConfigMap whose name changes with its content",
        "{'spec':{'analysis':{" STEPS ",'mirror':true}}}", .gateway = true, .hashed = true),
    APP("scaled", "growing weights with a HorizontalPodAutoscaler, by four labels",
        "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2',"
        "'kind':'HorizontalPodAutoscaler','name':'NAME'},'analysis':{" STEPS "}}}",
        .gateway = true, .scaler = true,
        .labels = "{'app':'NAME'," NAME_OF "," COMPONENT_OF "'api','track':'stable'}",
        .other = "{'app':'NAME'," NAME_OF "," COMPONENT_OF "'api','track':'batch'}"),
    APP("config", "growing weights with a ConfigMap and a Secret, hooks, and a promotion in steps",
        "{'spec':{'analysis':{" STEPS ",'stepWeightPromotion':50," HOOKS "}}}", .gateway = true,
        .configs = true, .hooks = true, .labels = "{'app':'NAME','release':'one'}",
        .other = "{'app':'NAME','release':'two'}"),
    {0},
};

const struct app *app_named(const char *name)
{
    for (const struct app *app = apps; app->name; app++)
        if (strcmp(app->name, name) == 0)
            return app;
    return NULL;
}

const struct kube_resource user_canaries = {
    .group = "flagger.app", .version = "v1beta1", .plural = "canaries", .kind = "Canary"};
const struct kube_resource user_requests = {.group = "flagger.app",
                                            .version = "v1alpha1",
                                            .plural = "releaserequests",
                                            .kind = "ReleaseRequest"};
const struct kube_resource user_routes = {.group = "gateway.networking.k8s.io",
                                          .version = "v1",
                                          .plural = "httproutes",
                                          .kind = "HTTPRoute"};
const struct kube_resource user_endpoints = {
    .group = "", .version = "v1", .plural = "endpoints", .kind = "Endpoints"};
const struct kube_resource user_pods = {
    .group = "", .version = "v1", .plural = "pods", .kind = "Pod"};

const struct kube_resource user_budgets = {.group = "policy",
                                           .version = "v1",
                                           .plural = "poddisruptionbudgets",
                                           .kind = "PodDisruptionBudget"};

/* --- texts */

enum { TEXT_MAX = 64 * 1024 };

static const char *replaced(struct arena *arena, const char *text, const char *name,
                            const char *hooks)
{
    struct buf out;
    buf_init(&out, TEXT_MAX);
    while (*text) {
        if (name && strncmp(text, "NAME", 4) == 0) {
            buf_puts(&out, name);
            text += 4;
        } else if (hooks && strncmp(text, "HOOKS", 5) == 0) {
            buf_printf(&out, "%s/%s", hooks, name);
            text += 5;
        } else {
            buf_add(&out, *text == '\'' ? "\"" : text, 1);
            text++;
        }
    }
    const char *copy = arena_strdup(arena, out.data);
    buf_fini(&out);
    return copy;
}

struct json_object *user_json(struct arena *arena, const char *text, const char *name,
                              const char *hooks)
{
    struct json_object *object = NULL;
    struct errinfo ei;
    const char *json = replaced(arena, text, name, hooks);
    if (json_parse(arena, json, strlen(json), TEXT_MAX, &object, &ei) != ERR_OK) {
        fprintf(stderr, "flagger-random-edits: %s in %s\n", ei.text, json);
        exit(2);
    }
    return object;
}

const char *user_name(struct arena *arena, const char *text, const char *name)
{
    return replaced(arena, text, name, NULL);
}

/* --- objects */

struct json_object *app_canary(struct arena *arena, const struct app *app, const char *hooks)
{
    struct json_object *common = user_json(
        arena,
        "{'apiVersion':'flagger.app/v1beta1','kind':'Canary',"
        "'metadata':{'name':'NAME','namespace':'test'},'spec':{'provider':'gatewayapi:v1',"
        "'targetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'NAME'},"
        "'progressDeadlineSeconds':15,'service':{'port':8080,'targetPort':9898,"
        "'hosts':['NAME.example.com'],'gatewayRefs':[{'name':'gateway','namespace':'test'}]}}}",
        app->name, NULL);
    return json_merge(arena, common, user_json(arena, app->canary, app->name, hooks));
}

struct json_object *app_container(struct arena *arena, const struct app *app, const char *version)
{
    bool stuck = strncmp(version, "stuck", 5) == 0;
    struct json_object *out =
        user_json(arena,
                  "{'name':'app','ports':[{'name':'http','containerPort':9898}],"
                  "'readinessProbe':{'httpGet':{'path':'/readyz','port':9898},'periodSeconds':1},"
                  "'lifecycle':{'preStop':{'sleep':{'seconds':1}}}}",
                  app->name, NULL);
    json_set_str(out, "image", arena_printf(arena, "demo-app:%s", version));
    if (stuck)
        json_set(out, "env",
                 user_json(arena, "[{'name':'DEMO_READY_DELAY','value':'10h'}]", NULL, NULL));
    if (app->hashed)
        json_set(out, "envFrom",
                 user_json(
                     arena,
                     arena_printf(arena, "[{'configMapRef':{'name':'NAME-settings-%s'}}]", version),
                     app->name, NULL));
    if (app->configs)
        json_set(out, "envFrom",
                 user_json(arena,
                           "[{'configMapRef':{'name':'NAME-settings'}},"
                           "{'secretRef':{'name':'NAME-keys'}}]",
                           app->name, NULL));
    return out;
}

struct json_object *app_labels(struct arena *arena, const struct app *app, const char *name)
{
    return user_json(arena, app->labels ? app->labels : "{'app':'NAME'}", name, NULL);
}

static void select_by(struct arena *arena, struct json_object *deployment,
                      struct json_object *labels)
{
    struct json_object *spec = json_at(deployment, "spec", NULL);
    json_set(json_sub(deployment, "metadata"), "labels", json_copy(arena, labels));
    json_set(json_sub(spec, "selector"), "matchLabels", json_copy(arena, labels));
    json_set(json_sub(json_sub(spec, "template"), "metadata"), "labels", json_copy(arena, labels));
}

struct json_object *app_deployment(struct arena *arena, const struct app *app, const char *name,
                                   const char *version)
{
    struct json_object *out = user_json(
        arena,
        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'NAME','namespace':'test'},"
        "'spec':{'progressDeadlineSeconds':15,'template':{'metadata':{"
        "'annotations':{'prometheus.io/scrape':'true','prometheus.io/port':'9898'}},'spec':{}}}}",
        name, NULL);
    json_set_int(json_sub(out, "spec"), "replicas",
                 strcmp(name, app->name) == 0 && app->replicas > 0 ? app->replicas : 1);
    select_by(arena, out, app_labels(arena, app, name));
    struct json_object *list = json_own(arena, json_object_new_array());
    json_object_array_add(list, json_object_get(app_container(arena, app, version)));
    json_set(json_at(out, "spec", "template", "spec", NULL), "containers", list);
    return out;
}

struct json_object *app_other(struct arena *arena, const struct app *app)
{
    static const struct app plain = {.name = "other"};
    struct json_object *out =
        app_deployment(arena, &plain, user_name(arena, "NAME-other", app->name), APP_STRANGER);
    select_by(arena, out, user_json(arena, app->other, app->name, NULL));
    return out;
}

struct json_object *app_hashed_map(struct arena *arena, const struct app *app, const char *version)
{
    return user_json(arena,
                     arena_printf(arena,
                                  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{"
                                  "'name':'NAME-settings-%s','namespace':'test'},'data':{"
                                  "'DEMO_MESSAGE':'hello of %s'}}",
                                  version, version),
                     app->name, NULL);
}

struct json_object *app_config_map(struct arena *arena, const struct app *app)
{
    return user_json(arena,
                     "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'NAME-settings',"
                     "'namespace':'test'},'data':{'DEMO_MESSAGE':'hello'}}",
                     app->name, NULL);
}

struct json_object *app_secret(struct arena *arena, const struct app *app)
{
    return user_json(arena,
                     "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'NAME-keys',"
                     "'namespace':'test'},'data':{'KEY':'b25l'}}",
                     app->name, NULL);
}

struct json_object *app_scaler(struct arena *arena, const struct app *app)
{
    return user_json(
        arena,
        "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{"
        "'name':'NAME','namespace':'test'},'spec':{'scaleTargetRef':{'apiVersion':'apps/v1',"
        "'kind':'Deployment','name':'NAME'},'minReplicas':2,'maxReplicas':3,'metrics':["
        "{'type':'Resource','resource':{'name':'cpu','target':{'type':'Utilization',"
        "'averageUtilization':99}}}]}}",
        app->name, NULL);
}
