/*
 * Policies, budgets and monitors that were written for the pods of the target. After initialisation
 * the pods of the primary serve, with another value of one label: a NetworkPolicy or
 * AuthorizationPolicy that selects by it does not apply to them, a PodDisruptionBudget does not
 * protect them, a PodMonitor does not measure them; nor does a ServiceMonitor of another Service of
 * the target. (Flagger does not report it.) They are read when the Canary is initialised and at the
 * end of each release, and never written. Kinds that the cluster does not serve, or the controller
 * may not list, are unknown.
 *
 * For those that spec.companions names, the primary gets a copy NAME-primary that follows the
 * original at any time: a changed budget applies at once, not only to the pods of the target. A
 * copy never selects a pod of its source: the API server refuses every eviction of a pod with two
 * budgets, so that no node could be drained. The rules of a policy about its peers are copied
 * unchanged. None of this delays a release. status.companions lists the copies before the first is
 * made, so that copies the spec no longer names are found without a request.
 *
 * A ServiceMonitor selects Services, by labels of their own. A copy of it would find the same ones,
 * and their pods would be measured twice. So its Services are copied instead, if they lead to the
 * pods of the target and not to the pods of the primary: the copies have the same labels and ports,
 * and the monitor finds them by itself. Services are listed when the monitor is named, and at the
 * end of each release; status.companions has their names.
 */
#include "decide/companions.h"

#include <string.h>

#include "decide/condition.h"
#include "decide/status.h"
#include "router/shared/services.h"
#include "scaler/scaler.h"
#include "target/shared/primary.h"
#include "tick/edit.h"

static const struct kube_resource budgets = {.group = "policy",
                                             .version = "v1",
                                             .plural = "poddisruptionbudgets",
                                             .kind = "PodDisruptionBudget"};
static const struct kube_resource network_policies = {.group = "networking.k8s.io",
                                                      .version = "v1",
                                                      .plural = "networkpolicies",
                                                      .kind = "NetworkPolicy"};
static const struct kube_resource authorizations = {.group = "security.istio.io",
                                                    .version = "v1",
                                                    .plural = "authorizationpolicies",
                                                    .kind = "AuthorizationPolicy"};
static const struct kube_resource monitors = {.group = "monitoring.coreos.com",
                                              .version = "v1",
                                              .plural = "podmonitors",
                                              .kind = "PodMonitor"};
/* Selects Services by their labels, and thereby the pods behind them. */
static const struct kube_resource service_monitors = {.group = "monitoring.coreos.com",
                                                      .version = "v1",
                                                      .plural = "servicemonitors",
                                                      .kind = "ServiceMonitor"};
static const struct {
    const struct kube_resource *resource;
    const char *selector; /* field of spec that selects pods; NULL if it selects Services */
    bool copied;          /* allowed in spec.companions */
} kinds[] = {
    {.resource = &budgets, .selector = "selector", .copied = true},
    {.resource = &network_policies, .selector = "podSelector", .copied = true},
    {.resource = &authorizations, .selector = "selector", .copied = true},
    {.resource = &monitors, .selector = "selector", .copied = true},
    {.resource = &service_monitors, .copied = true},
};
/* MAX_SERVICES: per monitor. */
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), NAMED = 5, MAX_SERVICES = 8 };

static struct json_object *labels_of(struct json_object *workload)
{
    return json_at(workload, "spec", "template", "metadata", "labels", NULL);
}

bool companions_unfit(const char *kind, struct json_object *object, struct json_object *target,
                      struct json_object *primary)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (!kinds[i].selector || strcmp(kinds[i].resource->kind, kind) != 0)
            continue;
        struct json_object *selector = json_at(object, "spec", kinds[i].selector, NULL);
        return primary_selects(selector, target) && !primary_selects(selector, primary);
    }
    return false;
}

static size_t copied_kind(const char *kind)
{
    size_t i = 0;

    while (i < KINDS && !(kinds[i].copied && strcmp(kinds[i].resource->kind, kind) == 0))
        i++;
    return i;
}

