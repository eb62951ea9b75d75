#include "target/shared/primary.h"

#include <string.h>

#include "target/shared/configs.h"
#include "tick/edit.h"

const char *primary_name(struct tick *tick)
{
    return arena_printf(tick->arena, "%s-primary", tick->canary->target.name);
}

static struct json_object *match_labels(struct json_object *object)
{
    return json_at(object, "spec", "selector", "matchLabels", NULL);
}

/* The selector label of a workload, one of those in the settings; NULL if it has none of them. */
static const char *selector_label(struct tick *tick, struct json_object *object)
{
    for (const char *const *label = tick->settings->selector_labels; label && *label; label++) {
        if (json_str_at(match_labels(object), *label, NULL))
            return *label;
    }
    return NULL;
}

static const char *with_suffix(struct tick *tick, const char *value)
{
    return arena_printf(tick->arena, "%s-primary", value);
}

/* The label in which the selector of a live primary differs from the target's: another controller,
 * or other settings, may have created the primary. NULL if there is none. */
static const char *live_label(struct tick *tick, struct json_object *object,
                              struct json_object *primary)
{
    struct json_object *labels = match_labels(object);

    if (!json_object_is_type(labels, json_type_object))
        return NULL;
    json_object_object_foreach(labels, key, value)
    {
        const char *live = json_str_at(match_labels(primary), key, NULL);
        const char *own = json_object_get_string(value);
        if (live && own && strcmp(live, with_suffix(tick, own)) == 0)
            return key;
    }
    return NULL;
}

bool primary_selector(struct tick *tick, struct json_object *object, struct target_info *info)
{
    const char *live = live_label(tick, object, info->primary);

    info->label = live ? live : selector_label(tick, object);
    info->label_value = info->label ? json_str_at(match_labels(object), info->label, NULL) : NULL;
    return info->label;
}

/* Labels that select the target's pods: matchLabels, and expressions with a single value. */
static struct json_object *target_pods(struct tick *tick, const struct target_info *info)
{
    struct json_object *expressions =
        json_at(info->object, "spec", "selector", "matchExpressions", NULL);
    struct json_object *out = edit_overlay(tick->arena, NULL, match_labels(info->object));

    for (size_t i = 0; i < json_len(expressions); i++) {
        struct json_object *expression = json_elem(expressions, i);
        struct json_object *values = json_at(expression, "values", NULL);
        const char *key = json_str_at(expression, "key", NULL);
        const char *how = json_str_at(expression, "operator", NULL);
        if (key && how && strcmp(how, "In") == 0 && json_len(values) == 1)
            json_set_str(out, key, json_object_get_string(json_elem(values, 0)));
    }
    return out;
}

/*
 * The pods of a live primary match its selector, which is immutable. Additional labels of the
 * target (a primary created by Flagger has one label in its selector) are used once all of the
 * primary's pods have them: its template has them, and no pod of an older template is left.
 */
static bool pods_have(struct json_object *primary, const char *key, struct json_object *value)
{
    struct json_object *status = json_at(primary, "status", NULL);
    bool has_replicas = json_at(status, "replicas", NULL) != NULL;
    int64_t all =
        json_int_at(status, 0, has_replicas ? "replicas" : "currentNumberScheduled", NULL);
    int64_t updated =
        json_int_at(status, 0, has_replicas ? "updatedReplicas" : "updatedNumberScheduled", NULL);
    bool observed = json_int_at(primary, 0, "metadata", "generation", NULL) <=
                    json_int_at(status, 0, "observedGeneration", NULL);

    return observed && updated >= all &&
           json_same(json_at(primary, "spec", "template", "metadata", "labels", key, NULL), value);
}

/* True if the live selector has that label and the template has it too: no pending promotion
 * removes it. */
static bool asks_for(struct json_object *live, struct json_object *primary, const char *key,
                     struct json_object *value)
{
    return json_same(json_at(live, key, NULL), value) &&
           json_same(json_at(primary, "spec", "template", "metadata", "labels", key, NULL), value);
}

struct json_object *primary_pods(struct tick *tick, const struct target_info *info, bool primary,
                                 struct json_object *live)
{
    struct json_object *own = target_pods(tick, info);

    if (!primary)
        return own;
    json_set_str(own, info->label, with_suffix(tick, info->label_value));
    if (!info->primary)
        return own;
    struct json_object *out = edit_overlay(tick->arena, NULL, match_labels(info->primary));
    json_object_object_foreach(own, key, value)
    {
        if (!json_at(out, key, NULL) &&
            (pods_have(info->primary, key, value) || asks_for(live, info->primary, key, value)))
            json_set(out, key, json_copy(tick->arena, value));
    }
    return out;
}

