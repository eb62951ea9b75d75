#include "router/shared/services.h"

#include <string.h>

#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

/* The wanted state of one Service. */
struct wanted {
    const char *name;
    bool primary;                 /* selects the primary's pods */
    bool idle;                    /* receives no requests, so it may select no pod */
    struct json_object *metadata; /* {labels, annotations} of the spec, or NULL */
    struct json_object *shared;   /* selector for the pods of both sides; NULL: for one side */
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

static bool is_same_port(struct json_object *a, struct json_object *b)
{
    const char *protocol = json_str_at(a, "protocol", NULL);
    const char *other = json_str_at(b, "protocol", NULL);

    return json_int_at(a, 0, "port", NULL) == json_int_at(b, 0, "port", NULL) &&
           strcmp(protocol ? protocol : "TCP", other ? other : "TCP") == 0;
}

static struct json_object *same_port(struct json_object *ports, struct json_object *port)
{
    for (size_t i = 0; i < json_len(ports); i++) {
        if (is_same_port(json_elem(ports, i), port))
            return json_elem(ports, i);
    }
    return NULL;
}

/* True if its ports are open to clients outside the cluster. */
static bool is_exposed(struct json_object *service)
{
    const char *type = json_str_at(service, "spec", "type", NULL);

    return type && (strcmp(type, "LoadBalancer") == 0 || strcmp(type, "NodePort") == 0);
}

/*
 * Ports from the spec: the main port and the discovered ones. (Flagger exposes every port of the
 * pods on a load balancer, including those for metrics and administration; here only ports that the
 * load balancer already has are exposed.)
 */
static struct json_object *spec_ports(struct tick *tick, const struct service_pods *pods,
                                      struct json_object *service)
{
    struct json_object *all = edit_array(tick->arena);
    struct json_object *live = json_at(service, "spec", "ports", NULL);

    edit_add(all, main_port(tick));
    for (size_t i = 0; i < json_len(pods->ports); i++) {
        struct json_object *port = json_elem(pods->ports, i);
        if (!is_exposed(service) || same_port(live, port))
            edit_add(all, json_copy(tick->arena, port));
    }
    return all;
}

static bool has_name(struct json_object *ports, const char *name)
{
    for (size_t i = 0; i < json_len(ports); i++) {
        const char *found = json_str_at(json_elem(ports, i), "name", NULL);
        if (found && strcmp(found, name) == 0)
            return true;
    }
    return false;
}

/* With several ports, each needs a unique name. */
static const char *free_name(struct tick *tick, struct json_object *all, struct json_object *live,
                             struct json_object *port)
{
    const char *name = json_str_at(port, "name", NULL);
    long long number = (long long)json_int_at(port, 0, "port", NULL);

    if (name && !has_name(all, name))
        return name;
    name = arena_printf(tick->arena, "was-%lld", number);
    for (int i = 2; has_name(all, name) || has_name(live, name); i++)
        name = arena_printf(tick->arena, "was-%lld-%d", number, i);
    return name;
}

/* Adds live ports that are not in the spec. */
static void keep_old_ports(struct tick *tick, struct json_object *all, struct json_object *live)
{
    for (size_t i = 0; i < json_len(live); i++) {
        struct json_object *port = json_copy(tick->arena, json_elem(live, i));
        if (same_port(all, port))
            continue;
        json_set_str(port, "name", free_name(tick, all, live, port));
        edit_add(all, port);
    }
}

/* Each port merged into the live one with the same number, to keep its node port; in the order of
 * the live ports if the numbers are the same. A Service that existed before the Canary keeps every
 * port, since its other clients are unknown. */
static struct json_object *wanted_ports(struct tick *tick, const struct service_pods *pods,
                                        struct json_object *service)
{
    struct json_object *live = json_at(service, "spec", "ports", NULL);
    struct json_object *all = spec_ports(tick, pods, service);
    struct json_object *sorted = edit_array(tick->arena);