const struct kube_resource *companions_resource(const char *kind)
{
    size_t i = copied_kind(kind);

    return i < KINDS ? kinds[i].resource : NULL;
}

const char *companions_selector(const char *kind)
{
    size_t i = copied_kind(kind);

    return i < KINDS ? kinds[i].selector : NULL;
}

const char *companions_kinds(struct arena *arena)
{
    const char *out = "";

    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].copied)
            out = arena_printf(arena, "%s%s%s", out, *out ? ", " : "", kinds[i].resource->kind);
    return out;
}

bool companions_are_named(const struct canary *canary, const char *kind, const char *name)
{
    for (int i = 0; i < canary->n_companions; i++)
        if (strcmp(canary->companions[i].kind, kind) == 0 &&
            strcmp(canary->companions[i].name, name) == 0)
            return true;
    return false;
}

static bool leads_to(struct json_object *service, struct json_object *workload)
{
    return services_select(json_at(service, "spec", "selector", NULL),
                           json_at(workload, "spec", "template", NULL));
}

static bool monitor_finds(struct json_object *monitor, struct json_object *service)
{
    return primary_selects(json_at(monitor, "spec", "selector", NULL),
                           json_at(service, "metadata", "labels", NULL));
}

/*
 * True if a selected Service leads to pods of the target and none leads to those of the primary.
 * The Service of the canary is expected to.
 */
static bool monitor_is_unfit(struct release *r, struct json_object *monitor,
                             struct json_object *services)
{
    bool leads = false;

    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_elem(services, i);
        const char *name = json_str_at(service, "metadata", "name", NULL);
        if (!name || strcmp(name, r->canary->service.canary_name) == 0 ||
            !monitor_finds(monitor, service))
            continue;
        if (leads_to(service, r->info.primary))
            return false;
        leads |= leads_to(service, r->info.object);
    }
    return leads;
}

/* Adds the objects of a list that select the pods of the target and not those of the primary. */
static const char *add_unfit(struct release *r, size_t kind, struct json_object *list,
                             struct json_object *services, const char *text, int *count)
{
    struct json_object *target = labels_of(r->info.object), *primary = labels_of(r->info.primary);

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_elem(list, i);
        const char *name = json_str_at(one, "metadata", "name", NULL);
        bool unfit = kinds[kind].selector
                         ? companions_unfit(kinds[kind].resource->kind, one, target, primary)
                         : monitor_is_unfit(r, one, services);
        if (!name || !unfit || companions_are_named(r->canary, kinds[kind].resource->kind, name))
            continue;
        if (++*count <= NAMED)
            text = arena_printf(r->tick->arena, "%s%s%s %s", text, *text ? ", " : "",
                                kinds[kind].resource->kind, name);
    }
    return text;
}

const char *companions_way_out(struct arena *arena, const char *names)
{
    const char *found = "";

    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].copied && strstr(names, kinds[i].resource->kind))
            found =
                arena_printf(arena, "%s%s%s", found, *found ? ", " : "", kinds[i].resource->kind);
    return *found ? arena_printf(arena,
                                 ", or name each %s in spec.companions, which makes a copy for the "
                                 "primary",
                                 found)
                  : "";
}

static void report(struct release *r, const char *names, int count)
{
    const char *text = arena_printf(
        r->tick->arena,
        "%s%s in namespace %s select the pods of %s and not those of %s-primary, which serve; have "
        "them select both values of the label %s: %s and %s-primary%s",
        names, count > NAMED ? " and others" : "", r->canary->namespace_, release_target(r),
        r->canary->target.name, r->info.label, r->info.label_value, r->info.label_value,
        companions_way_out(r->tick->arena, names));

    if (condition_set(r, CONDITION_COMPANIONS, "SelectTargetOnly", text))
        event_warning(r, "%s", text);
}

static enum rule_result refresh(struct release *r);