static void lay_labels(struct tick *tick, struct json_object *labels, struct json_object *over)
{
    if (!json_object_is_type(over, json_type_object))
        return;
    json_object_object_foreach(over, key, value)
    {
        json_set(labels, key, json_copy(tick->arena, value));
    }
}

/* For a target that was recreated with another selector: the target's own label must not be on the
 * primary's pods, or the canary's Service would select them. The labels of the primary's immutable
 * selector stay. */
void primary_set_label(struct tick *tick, const struct target_info *info,
                       struct json_object *labels)
{
    json_set_str(labels, info->label, with_suffix(tick, info->label_value));
    lay_labels(tick, labels, match_labels(info->primary));
}

static void primary_rewrite_selector(struct tick *tick, const struct target_info *info,
                                     struct json_object *selector, bool to_primary);

struct json_object *primary_new_selector(struct tick *tick, const struct target_info *info)
{
    struct json_object *selector =
        edit_overlay(tick->arena, NULL, json_at(info->object, "spec", "selector", NULL));

    primary_rewrite_selector(tick, info, selector, true);
    json_set_str(json_sub(selector, "matchLabels"), info->label,
                 with_suffix(tick, info->label_value));
    return selector;
}

struct json_object *primary_labels(struct tick *tick, const struct target_info *info)
{
    struct json_object *labels =
        edit_included(tick, json_at(info->object, "metadata", "labels", NULL));

    json_object_object_del(labels, info->label);
    if (match_labels(info->primary)) {
        json_object_object_foreach(match_labels(info->primary), key, value)
        {
            (void)value;
            json_object_object_del(labels, key);
        }
    }
    return labels;
}

/*
 * Flagger uses a random UUID, so that each promotion creates new pods. Here the id is derived from
 * the promoted content: repeating a promotion after a crash changes nothing, and new configs still
 * create new pods.
 */
const char *primary_id(struct tick *tick, const struct target_info *info)
{
    struct json_object *what = edit_object(tick->arena);
    char front[CONFIG_HASH_TEXT], back[CONFIG_HASH_TEXT];

    json_set_str(what, "hash", info->hash);
    /* as a string, since confighash() hashes strings */
    json_set_str(what, "configs", json_text_sorted(tick->arena, info->configs));
    confighash(tick->arena, what, front);
    json_set_str(what, "of", front);
    confighash(tick->arena, what, back);
    /* version 8 (vendor-made), variant 1 */
    return arena_printf(tick->arena, "%.8s-%.4s-8%.3s-8%.3s-%.12s", front, front + 8, front + 12,
                        back, back + 3);
}

static bool is_selector_label(const struct settings *settings, const char *key)
{
    for (const char *const *label = settings->selector_labels; label && *label; label++) {
        if (key && strcmp(*label, key) == 0)
            return true;
    }
    return false;
}

/* A rewrite of selectors: it changes the value of the label that distinguishes the two workloads,
 * if the selector is about the target's pods; and, as in Flagger, the target's name in any of the
 * labels from the settings. */
struct renaming {
    const struct target_info *info;
    const char *from, *to;           /* values of the label */
    const char *name_from, *name_to; /* names of the workloads */
    bool by_name;                    /* rewrite names */
    bool own;                        /* rewrite values: the selector is about the target's pods */
};

static const char *renamed(struct tick *tick, const struct renaming *renaming, const char *key,
                           const char *value)
{
    if (!key || !value)
        return NULL;
    if (renaming->own && strcmp(key, renaming->info->label) == 0 &&
        strcmp(value, renaming->from) == 0)
        return renaming->to;
    if (renaming->by_name && is_selector_label(tick->settings, key) &&
        strcmp(value, renaming->name_from) == 0)
        return renaming->name_to;
    return NULL;
}

static bool has_value(struct json_object *values, const char *value)
{
    for (size_t i = 0; i < json_len(values); i++) {
        const char *one = json_object_get_string(json_elem(values, i));
        if (one && value && strcmp(one, value) == 0)
            return true;
    }
    return false;
}

/* An expression about a label other than the rewritten one may exclude the target's pods. */
static bool meets(struct json_object *labels, struct json_object *expression)
{
    const char *key = json_str_at(expression, "key", NULL);
    const char *how = json_str_at(expression, "operator", NULL);
    const char *value = key ? json_str_at(labels, key, NULL) : NULL;
    bool in = has_value(json_at(expression, "values", NULL), value);

    if (!how || strcmp(how, "In") == 0)
        return in;
    if (strcmp(how, "NotIn") == 0)
        return !in;
    return (strcmp(how, "Exists") == 0) == (value != NULL);
}

