/* The Deployment for a Rollout, and the objects that scale or protect its pods. */
#include <string.h>

#include "ctl/convert/parts.h"

static bool refuse(const struct rollout *r, const char *why)
{
    json_object_array_add(r->conversion->mistakes,
                          json_object_new_string(arena_printf(r->arena, "%s: %s", r->label, why)));
    return false;
}

/* Copies labels or annotations other than those of kubectl and Argo. */
static void copy_metadata(const struct rollout *r, struct json_object *to, const char *key)
{
    struct json_object *from = json_at(r->object, "metadata", key, NULL);

    if (!json_object_is_type(from, json_type_object))
        return;
    json_object_object_foreach(from, name, value)
    {
        if (strncmp(name, "kubectl.kubernetes.io/", 22) != 0 &&
            strncmp(name, "rollout.argoproj.io/", 20) != 0)
            json_set(json_sub(to, key), name, value);
    }
}

/* --- the label that distinguishes both sides */

static bool has_label_of_selector(struct json_object *labels)
{
    static const char *const names[] = {"app", "name", "app.kubernetes.io/name"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (json_str_at(labels, names[i], NULL))
            return true;
    return false;
}

static void add_label_of_selector(const struct rollout *r, struct json_object *spec)
{
    static const char why[] =
        "no label app, name or app.kubernetes.io/name is in the selector, and "
        "one of them tells the primary's pods: app is added";
    struct json_object *selector = json_sub(json_sub(spec, "selector"), "matchLabels");

    if (has_label_of_selector(selector))
        return;
    json_set_str(selector, "app", r->target);
    json_set_str(json_sub(json_sub(json_sub(spec, "template"), "metadata"), "labels"), "app",
                 r->target);
    commented_add(r->arena, r->deployment, "spec.selector.matchLabels.app", "%s", why);
}

/* --- the Deployment */

/* maxSurge and maxUnavailable also apply to rolling updates of the primary. */
static void add_rolling_update(const struct rollout *r, struct json_object *spec)
{
    static const char *const keys[] = {"maxSurge", "maxUnavailable"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct json_object *value = json_at(r->canary, keys[i], NULL);
        if (!value)
            continue;
        struct json_object *strategy = json_sub(spec, "strategy");
        json_set_str(strategy, "type", "RollingUpdate");
        json_set(json_sub(strategy, "rollingUpdate"), keys[i], value);
    }
}

static void from_template(struct rollout *r)
{
    static const char *const keys[] = {
        "replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds",
        "selector", "template"};
    struct json_object *deployment =
        object_new(r->arena, "apps/v1", "Deployment", r->namespace_, r->name);
    struct json_object *spec = json_sub(deployment, "spec");

    r->target = r->name;
    copy_metadata(r, json_at(deployment, "metadata", NULL), "labels");
    copy_metadata(r, json_at(deployment, "metadata", NULL), "annotations");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct json_object *value = json_at(r->spec, keys[i], NULL);
        if (value)
            json_set(spec, keys[i], json_copy(r->arena, value));
    }
    r->deployment = conversion_add(r->conversion, deployment);
    add_rolling_update(r, spec);
    add_label_of_selector(r, spec);
    r->template = json_at(spec, "template", NULL);
    r->selector = json_at(spec, "selector", "matchLabels", NULL);
}

/* Uses the Deployment of the workloadRef from the files, with the Rollout's replicas. */
static bool from_workload(struct rollout *r, struct json_object *ref)
{
    const char *name = json_str_at(ref, "name", NULL), *kind = json_str_at(ref, "kind", NULL);
    struct json_object *found, *replicas = json_at(r->spec, "replicas", NULL);

    if (!name || !*name || !kind || strcmp(kind, "Deployment") != 0)
        return refuse(r, "spec.workloadRef: expected a Deployment with a name; other kinds have no "
                         "counterpart");
    r->target = name;
    found = conversion_find(r->conversion, "apps", "Deployment", r->namespace_, name);
    if (!found) {
        conversion_lose(
            r->conversion, r->label, "spec.workloadRef",
            "Deployment %s %s: it stays as it is; give it the Rollout's replicas "
            "before the switch",
            name, conversion_absent(r->conversion, "apps", "Deployment", r->namespace_, name));
        return true;
    }
    struct json_object *deployment = object_as_written(r->arena, found);
    r->deployment = conversion_add(r->conversion, deployment);
    if (replicas && !json_same(replicas, json_at(deployment, "spec", "replicas", NULL))) {
        json_set(json_sub(deployment, "spec"), "replicas", replicas);
        commented_add(r->arena, r->deployment, "spec.replicas",
                      "those of the Rollout, which has scaled this Deployment down");
    }
    r->template = json_at(deployment, "spec", "template", NULL);
    r->selector = json_at(deployment, "spec", "selector", "matchLabels", NULL);
    return true;
}