enum rule_result companions_check(struct release *r)
{
    const char *names = "";
    struct json_object *services = NULL;
    bool known = true;
    int count = 0;

    if (r->target->own_services || !r->info.label || !r->info.object || !r->info.primary)
        return RULE_CONTINUE;
    for (size_t i = 0; i < KINDS; i++) {
        const char *denied;
        struct json_object *list = NULL;
        /* needed if such a monitor exists */
        if (need_objects_if_allowed(r->tick, kinds[i].resource, r->canary->namespace_, &list,
                                    &denied))
            known = (kinds[i].selector || json_len(list) == 0 ||
                     need_objects(r->tick, &kube_services, r->canary->namespace_, &services)) &&
                    known;
        else
            known = false;
        names = add_unfit(r, i, list, services, names, &count);
    }
    if (!known)
        return RULE_NEEDS_FACTS;
    if (count > 0)
        report(r, names, count);
    else
        condition_clear(r, CONDITION_COMPANIONS);
    return refresh(r);
}

/* --- copies */

/* The reason why companions are not copied, the first one of all; reason is NULL if all are
 * copied. */
struct uncopied {
    const char *reason, *text; /* of the first one */
};

static void add_uncopied(struct release *r, struct uncopied *all, const char *reason,
                         const char *text)
{
    if (!all->reason)
        *all = (struct uncopied){.reason = reason, .text = text};
    else
        all->text = arena_printf(r->tick->arena, "%s; %s", all->text, text);
}

/*
 * The spec of the copy: that of the source, with the primary's value, and no other, of the label
 * that distinguishes the primary's pods.
 */
static struct json_object *copied_spec(struct release *r, const char *field,
                                       struct json_object *source, const char *value)
{
    struct json_object *spec = json_copy(r->tick->arena, json_at(source, "spec", NULL));
    struct json_object *labels = json_at(spec, field, "matchLabels", NULL);
    struct json_object *expressions = json_at(spec, field, "matchExpressions", NULL);

    if (json_str_at(labels, r->info.label, NULL))
        json_set_str(labels, r->info.label, value);
    for (size_t i = 0; i < json_len(expressions); i++) {
        struct json_object *expression = json_elem(expressions, i);
        struct json_object *values = edit_array(r->tick->arena);
        const char *key = json_str_at(expression, "key", NULL);
        if (!key || strcmp(key, r->info.label) != 0)
            continue;
        edit_add(values, json_own(r->tick->arena, json_object_new_string(value)));
        json_set_str(expression, "operator", "In");
        json_set(expression, "values", values);
    }
    return spec;
}

/* True if the source selects pods of the target by labels that the primary's pods share. */
static bool selects_target(struct release *r, struct json_object *selector)
{
    struct json_object *labels = json_copy(r->tick->arena, labels_of(r->info.primary));

    if (!labels || !selector)
        return false;
    json_set_str(labels, r->info.label, r->info.label_value);
    return primary_selects(selector, labels);
}

static void leave_copy(struct release *r, const struct scaler_copy *copy, const char *why)
{
    if (!copy->live)
        return;
    plan_delete(r->tick, copy->resource, copy->live);
    plan_why(r->tick, "%s", why);
}

/*
 * Source and copy are known. A copy that cannot be made to fit stays unchanged: the primary's pods
 * keep their budget.
 */