    if (!pods->drop_old_ports || !edit_is_owned(tick, service))
        keep_old_ports(tick, all, live);
    for (size_t i = 0; i < json_len(all); i++)
        edit_pair(json_elem(all, i), same_port(live, json_elem(all, i)));
    for (size_t i = 0; i < json_len(live) && json_len(live) == json_len(all); i++) {
        struct json_object *port = same_port(all, json_elem(live, i));
        if (!port)
            return all;
        edit_add(sorted, port);
    }
    return json_len(sorted) > 0 ? sorted : all;
}

/*
 * The content of a Service of ours. Others may change its type later; a headless Service cannot be
 * changed. Its selector is entirely ours.
 */
static struct json_object *wanted_service(struct tick *tick, const struct service_pods *pods,
                                          const struct wanted *wanted, struct json_object *live)
{
    static const char *const maps[] = {"labels", "annotations"};
    struct json_object *object = edit_object(tick->arena);
    struct json_object *spec = json_sub(object, "spec");

    for (int i = 0; i < 2; i++)
        json_set(json_sub(object, "metadata"), maps[i],
                 edit_without_gitops(tick->arena, json_at(wanted->metadata, maps[i], NULL)));
    json_object_object_del(json_at(object, "metadata", "labels", NULL), pods->label);
    json_set_str(spec, "trafficDistribution", tick->canary->service.traffic_distribution);
    json_set(spec, "ports", wanted_ports(tick, pods, live));
    return object;
}

/* Metadata of each Service of ours: the label with its name, and annotations for GitOps tools. */
static void set_own_metadata(const struct service_pods *pods, const struct wanted *wanted,
                             struct json_object *service)
{
    struct json_object *metadata = json_sub(service, "metadata");

    json_set_str(json_sub(metadata, "labels"), pods->label, wanted->name);
    edit_disown_gitops(json_sub(metadata, "annotations"));
}

bool services_select(struct json_object *selector, struct json_object *template)
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

const char *services_print(struct tick *tick, struct json_object *selector)
{
    const char *text = "";

    json_object_object_foreach(selector, key, value)
    {
        text = arena_printf(tick->arena, "%s%s%s=%s", text, *text ? "," : "", key,
                            json_object_get_string(value));
    }
    return text;
}

struct json_object *services_share(struct arena *arena, struct json_object *live, int *weight)
{
    enum { TEXT_MAX = 16 * 1024 };
    const char *text = json_str_at(live, "metadata", "annotations", SERVICES_SHARE, NULL);
    struct json_object *share = NULL;
    struct errinfo ei;

    *weight = 0;
    if (!text || json_parse(arena, text, strlen(text), TEXT_MAX, &share, &ei) != ERR_OK)
        return NULL;
    int64_t percent = json_int_at(share, 0, "weight", NULL);
    struct json_object *selector = json_at(share, "selector", NULL);
    if (percent < 1 || percent > 100 || json_count(selector) == 0)
        return NULL;
    *weight = WEIGHT_PERCENT * (int)percent;
    return selector;
}

void services_put_share(struct arena *arena, struct json_object *copy, int weight,
                        struct json_object *selector)
{
    struct json_object *share = edit_object(arena);

    json_del(json_at(copy, "metadata", "annotations", NULL), SERVICES_SHARE);
    if (selector)
        json_set(json_sub(copy, "spec"), "selector", json_copy(arena, selector));
    if (weight == 0)
        return;
    weight_put(arena, share, "weight", weight);
    json_set(share, "selector", json_copy(arena, json_at(copy, "spec", "selector", NULL)));
    json_set_str(json_sub(json_sub(copy, "metadata"), "annotations"), SERVICES_SHARE,
                 json_text_sorted(arena, share));
}

/* Number of ready pods, of both sides, that the selector matches. */
static int64_t endpoints(const struct service_pods *pods, struct json_object *selector)
{
    return pods->ready(pods->arg, true, selector) + pods->ready(pods->arg, false, selector);
}

static bool takes_last_pod(const struct service_pods *pods, struct json_object *live,
                           struct json_object *selector)
{
    return pods->ready && endpoints(pods, live) > 0 && endpoints(pods, selector) == 0;
}

/* The guard for a selector that will lead to one side. */
static struct json_object *guarded(const struct service_pods *pods, const struct wanted *wanted,
                                   struct json_object *live, struct json_object *selector)
{
    struct json_object *template = wanted->primary ? pods->primary : pods->target;

