#include "router/common_services.h"

#include <string.h>

#include "tick/edit.h"

/* One Service as the spec wants it. */
struct wanted {
    const char *name;
    const char *selects;          /* value of the selector label */
    struct json_object *metadata; /* {labels, annotations} of the spec, or NULL */
};

static struct json_object *main_port(struct tick *tick)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *port = edit_object(tick->arena);

    json_set_str(port, "name", service->port_name);
    json_set_str(port, "protocol", "TCP");
    json_set_int(port, "port", service->port);
    if (service->target_port)
        json_set(port, "targetPort", json_copy(tick->arena, service->target_port));
    else
        json_set_int(port, "targetPort", service->port);
    if (service->app_protocol && *service->app_protocol)
        json_set_str(port, "appProtocol", service->app_protocol);
    else
        json_set(port, "appProtocol", NULL); /* removes it from a live port */
    return port;
}

static struct json_object *live_port(struct json_object *live, struct json_object *port)
{
    for (size_t i = 0; i < json_len(live); i++) {
        if (json_int_at(json_elem(live, i), 0, "port", NULL) == json_int_at(port, 0, "port", NULL))
            return json_elem(live, i);
    }
    return NULL;
}

/* The ports laid over the live ones of the same number, which keep their node ports; the live list
 * itself when it says the same in another order. */
static struct json_object *merge_ports(struct tick *tick, const struct service_pods *pods,
                                       struct json_object *live)
{
    struct json_object *out = edit_array(tick->arena);
    bool same = json_len(live) == 1 + json_len(pods->ports);

    for (size_t i = 0; i < 1 + json_len(pods->ports); i++) {
        struct json_object *port = i == 0 ? main_port(tick) : json_elem(pods->ports, i - 1);
        struct json_object *old = live_port(live, port);
        struct json_object *merged = edit_overlay(tick->arena, old, port);
        same = same && old && json_same(old, merged);
        json_object_array_add(out, json_object_get(merged));
    }
    return same ? live : out;
}

static struct json_object *wanted_labels(struct tick *tick, const struct service_pods *pods,
                                         const struct wanted *wanted)
{
    struct json_object *labels =
        edit_overlay(tick->arena, NULL,
                     edit_without_toolkit(tick->arena, json_at(wanted->metadata, "labels", NULL)));

    json_set_str(labels, pods->label, wanted->name);
    return labels;
}

static struct json_object *wanted_annotations(struct tick *tick, const struct wanted *wanted)
{
    struct json_object *annotations =
        edit_without_toolkit(tick->arena, json_at(wanted->metadata, "annotations", NULL));

    edit_disown_toolkit(annotations);
    return annotations;
}

static struct json_object *new_service(struct tick *tick, const struct service_pods *pods,
                                       const struct wanted *wanted)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *object = edit_new(tick, &kube_services, wanted->name);
    struct json_object *metadata = json_sub(object, "metadata");
    struct json_object *spec = json_sub(object, "spec");

    json_set(metadata, "labels", wanted_labels(tick, pods, wanted));
    json_set(metadata, "annotations", wanted_annotations(tick, wanted));
    json_set_str(spec, "type", "ClusterIP");
    if (service->headless)
        json_set_str(spec, "clusterIP", "None");
    json_set_str(spec, "trafficDistribution", service->traffic_distribution);
    json_set_str(json_sub(spec, "selector"), pods->label, wanted->selects);
    json_set(spec, "ports", merge_ports(tick, pods, NULL));
    return object;
}

static void create_service(struct tick *tick, const struct service_pods *pods,
                           const struct wanted *wanted, struct json_object *object)
{
    plan_create(tick, &kube_services, tick->canary->namespace_, object);
    plan_why(tick, "-> %s=%s", pods->label, wanted->selects);
}

/* Lays `values` over the live map, except for keys that others manage and have set. */
static void lay_over(struct tick *tick, struct json_object *metadata, const char *key,
                     struct json_object *values, const char **unmanaged)
{
    struct json_object *live = json_at(metadata, key, NULL);

    for (; unmanaged && *unmanaged; unmanaged++) {
        if (json_at(live, *unmanaged, NULL))
            json_object_object_del(values, *unmanaged);
    }
    json_set(metadata, key, edit_overlay(tick->arena, live, values));
}

static void update_service(struct tick *tick, const struct service_pods *pods,
                           const struct wanted *wanted, struct json_object *live)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *to = json_copy(tick->arena, live);
    struct json_object *spec = json_sub(to, "spec");
    struct json_object *selector = edit_object(tick->arena);

    json_set_str(selector, pods->label, wanted->selects);
    json_set(spec, "selector", selector);
    json_set(spec, "ports", merge_ports(tick, pods, json_at(live, "spec", "ports", NULL)));
    if (edit_is_owned(tick, live)) {
        struct json_object *metadata = json_sub(to, "metadata");
        lay_over(tick, metadata, "labels", wanted_labels(tick, pods, wanted),
                 service->unmanaged_labels);
        lay_over(tick, metadata, "annotations", wanted_annotations(tick, wanted),
                 service->unmanaged_annotations);
    }
    plan_update(tick, &kube_services, live, to);
}