static void reconcile_copy(struct release *r, const struct scaler_copy *copy, const char *kind,
                           const char *name, struct uncopied *all)
{
    const char *field = kinds[copied_kind(kind)].selector;
    struct json_object *selector = json_at(copy->source, "spec", field, NULL);
    struct arena *arena = r->tick->arena;
    const char *namespace_ = r->canary->namespace_, *primary = primary_name(r->tick);
    const char *value = json_str_at(labels_of(r->info.primary), r->info.label, NULL);

    if (copy->live && !edit_is_owned(r->tick, copy->live)) {
        add_uncopied(r, all, "NameTaken",
                     arena_printf(arena,
                                  "%s %s.%s is not of %s, and is not written: %s is not copied; "
                                  "delete or rename it",
                                  kind, copy->name, namespace_, release_canary(r), name));
    } else if (!copy->source) {
        leave_copy(r, copy, "its source is gone");
        add_uncopied(
            r, all, "SourceMissing",
            arena_printf(arena,
                         "%s %s.%s, which spec.companions names, is not there; the pods of "
                         "%s have none",
                         kind, name, namespace_, primary));
    } else if (selector && primary_selects(selector, labels_of(r->info.primary))) {
        leave_copy(r, copy, "its source selects the same pods");
        add_uncopied(
            r, all, "SelectsPrimary",
            arena_printf(arena,
                         "%s %s.%s selects the pods of %s itself%s; it is not copied, take it out "
                         "of spec.companions",
                         kind, name, namespace_, primary,
                         copy->resource == &budgets ? ", which must not have two" : ""));
    } else if (!value || !selects_target(r, selector)) {
        add_uncopied(r, all, "SelectsOthers",
                     arena_printf(arena,
                                  "%s %s.%s does not select the pods of %s by labels that those of "
                                  "%s have too; %s",
                                  kind, name, namespace_, release_target(r), primary,
                                  copy->live ? "its copy stays as it is" : "it is not copied"));
    } else {
        struct json_object *to = scaler_copy_base(r->tick, copy);
        json_set(to, "spec", copied_spec(r, field, copy->source, value));
        scaler_copy_write(r->tick, copy, to);
    }
}

/* --- copies of Services */

/* The source's selector with the primary's value, and its ports, without the node ports. */
static void set_service_spec(struct release *r, struct json_object *source, const char *value,
                             struct json_object *to)
{
    struct arena *arena = r->tick->arena;
    struct json_object *from = json_at(source, "spec", NULL), *spec = json_sub(to, "spec");
    struct json_object *selector = json_copy(arena, json_at(from, "selector", NULL));
    struct json_object *ports = json_copy(arena, json_at(from, "ports", NULL));
    const char *address = json_str_at(from, "clusterIP", NULL);

    json_set_str(selector, r->info.label, value);
    for (size_t i = 0; i < json_len(ports); i++)
        json_del(json_elem(ports, i), "nodePort");
    json_set(spec, "selector", selector);
    json_set(spec, "ports", ports);
    if (!json_at(spec, "type", NULL))
        json_set_str(spec, "type", "ClusterIP");
    if (!json_at(spec, "clusterIP", NULL) && address && strcmp(address, "None") == 0)
        json_set_str(spec, "clusterIP", address); /* of a headless Service */
    if (json_at(from, "publishNotReadyAddresses", NULL))
        json_set(spec, "publishNotReadyAddresses", json_at(from, "publishNotReadyAddresses", NULL));
}

/* The labels by which the monitor finds the copy. */
static void set_service_labels(struct release *r, struct json_object *source,
                               struct json_object *to)
{
    struct json_object *labels = json_sub(json_sub(to, "metadata"), "labels");
    struct json_object *wanted =
        edit_of_source(r->tick->arena, json_at(source, "metadata", "labels", NULL));

    if (!json_object_is_type(wanted, json_type_object))
        return;
    json_object_object_foreach(wanted, key, value)
    {
        json_set(labels, key, value);
    }
}

static void reconcile_service(struct release *r, const struct scaler_copy *copy, const char *name,
                              struct uncopied *all)
{
    const char *value = json_str_at(labels_of(r->info.primary), r->info.label, NULL);