bool workload_convert(struct rollout *r)
{
    struct json_object *ref = json_at(r->spec, "workloadRef", NULL);

    if (ref)
        return from_workload(r, ref);
    if (!json_object_is_type(json_at(r->spec, "template", "spec", "containers", NULL),
                             json_type_array))
        return refuse(r, "spec.template: expected pods with containers, or a spec.workloadRef");
    from_template(r);
    return true;
}

/* --- autoscalers and budgets */

static bool scales(const struct rollout *r, struct json_object *object)
{
    struct json_object *ref = json_at(object, "spec", "scaleTargetRef", NULL);
    const char *kind = json_str_at(ref, "kind", NULL), *name = json_str_at(ref, "name", NULL);

    if (!kind || !name)
        return false;
    return (strcmp(kind, "Rollout") == 0 && strcmp(name, r->name) == 0) ||
           (strcmp(kind, "Deployment") == 0 && strcmp(name, r->target) == 0);
}

static bool on_scaler(void *arg, struct json_object *object)
{
    struct rollout *r = arg;
    const char *kind = json_str_at(object, "kind", NULL);
    const char *version = json_str_at(object, "apiVersion", NULL);
    const char *name = json_str_at(object, "metadata", "name", NULL);
    bool hpa = strcmp(kind, "HorizontalPodAutoscaler") == 0;

    if (!name || !scales(r, object) || r->scaler)
        return false;
    struct json_object *scaler = object_as_written(r->arena, object);
    struct json_object *target = json_sub(json_sub(scaler, "spec"), "scaleTargetRef");
    json_set_str(target, "apiVersion", "apps/v1");
    json_set_str(target, "kind", "Deployment");
    json_set_str(target, "name", r->target);
    commented_add(r->arena, conversion_add(r->conversion, scaler), "spec.scaleTargetRef",
                  "was the Rollout; the primary gets a copy of this autoscaler, which scales what "
                  "serves, and this one rests between releases");
    struct json_object *ref = json_sub(json_sub(r->out->object, "spec"), "autoscalerRef");
    json_set_str(ref, "apiVersion", version);
    json_set_str(ref, "kind", kind);
    json_set_str(ref, "name", name);
    r->scaler = arena_printf(r->arena, "%s %s", hpa ? "hpa" : "scaledobject", name);
    return true;
}

/* True if the pods have all labels of the selector. */
bool workload_selected(const struct rollout *r, struct json_object *selector)
{
    struct json_object *labels = json_at(r->template, "metadata", "labels", NULL);
    bool any = false;

    if (!json_object_is_type(selector, json_type_object))
        return false;
    json_object_object_foreach(selector, key, value)
    {
        const char *own = json_str_at(labels, key, NULL);
        if (!own || !json_object_is_type(value, json_type_string) ||
            strcmp(own, json_object_get_string(value)) != 0)
            return false;
        any = true;
    }
    return any;
}

static bool on_budget(void *arg, struct json_object *object)
{
    enum { MOST = 16 };
    struct rollout *r = arg;
    const char *name = json_str_at(object, "metadata", "name", NULL);
    struct json_object *spec = json_at(r->out->object, "spec", NULL), *list, *row;

    if (!name || json_at(object, "spec", "selector", "matchExpressions", NULL) ||
        !workload_selected(r, json_at(object, "spec", "selector", "matchLabels", NULL)))
        return false;
    list = json_at(spec, "companions", NULL);
    if (json_len(list) >= MOST)
        return true;
    if (!list) {
        list = json_own(r->arena, json_object_new_array());
        json_set(spec, "companions", list);
        commented_add(r->arena, r->out, "spec.companions",
                      "the budget selects the canary's pods: the primary gets a copy that selects "
                      "its own; keep the budget itself");
    }
    row = json_object_new_object();
    json_set_str(row, "kind", "PodDisruptionBudget");
    json_set_str(row, "name", name);
    json_object_array_add(list, row);
    return false;
}

void workload_scalers(struct rollout *r)
{
    (void)(conversion_each(r->conversion, "autoscaling", "HorizontalPodAutoscaler", r->namespace_,
                           on_scaler, r) ||
           conversion_each(r->conversion, "keda.sh", "ScaledObject", r->namespace_, on_scaler, r));
    (void)conversion_each(r->conversion, "policy", "PodDisruptionBudget", r->namespace_, on_budget,
                          r);
}