static void reconcile(struct tick *tick, const struct service_pods *pods,
                      const struct wanted *wanted, struct json_object *live)
{
    if (live)
        update_service(tick, pods, wanted, live);
    else
        create_service(tick, pods, wanted, new_service(tick, pods, wanted));
}

enum verdict services_reconcile_sides(struct tick *tick, const struct service_pods *pods)
{
    const struct canary_service *service = &tick->canary->service;
    const struct wanted canary = {
        .name = service->canary_name, .selects = pods->value, .metadata = service->canary};
    const struct wanted primary = {
        .name = service->primary_name,
        .selects = arena_printf(tick->arena, "%s-primary", pods->value),
        .metadata = service->primary,
    };
    struct json_object *live_canary, *live_primary;
    bool known =
        need_object(tick, &kube_services, tick->canary->namespace_, canary.name, &live_canary);

    known =
        need_object(tick, &kube_services, tick->canary->namespace_, primary.name, &live_primary) &&
        known;
    if (!known)
        return VERDICT_NEED_FACTS;
    reconcile(tick, pods, &canary, live_canary);
    reconcile(tick, pods, &primary, live_primary);
    return VERDICT_GO;
}

enum verdict services_reconcile_apex(struct tick *tick, const struct service_pods *pods)
{
    const struct canary_service *service = &tick->canary->service;
    const struct wanted apex = {
        .name = service->name,
        .selects = arena_printf(tick->arena, "%s-primary", pods->value),
        .metadata = service->apex,
    };
    struct json_object *live;

    if (!need_object(tick, &kube_services, tick->canary->namespace_, apex.name, &live))
        return VERDICT_NEED_FACTS;
    reconcile(tick, pods, &apex, live);
    return VERDICT_GO;
}

/* Every pod of the template is selected. */
static bool selects(struct json_object *selector, struct json_object *template)
{
    struct json_object *labels = json_at(template, "metadata", "labels", NULL);

    if (!json_object_is_type(selector, json_type_object) ||
        json_object_object_length(selector) == 0)
        return false;
    json_object_object_foreach(selector, key, value)
    {
        struct json_object *label = json_at(labels, key, NULL);
        if (!label || !json_same(label, value))
            return false;
    }
    return true;
}

/* The selector with which kubectl applied the Service; NULL: it did not, or what it says is of no
 * use. */
static struct json_object *applied_selector(struct tick *tick, struct json_object *live)
{
    const char *text = json_str_at(live, "metadata", "annotations",
                                   "kubectl.kubernetes.io/last-applied-configuration", NULL);
    struct json_object *applied;
    struct errinfo ei;

    if (!text ||
        json_parse(tick->arena, text, strlen(text), JSON_MAX_BYTES, &applied, &ei) != ERR_OK)
        return NULL;
    return json_at(applied, "spec", "selector", NULL);
}

enum verdict services_revert_apex(struct tick *tick, const struct service_pods *pods,
                                  struct json_object *template, bool anew)
{
    const struct canary_service *service = &tick->canary->service;
    const struct wanted apex = {
        .name = service->name, .selects = pods->value, .metadata = service->apex};
    struct json_object *live;

    if (!need_object(tick, &kube_services, tick->canary->namespace_, apex.name, &live))
        return VERDICT_NEED_FACTS;
    if (!live) {
        if (anew && service->port > 0)
            create_service(tick, pods, &apex,
                           edit_released(tick, new_service(tick, pods, &apex), true));
        return VERDICT_GO;
    }
    struct json_object *to = json_copy(tick->arena, live);
    struct json_object *selector = applied_selector(tick, live);
    if (edit_is_owned(tick, live) || !selects(selector, template)) {
        selector = edit_object(tick->arena);
        json_set_str(selector, pods->label, apex.selects);
    }
    json_set(json_sub(to, "spec"), "selector", selector);
    if (plan_update(tick, &kube_services, live, to))
        plan_why(tick, "-> %s", json_text_sorted(tick->arena, selector));
    return VERDICT_GO;
}

enum verdict services_disown_apex(struct tick *tick)
{
    struct json_object *live;

    if (!need_object(tick, &kube_services, tick->canary->namespace_, tick->canary->service.name,
                     &live))
        return VERDICT_NEED_FACTS;
    if (live && edit_is_owned(tick, live) &&
        plan_update(tick, &kube_services, live, edit_released(tick, live, true)))
        plan_why(tick, "outlives the canary");
    return VERDICT_GO;
}