    if (copy->live && !edit_is_owned(r->tick, copy->live)) {
        add_uncopied(r, all, "NameTaken",
                     arena_printf(r->tick->arena,
                                  "Service %s.%s is not of %s, and is not written: %s is not "
                                  "copied; delete or rename it",
                                  copy->name, r->canary->namespace_, release_canary(r), name));
    } else if (!copy->source) {
        leave_copy(r, copy, "its source is gone");
    } else if (leads_to(copy->source, r->info.primary)) {
        leave_copy(r, copy, "its source leads to the same pods");
    } else if (value && leads_to(copy->source, r->info.object)) {
        struct json_object *to = scaler_copy_base(r->tick, copy);
        set_service_labels(r, copy->source, to);
        set_service_spec(r, copy->source, value, to);
        scaler_copy_write(r->tick, copy, to);
    }
}

static bool copy_service(struct release *r, const char *name, bool wanted, struct uncopied *all)
{
    struct scaler_copy copy = {
        .resource = &kube_services,
        .name = arena_printf(r->tick->arena, "%s-primary", name),
    };
    const char *namespace_ = r->canary->namespace_;
    bool known = need_object(r->tick, copy.resource, namespace_, name, &copy.source);

    known = need_object(r->tick, copy.resource, namespace_, copy.name, &copy.live) && known;
    if (!known)
        return false;
    if (!wanted)
        copy.source = NULL;
    reconcile_service(r, &copy, name, all);
    return true;
}

/* Only the selector of the monitor itself matters; it is read when Services are listed. */
static bool copy_monitor(struct release *r, struct json_object *entry, struct uncopied *all)
{
    struct json_object *services = json_at(entry, "services", NULL), *monitor;
    const char *name = json_str_at(entry, "name", NULL), *denied;
    const char *namespace_ = r->canary->namespace_;
    bool known =
        need_object_if_allowed(r->tick, &service_monitors, namespace_, name, &monitor, &denied);

    if (!known)
        return false;
    for (size_t i = 0; i < json_len(services); i++)
        known =
            copy_service(r, json_object_get_string(json_elem(services, i)), monitor != NULL, all) &&
            known;
    if (denied)
        add_uncopied(r, all, "Forbidden",
                     arena_printf(r->tick->arena,
                                  "the Services of ServiceMonitor %s.%s are not copied: %s", name,
                                  namespace_, denied));
    else if (!monitor)
        add_uncopied(r, all, "SourceMissing",
                     arena_printf(r->tick->arena,
                                  "ServiceMonitor %s.%s, which spec.companions names, is not "
                                  "there; the pods of %s have none",
                                  name, namespace_, primary_name(r->tick)));
    else if (json_len(services) == 0)
        add_uncopied(r, all, "SelectsOthers",
                     arena_printf(r->tick->arena,
                                  "ServiceMonitor %s.%s finds no Service that leads to the pods of "
                                  "%s and not to those of %s; nothing is copied, take it out of "
                                  "spec.companions",
                                  name, namespace_, release_target(r), primary_name(r->tick)));
    return known;
}

/* --- all copies */

static bool copy_one(struct release *r, const struct canary_ref *ref, struct uncopied *all)
{
    const char *denied, *copy_denied;
    struct scaler_copy copy = {
        .resource = companions_resource(ref->kind),
        .name = arena_printf(r->tick->arena, "%s-primary", ref->name),
    };

    if (!copy.resource)
        return true;
    bool known = need_object_if_allowed(r->tick, copy.resource, r->canary->namespace_, ref->name,
                                        &copy.source, &denied);
    known = need_object_if_allowed(r->tick, copy.resource, r->canary->namespace_, copy.name,
                                   &copy.live, &copy_denied) &&
            known;
    if (!known)
        return false;
    if (denied || copy_denied)
        add_uncopied(r, all, "Forbidden",
                     arena_printf(r->tick->arena, "%s %s.%s is not copied: %s", ref->kind,
                                  ref->name, r->canary->namespace_, denied ? denied : copy_denied));
    else
        reconcile_copy(r, &copy, ref->kind, ref->name, all);
    return true;
}

/* {kind, name}; services NULL: without Services. */
static struct json_object *entry_new(struct release *r, const char *kind, const char *name,
                                     struct json_object *services)
{
    struct json_object *one = edit_object(r->tick->arena);