bool primary_selects(struct json_object *selector, struct json_object *labels)
{
    struct json_object *expressions = json_at(selector, "matchExpressions", NULL);
    struct json_object *map = json_at(selector, "matchLabels", NULL);

    for (size_t i = 0; i < json_len(expressions); i++) {
        if (!meets(labels, json_elem(expressions, i)))
            return false;
    }
    if (!json_object_is_type(map, json_type_object))
        return true;
    json_object_object_foreach(map, key, value)
    {
        if (!json_same(json_at(labels, key, NULL), value))
            return false;
    }
    return true;
}

/* True if the target's pods have all other labels of the selector. */
static bool is_own(const struct renaming *renaming, struct json_object *selector)
{
    struct json_object *labels = json_at(renaming->info->template, "metadata", "labels", NULL);
    struct json_object *expressions = json_at(selector, "matchExpressions", NULL);
    struct json_object *map = json_at(selector, "matchLabels", NULL);
    const char *label = renaming->info->label;

    for (size_t i = 0; i < json_len(expressions); i++) {
        const char *key = json_str_at(json_elem(expressions, i), "key", NULL);
        if (key && strcmp(key, label) != 0 && !meets(labels, json_elem(expressions, i)))
            return false;
    }
    if (!json_object_is_type(map, json_type_object))
        return true;
    json_object_object_foreach(map, key, value)
    {
        if (strcmp(key, label) != 0 && !json_same(json_at(labels, key, NULL), value))
            return false;
    }
    return true;
}

/* Rewrites a label selector for the pods of one workload to select the other's. */
static void rewrite_selector(struct tick *tick, struct renaming *renaming,
                             struct json_object *selector)
{
    struct json_object *expressions = json_at(selector, "matchExpressions", NULL);
    struct json_object *labels = json_at(selector, "matchLabels", NULL);

    renaming->own = is_own(renaming, selector);
    for (size_t i = 0; i < json_len(expressions); i++) {
        struct json_object *expression = json_elem(expressions, i);
        struct json_object *values = json_at(expression, "values", NULL);
        const char *key = json_str_at(expression, "key", NULL);
        for (size_t j = 0; j < json_len(values); j++) {
            const char *to =
                renamed(tick, renaming, key, json_object_get_string(json_elem(values, j)));
            if (!to)
                continue;
            json_object_array_put_idx(values, j, json_object_new_string(to));
            break;
        }
    }
    if (!json_object_is_type(labels, json_type_object))
        return;
    json_object_object_foreach(labels, key, value)
    {
        const char *to = renamed(tick, renaming, key, json_object_get_string(value));
        if (to)
            json_object_object_add(labels, key, json_object_new_string(to));
    }
}

static struct renaming renaming_of(struct tick *tick, const struct target_info *info,
                                   bool to_primary)
{
    const char *own = info->label_value, *primary = with_suffix(tick, info->label_value);
    const char *name = tick->canary->target.name;

    return (struct renaming){
        .info = info,
        .from = to_primary ? own : primary,
        .to = to_primary ? primary : own,
        .name_from = to_primary ? name : primary_name(tick),
        .name_to = to_primary ? primary_name(tick) : name,
        .by_name = true,
    };
}

/* The same for one label selector. */
static void primary_rewrite_selector(struct tick *tick, const struct target_info *info,
                                     struct json_object *selector, bool to_primary)
{
    struct renaming renaming = renaming_of(tick, info, to_primary);

    renaming.by_name = false;
    rewrite_selector(tick, &renaming, selector);
}

/* Terms that only name other namespaces are about other pods. */
static bool is_here(struct tick *tick, struct json_object *term)
{
    struct json_object *names = json_at(term, "namespaces", NULL);

    return json_len(names) == 0 || has_value(names, tick->canary->namespace_);
}

static void rewrite_terms(struct tick *tick, struct renaming *renaming, struct json_object *terms,
                          bool weighted)
{
    for (size_t i = 0; i < json_len(terms); i++) {
        struct json_object *term = json_elem(terms, i);
        if (weighted)
            term = json_at(term, "podAffinityTerm", NULL);
        if (is_here(tick, term))
            rewrite_selector(tick, renaming, json_at(term, "labelSelector", NULL));
    }
}