    if (!live)
        return selector;
    if (json_same(live, selector) || !services_select(selector, template))
        return live;
    if (!services_select(live, template) && pods->answers &&
        !pods->answers(pods->arg, wanted->primary))
        return live;
    return !wanted->idle && takes_last_pod(pods, live, selector) ? live : selector;
}

struct json_object *services_selector(const struct service_pods *pods, bool primary,
                                      struct json_object *live)
{
    return guarded(pods, &(struct wanted){.primary = primary}, live,
                   pods->selector(pods->arg, primary, live));
}

static struct json_object *new_service(struct tick *tick, const struct service_pods *pods,
                                       const struct wanted *wanted)
{
    struct json_object *object = edit_new(tick, &kube_services, wanted->name);
    struct json_object *spec = json_sub(object, "spec");

    json_set_str(spec, "type", "ClusterIP");
    if (tick->canary->service.headless)
        json_set_str(spec, "clusterIP", "None");
    json_set(spec, "selector", pods->selector(pods->arg, wanted->primary, NULL));
    set_own_metadata(pods, wanted, object);
    return applied_lay(tick->arena, NULL, object, wanted_service(tick, pods, wanted, NULL));
}

static void create_service(struct tick *tick, struct json_object *object)
{
    plan_create(tick, &kube_services, tick->canary->namespace_, object);
    plan_why(tick, "-> %s", services_print(tick, json_at(object, "spec", "selector", NULL)));
}

/* Keys managed by others: their values stay, whatever we apply. */
static void leave_unmanaged(struct tick *tick, struct json_object *live, struct json_object *base,
                            struct json_object *wanted, const char *map, const char **unmanaged)
{
    struct json_object *values = json_at(wanted, "metadata", map, NULL);
    struct json_object *ours = json_sub(json_sub(base, "metadata"), map);

    for (; unmanaged && *unmanaged; unmanaged++) {
        struct json_object *set = json_at(live, "metadata", map, *unmanaged, NULL);
        struct json_object *value = set ? set : json_at(values, *unmanaged, NULL);
        if (value)
            json_set(ours, *unmanaged, value);
        json_object_object_del(values, *unmanaged);
        applied_disclaim(tick->arena, base, map, *unmanaged);
    }
}

/* Only the selector and ports of a Service that existed before the Canary are ours. Annotations ask
 * its manager to leave it alone, or else it would lead to the target again. */
static void update_service(struct tick *tick, const struct service_pods *pods,
                           const struct wanted *wanted, struct json_object *live)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *to = json_copy(tick->arena, live);
    struct json_object *all = wanted_service(tick, pods, wanted, live);

    struct json_object *selects = json_at(live, "spec", "selector", NULL);
    struct json_object *selector = wanted->shared;
    if (!selector) {
        selector =
            guarded(pods, wanted, selects, pods->selector(pods->arg, wanted->primary, selects));
        json_del(json_at(to, "metadata", "annotations", NULL), SERVICES_SHARE);
    }
    if (!json_same(selects, selector))
        json_set(json_sub(to, "spec"), "selector", selector);
    if (edit_is_owned(tick, live)) {
        set_own_metadata(pods, wanted, to);
        leave_unmanaged(tick, live, to, all, "labels", service->unmanaged_labels);
        leave_unmanaged(tick, live, to, all, "annotations", service->unmanaged_annotations);
        to = applied_lay(tick->arena, live, to, all);
    } else {
        edit_disown_gitops(json_sub(json_sub(to, "metadata"), "annotations"));
        json_set(json_sub(to, "spec"), "ports",
                 edit_overlay(tick->arena, json_at(live, "spec", "ports", NULL),
                              json_at(all, "spec", "ports", NULL)));
    }
    plan_update(tick, &kube_services, live, to);
}

static void reconcile(struct tick *tick, const struct service_pods *pods,
                      const struct wanted *wanted, struct json_object *live)
{
    if (live)
        update_service(tick, pods, wanted, live);
    else
        create_service(tick, new_service(tick, pods, wanted));
}

/* Reads those of the three Services that exist; the others are NULL. Returns false if they are not
 * known yet. */
static bool need_services(struct tick *tick, struct json_object *live[3])
{
    const struct canary_service *service = &tick->canary->service;
    const char *const names[] = {service->name, service->primary_name, service->canary_name};
    bool known = true;

    for (int i = 0; i < 3; i++)
        live[i] = NULL;
    for (int i = 0; i < 3 && !canary_is_worker(tick->canary); i++)
        known = need_object(tick, &kube_services, tick->canary->namespace_, names[i], &live[i]) &&
                known;
    return known;
}

static struct json_object *port_of(struct tick *tick, struct json_object *service,
                                   struct json_object *port)
{
    struct json_object *out = edit_object(tick->arena);