    json_set_str(one, "kind", kind);
    json_set_str(one, "name", name);
    if (services)
        json_set(one, "services", services);
    return one;
}

static bool is_monitor(const char *kind)
{
    return kind && strcmp(kind, service_monitors.kind) == 0;
}

/* Foreign Services that lead to the target alone, by the labels that the monitor selects. */
static struct json_object *services_found(struct release *r, struct json_object *monitor,
                                          struct json_object *services)
{
    struct json_object *out = edit_array(r->tick->arena);

    for (size_t i = 0; monitor && i < json_len(services) && json_len(out) < MAX_SERVICES; i++) {
        struct json_object *service = json_elem(services, i);
        const char *name = json_str_at(service, "metadata", "name", NULL);
        if (name && strcmp(name, r->canary->service.name) != 0 &&
            strcmp(name, r->canary->service.canary_name) != 0 && !edit_is_owned(r->tick, service) &&
            monitor_finds(monitor, service) && leads_to(service, r->info.object) &&
            !leads_to(service, r->info.primary))
            edit_add(out, json_own(r->tick->arena, json_object_new_string(name)));
    }
    return out;
}

/* The list of status.companions as the spec wants it; *out is NULL if it is empty. */
static enum rule_result list_wanted(struct release *r, struct json_object **out)
{
    struct json_object *list = edit_array(r->tick->arena), *services = NULL;
    bool known = true;

    for (int i = 0; i < r->canary->n_companions; i++) {
        const struct canary_ref *ref = &r->canary->companions[i];
        struct json_object *monitor = NULL, *found = NULL;
        const char *denied;
        if (is_monitor(ref->kind)) {
            known = need_object_if_allowed(r->tick, &service_monitors, r->canary->namespace_,
                                           ref->name, &monitor, &denied) &&
                    need_objects(r->tick, &kube_services, r->canary->namespace_, &services) &&
                    known;
            found = services_found(r, monitor, services);
        }
        edit_add(list, entry_new(r, ref->kind, ref->name, found));
    }
    *out = json_len(list) ? list : NULL;
    return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

/* The same list without Services; NULL if it is empty. */
static struct json_object *list_named(struct release *r)
{
    struct json_object *list = edit_array(r->tick->arena);

    for (int i = 0; i < r->canary->n_companions; i++)
        edit_add(list,
                 entry_new(r, r->canary->companions[i].kind, r->canary->companions[i].name, NULL));
    return json_len(list) ? list : NULL;
}

static struct json_object *without_services(struct release *r, struct json_object *list)
{
    struct json_object *out = edit_array(r->tick->arena);

    for (size_t i = 0; i < json_len(list); i++)
        edit_add(out, entry_new(r, json_str_at(json_elem(list, i), "kind", NULL),
                                json_str_at(json_elem(list, i), "name", NULL), NULL));
    return list ? out : NULL;
}

/* Adds the names of the copied objects of an entry, with their resources. */
static int add_sources(struct json_object *entry, struct companion *out, int n)
{
    const char *kind = json_str_at(entry, "kind", NULL), *name = json_str_at(entry, "name", NULL);
    struct json_object *services = json_at(entry, "services", NULL);

    if (!is_monitor(kind) && kind && name && companions_resource(kind) && n < COMPANIONS_MAX)
        out[n++] = (struct companion){companions_resource(kind), name};
    for (size_t i = 0; is_monitor(kind) && i < json_len(services) && n < COMPANIONS_MAX; i++)
        out[n++] =
            (struct companion){&kube_services, json_object_get_string(json_elem(services, i))};
    return n;
}

static int sources_of(struct json_object *list, struct companion out[COMPANIONS_MAX])
{
    int n = 0;

    for (size_t i = 0; i < json_len(list); i++)
        n = add_sources(json_elem(list, i), out, n);
    return n;
}

static bool is_among(const struct companion *one, const struct companion *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i].resource == one->resource && strcmp(list[i].name, one->name) == 0)
            return true;
    return false;
}