void primary_rewrite_affinity(struct tick *tick, const struct target_info *info,
                              struct json_object *spec, bool to_primary)
{
    static const char *const kinds[] = {"podAffinity", "podAntiAffinity"};
    struct renaming renaming = renaming_of(tick, info, to_primary);

    rewrite_terms(tick, &renaming, json_at(spec, "topologySpreadConstraints", NULL), false);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct json_object *affinity = json_at(spec, "affinity", kinds[i], NULL);
        renaming.by_name = i > 0; /* Flagger leaves podAffinity unchanged */
        rewrite_terms(tick, &renaming,
                      json_at(affinity, "preferredDuringSchedulingIgnoredDuringExecution", NULL),
                      true);
        rewrite_terms(tick, &renaming,
                      json_at(affinity, "requiredDuringSchedulingIgnoredDuringExecution", NULL),
                      false);
    }
}

struct json_object *primary_template(struct tick *tick, const struct target_info *info)
{
    struct json_object *template = json_copy(tick->arena, info->template);
    struct json_object *metadata = json_sub(template, "metadata");
    struct json_object *labels =
        edit_without_gitops(tick->arena, json_at(metadata, "labels", NULL));
    struct json_object *annotations =
        edit_without_gitops(tick->arena, json_at(metadata, "annotations", NULL));

    primary_set_label(tick, info, labels);
    json_set_str(annotations, PRIMARY_ID, primary_id(tick, info));
    json_set(metadata, "labels", labels);
    json_set(metadata, "annotations", annotations);
    configs_rename(tick, info, json_sub(template, "spec"));
    return template;
}

static bool is_main_port(const struct canary_service *service, struct json_object *port)
{
    int64_t number = json_int_at(port, 0, "containerPort", NULL);
    const char *name = json_str_at(port, "name", NULL);

    if (json_object_is_type(service->target_port, json_type_string))
        return name && strcmp(name, json_object_get_string(service->target_port)) == 0;
    return number ==
           (service->target_port ? json_object_get_int64(service->target_port) : service->port);
}

struct json_object *primary_ports(struct tick *tick, struct json_object *pod_spec)
{
    struct json_object *containers = json_at(pod_spec, "containers", NULL);
    struct json_object *out = edit_array(tick->arena);

    for (size_t i = 0; i < json_len(containers); i++) {
        struct json_object *container = json_elem(containers, i);
        struct json_object *ports = json_at(container, "ports", NULL);
        const char *of = json_str_at(container, "name", NULL);
        if (!of || strcmp(of, "istio-proxy") == 0 || strcmp(of, "envoy") == 0)
            continue;
        for (size_t j = 0; j < json_len(ports); j++) {
            struct json_object *port = json_elem(ports, j);
            const char *name = json_str_at(port, "name", NULL);
            const char *protocol = json_str_at(port, "protocol", NULL);
            int64_t number = json_int_at(port, 0, "containerPort", NULL);
            if (is_main_port(&tick->canary->service, port))
                continue;
            struct json_object *one = edit_object(tick->arena);
            json_set_str(one, "name",
                         name && *name ? name : arena_printf(tick->arena, "tcp-%s-%zu", of, j));
            json_set_str(one, "protocol", protocol && *protocol ? protocol : "TCP");
            json_set_int(one, "port", number);
            json_set_int(one, "targetPort", number);
            json_object_array_add(out, json_object_get(one));
        }
    }
    return out;
}

static bool is_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

const char *primary_ports_refused(struct tick *tick, struct json_object *ports)
{
    const struct canary_service *service = &tick->canary->service;

    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_elem(ports, i);
        const char *name = json_str_at(port, "name", NULL);
        const char *protocol = json_str_at(port, "protocol", NULL);
        int64_t number = json_int_at(port, 0, "port", NULL);
        bool same_name = is_text(name, service->port_name);
        bool same_port = number == service->port && is_text(protocol, "TCP");
        for (size_t j = 0; j < i; j++) {
            struct json_object *other = json_elem(ports, j);
            same_name = same_name || is_text(name, json_str_at(other, "name", NULL));
            same_port = same_port || (number == json_int_at(other, 0, "port", NULL) &&
                                      is_text(protocol, json_str_at(other, "protocol", NULL)));
        }
        if (same_name || same_port)
            return arena_printf(tick->arena,
                                "spec.service.portDiscovery: the pods' port %lld/%s, \"%s\", has "
                                "the %s of another port "
                                "of the Service; name the ports apart, or set spec.service.%s",
                                (long long)number, protocol, name, same_name ? "name" : "number",
                                same_name ? "portName" : "targetPort to its name");
    }
    return NULL;
}