    json_set_str(out, "name", json_str_at(service, "metadata", "name", NULL));
    json_set(out, "port", json_at(port, "port", NULL));
    return out;
}

static struct json_object *with_number(struct json_object *service, int64_t port)
{
    struct json_object *ports = json_at(service, "spec", "ports", NULL);

    for (size_t i = 0; i < json_len(ports); i++) {
        if (json_int_at(json_elem(ports, i), 0, "port", NULL) == port)
            return json_elem(ports, i);
    }
    return NULL;
}

/* The wanted port of `service` that `other` has as well, else the first such one; NULL if none. */
static struct json_object *common_port(struct json_object *service, struct json_object *other,
                                       int64_t wanted)
{
    struct json_object *ports = json_at(service, "spec", "ports", NULL);
    struct json_object *found = with_number(other, wanted) ? with_number(service, wanted) : NULL;

    for (size_t i = 0; i < json_len(ports) && !found; i++) {
        struct json_object *port = json_elem(ports, i);
        found = with_number(other, json_int_at(port, 0, "port", NULL)) ? port : NULL;
    }
    return found;
}

enum rule_result services_keep_port(struct tick *tick)
{
    struct json_object *live[3];

    if (!need_services(tick, live))
        return RULE_NEEDS_FACTS;
    struct json_object *apex = live[0], *primary = live[1], *canary = live[2];
    struct json_object *kept = common_port(primary, canary, tick->canary->service.port);
    tick->route_port = (int)json_int_at(kept, 0, "port", NULL);
    tick->route_target_port = json_at(kept, "targetPort", NULL);
    tick->apex_port =
        (int)json_int_at(common_port(apex, apex, tick_route_port(tick)), 0, "port", NULL);
    return RULE_CONTINUE;
}

enum rule_result services_old_ports(struct tick *tick, const struct service_pods *pods, bool *adds,
                                    struct json_object **old)
{
    struct json_object *spec = spec_ports(tick, pods, NULL);
    struct json_object *live[3];
    bool known = need_services(tick, live);

    *adds = false;
    *old = edit_array(tick->arena);
    for (int i = 0; i < 3; i++) {
        struct json_object *ports = json_at(live[i], "spec", "ports", NULL);
        for (size_t k = 0; edit_is_owned(tick, live[i]) && k < json_len(ports); k++)
            if (!same_port(spec, json_elem(ports, k)))
                edit_add(*old, port_of(tick, live[i], json_elem(ports, k)));
        for (size_t k = 0; live[i] && k < json_len(spec); k++)
            *adds = *adds || !same_port(ports, json_elem(spec, k));
    }
    return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

enum rule_result services_found_ports(struct tick *tick, const struct service_pods *pods,
                                      const char **out)
{
    struct json_object *spec = spec_ports(tick, pods, NULL);
    struct json_object *live[3];
    bool known = need_services(tick, live);

    *out = NULL;
    for (int i = 0; i < 3; i++) {
        struct json_object *ports = json_at(live[i], "spec", "ports", NULL);
        for (size_t k = 0; !edit_is_owned(tick, live[i]) && k < json_len(ports); k++) {
            struct json_object *port = json_elem(ports, k);
            if (!same_port(spec, port))
                *out = arena_printf(tick->arena, "%s%s%lld of %s", *out ? *out : "",
                                    *out ? ", " : "", (long long)json_int_at(port, 0, "port", NULL),
                                    json_str_at(live[i], "metadata", "name", NULL));
        }
    }
    return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

enum rule_result services_reconcile_sides(struct tick *tick, const struct service_pods *pods)
{
    const struct canary_service *service = &tick->canary->service;
    const struct wanted canary = {
        .name = service->canary_name,
        .metadata = service->canary,
        .idle = tick->canary->status.canary_weight == 0,
    };
    const struct wanted primary = {
        .name = service->primary_name,
        .primary = true,
        .metadata = service->primary,
    };
    struct json_object *live_canary, *live_primary;

    if (canary_is_worker(tick->canary))
        return RULE_CONTINUE;
    bool known =
        need_object(tick, &kube_services, tick->canary->namespace_, canary.name, &live_canary);

    known =
        need_object(tick, &kube_services, tick->canary->namespace_, primary.name, &live_primary) &&
        known;
    if (!known)
        return RULE_NEEDS_FACTS;
    reconcile(tick, pods, &canary, live_canary);
    reconcile(tick, pods, &primary, live_primary);
    return RULE_CONTINUE;
}

enum rule_result services_reconcile_apex(struct tick *tick, const struct service_pods *pods)
{
    const struct canary_service *service = &tick->canary->service;
    struct wanted apex = {
        .name = service->name,
        .primary = !pods->apex_to_target,
        .metadata = service->apex,
    };
    struct json_object *live;
    int weight;

    if (canary_is_worker(tick->canary))
        return RULE_CONTINUE;
    if (!need_object(tick, &kube_services, tick->canary->namespace_, apex.name, &live))
        return RULE_NEEDS_FACTS;
    if (pods->apex_shared)
        apex.shared = services_share(tick->arena, live, &weight);
    if (pods->apex_shared && live && weight != pods->apex_share)
        apex.shared = json_at(live, "spec", "selector", NULL);
    reconcile(tick, pods, &apex, live);
    return RULE_CONTINUE;
}

/* The cluster does not allow changing it. */
const char *services_ignored(struct tick *tick)
{
    const struct canary_service *service = &tick->canary->service;
    const char *const names[] = {service->name, service->primary_name, service->canary_name};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct json_object *live;
        if (!need_object(tick, &kube_services, tick->canary->namespace_, names[i], &live) || !live)
            continue;
        const char *address = json_str_at(live, "spec", "clusterIP", NULL);
        bool headless = address && strcmp(address, "None") == 0;
        if (address && headless != service->headless && edit_is_owned(tick, live))
            return "spec.service.headless";
    }
    return NULL;
}

/* The selector applied by kubectl; NULL if there is none or it is unusable. */
static struct json_object *applied_selector(struct tick *tick, struct json_object *live)
{
    enum { ANNOTATION_MAX = 256 * 1024 }; /* limit of Kubernetes per object */
    const char *text = json_str_at(live, "metadata", "annotations",
                                   "kubectl.kubernetes.io/last-applied-configuration", NULL);
    struct json_object *applied;
    struct errinfo ei;