enum rule_result companions_sources(struct release *r, struct companion out[COMPANIONS_MAX],
                                    int *count)
{
    struct companion wanted[COMPANIONS_MAX];
    struct json_object *now;
    enum rule_result verdict = list_wanted(r, &now);
    int n = sources_of(now, wanted);

    *count = sources_of(json_at(r->canary->status.json, "companions", NULL), out);
    for (int i = 0; i < n && *count < COMPANIONS_MAX; i++)
        if (!is_among(&wanted[i], out, *count))
            out[(*count)++] = wanted[i];
    return verdict;
}

bool companions_has_service(const struct release *r, const char *name)
{
    struct companion sources[COMPANIONS_MAX];
    const struct companion one = {&kube_services, name};
    int n = sources_of(json_at(r->canary->status.json, "companions", NULL), sources);

    return is_among(&one, sources, n);
}

/* Deletes recorded copies of companions that are no longer in the list. */
static enum rule_result leave_others(struct release *r, struct json_object *noted,
                                     struct json_object *now)
{
    struct companion before[COMPANIONS_MAX], after[COMPANIONS_MAX];
    enum rule_result verdict = RULE_CONTINUE;
    int n = sources_of(noted, before), kept = sources_of(now, after);

    for (int i = 0; i < n; i++)
        if (!is_among(&before[i], after, kept) &&
            scaler_copy_leave(r->tick, before[i].resource, before[i].name) != RULE_CONTINUE)
            verdict = RULE_NEEDS_FACTS;
    return verdict;
}

static struct json_object *noted_of(const struct release *r)
{
    return json_at(r->canary->status.json, "companions", NULL);
}

static bool is_noted(struct release *r)
{
    return json_same(without_services(r, noted_of(r)), list_named(r));
}

/* Services that a monitor selects but that were not listed before. The next tick makes their
 * copies. */
static enum rule_result refresh(struct release *r)
{
    struct json_object *now;
    bool has_monitor = false;

    for (int i = 0; i < r->canary->n_companions; i++)
        has_monitor |= is_monitor(r->canary->companions[i].kind);
    if (!has_monitor || !is_noted(r))
        return RULE_CONTINUE;
    enum rule_result verdict = list_wanted(r, &now);
    if (verdict != RULE_CONTINUE || json_same(noted_of(r), now))
        return verdict;
    verdict = leave_others(r, noted_of(r), now);
    if (verdict == RULE_CONTINUE)
        status_object(r, "companions", now);
    return verdict;
}

/*
 * The record is written after copies are deleted and before others are made. The report about unfit
 * companions is then out of date. DONE: the next tick makes the copies.
 */
static enum rule_result note(struct release *r)
{
    struct json_object *now;
    enum rule_result verdict = list_wanted(r, &now);

    if (verdict == RULE_CONTINUE)
        verdict = leave_others(r, noted_of(r), now);
    if (verdict == RULE_CONTINUE && !release_is_initialising(r))
        verdict = companions_check(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    status_object(r, "companions", now);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

enum rule_result companions_copy(struct release *r)
{
    struct json_object *noted = noted_of(r);
    struct uncopied all = {0};
    bool known = true;

    if (r->target->own_services || !r->info.label)
        return RULE_CONTINUE;
    if (!is_noted(r))
        return note(r);
    if (noted && !r->info.primary)
        return RULE_CONTINUE;
    for (int i = 0; i < r->canary->n_companions; i++)
        known = (is_monitor(r->canary->companions[i].kind)
                     ? copy_monitor(r, json_elem(noted, (size_t)i), &all)
                     : copy_one(r, &r->canary->companions[i], &all)) &&
                known;
    if (!known)
        return RULE_NEEDS_FACTS;
    if (!all.reason)
        condition_clear(r, CONDITION_COPIED);
    else if (condition_set(r, CONDITION_COPIED, all.reason, all.text))
        event_warning(r, "%s", all.text);
    return RULE_CONTINUE;
}