    if (!text ||
        json_parse(tick->arena, text, strlen(text), ANNOTATION_MAX, &applied, &ei) != ERR_OK)
        return NULL;
    return json_at(applied, "spec", "selector", NULL);
}

enum rule_result services_revert_apex(struct tick *tick, const struct service_pods *pods,
                                      bool recreate)
{
    const struct canary_service *service = &tick->canary->service;
    const struct wanted apex = {
        .name = service->name,
        .metadata = service->apex,
    };
    struct json_object *live;

    if (canary_is_worker(tick->canary))
        return RULE_CONTINUE;
    if (!need_object(tick, &kube_services, tick->canary->namespace_, apex.name, &live))
        return RULE_NEEDS_FACTS;
    if (!live) {
        if (recreate && service->port > 0)
            create_service(tick, edit_released(tick, new_service(tick, pods, &apex), true));
        return RULE_CONTINUE;
    }
    struct json_object *to = json_copy(tick->arena, live);
    struct json_object *selects = json_at(live, "spec", "selector", NULL);
    struct json_object *selector = applied_selector(tick, live);
    if (edit_is_owned(tick, live) || !services_select(selector, pods->target))
        selector = pods->selector(pods->arg, false, selects);
    selector = guarded(pods, &apex, selects, selector);
    json_set(json_sub(to, "spec"), "selector", selector);
    json_del(json_at(to, "metadata", "annotations", NULL), SERVICES_SHARE);
    /* routes will refer to the spec's port, which may be new */
    json_set(json_sub(to, "spec"), "ports",
             edit_overlay(tick->arena, json_at(live, "spec", "ports", NULL),
                          json_at(wanted_service(tick, pods, &apex, live), "spec", "ports", NULL)));
    if (plan_update(tick, &kube_services, live, to))
        plan_why(tick, "-> %s", json_text_sorted(tick->arena, selector));
    return RULE_CONTINUE;
}

enum rule_result services_disown_apex(struct tick *tick)
{
    struct json_object *live;

    if (canary_is_worker(tick->canary))
        return RULE_CONTINUE;
    if (!need_object(tick, &kube_services, tick->canary->namespace_, tick->canary->service.name,
                     &live))
        return RULE_NEEDS_FACTS;
    if (live && plan_update(tick, &kube_services, live, edit_released(tick, live, true)))
        plan_why(tick, "outlives the canary");
    return RULE_CONTINUE;
}
