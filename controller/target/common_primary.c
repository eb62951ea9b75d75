#include "target/common_primary.h"

#include <string.h>

#include "target/common_configs.h"
#include "tick/edit.h"

const char *primary_name(struct tick *tick)
{
    return arena_printf(tick->arena, "%s-primary", tick->canary->target.name);
}

/* The selector label of a workload; NULL: it has none of the settings'. */
static const char *selector_label(struct tick *tick, struct json_object *object, const char **value)
{
    struct json_object *labels = json_at(object, "spec", "selector", "matchLabels", NULL);

    for (const char *const *label = tick->settings->selector_labels; label && *label; label++) {
        *value = json_str_at(labels, *label, NULL);
        if (*value)
            return *label;
    }
    return NULL;
}

const char *primary_label(struct tick *tick, const struct target_info *info)
{
    const char *value;
    const char *own = selector_label(tick, info->primary, &value);

    return own ? own : info->label;
}

const char *primary_label_value(struct tick *tick, const struct target_info *info)
{
    const char *value;

    return selector_label(tick, info->primary, &value)
               ? value
               : arena_printf(tick->arena, "%s-primary", info->label_value);
}

bool primary_selector(struct tick *tick, struct json_object *object, struct target_info *info)
{
    info->label = selector_label(tick, object, &info->label_value);
    return info->label;
}

/* A target that was made anew with another selector label: its own must not be on the primary's
 * pods, or the Service of the canary would select them. */
void primary_set_label(struct tick *tick, const struct target_info *info,
                       struct json_object *labels)
{
    json_set_str(labels, info->label, arena_printf(tick->arena, "%s-primary", info->label_value));
    json_set_str(labels, primary_label(tick, info), primary_label_value(tick, info));
}

struct json_object *primary_labels(struct tick *tick, const struct target_info *info)
{
    struct json_object *labels =
        edit_included(tick, json_at(info->object, "metadata", "labels", NULL));

    json_object_object_del(labels, info->label);
    json_object_object_del(labels, primary_label(tick, info));
    return labels;
}

/*
 * Flagger puts a random UUID here, so that each promotion makes new pods. Here it follows from what
 * is promoted: a promotion that is repeated after a crash then changes nothing, and new configs
 * still make new pods.
 */
const char *primary_id(struct tick *tick, const struct target_info *info)
{
    struct json_object *what = edit_object(tick->arena);
    char front[CONFIG_HASH_TEXT], back[CONFIG_HASH_TEXT];

    json_set_str(what, "hash", info->hash);
    /* as text, since confighash() is over strings */
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

/* A label selector that picks one workload's pods by its name picks the other's instead. */
static void rewrite_selector(struct tick *tick, struct json_object *selector, const char *from,
                             const char *to)
{
    struct json_object *expressions = json_at(selector, "matchExpressions", NULL);
    struct json_object *labels = json_at(selector, "matchLabels", NULL);

    for (size_t i = 0; i < json_len(expressions); i++) {
        struct json_object *expression = json_elem(expressions, i);
        struct json_object *values = json_at(expression, "values", NULL);
        if (!is_selector_label(tick->settings, json_str_at(expression, "key", NULL)))
            continue;
        for (size_t j = 0; j < json_len(values); j++) {
            const char *value = json_object_get_string(json_elem(values, j));
            if (!value || strcmp(value, from) != 0)
                continue;
            json_object_array_put_idx(values, j, json_object_new_string(to));
            break;
        }
    }
    for (const char *const *label = tick->settings->selector_labels; label && *label; label++) {
        const char *value = json_str_at(labels, *label, NULL);
        if (value && strcmp(value, from) == 0)
            json_set_str(labels, *label, to);
    }
}

void primary_rewrite_affinity(struct tick *tick, struct json_object *spec, const char *from,
                              const char *to)
{
    struct json_object *spread = json_at(spec, "topologySpreadConstraints", NULL);
    struct json_object *anti = json_at(spec, "affinity", "podAntiAffinity", NULL);
    struct json_object *preferred =
        json_at(anti, "preferredDuringSchedulingIgnoredDuringExecution", NULL);
    struct json_object *required =
        json_at(anti, "requiredDuringSchedulingIgnoredDuringExecution", NULL);

    for (size_t i = 0; i < json_len(spread); i++)
        rewrite_selector(tick, json_at(json_elem(spread, i), "labelSelector", NULL), from, to);
    for (size_t i = 0; i < json_len(preferred); i++)
        rewrite_selector(tick,
                         json_at(json_elem(preferred, i), "podAffinityTerm", "labelSelector", NULL),
                         from, to);
    for (size_t i = 0; i < json_len(required); i++)
        rewrite_selector(tick, json_at(json_elem(required, i), "labelSelector", NULL), from, to);
}

struct json_object *primary_template(struct tick *tick, const struct target_info *info)
{
    struct json_object *template = json_copy(tick->arena, info->template);
    struct json_object *metadata = json_sub(template, "metadata");
    struct json_object *labels =
        edit_without_toolkit(tick->arena, json_at(metadata, "labels", NULL));
    struct json_object *annotations =
        edit_without_toolkit(tick->arena, json_at(metadata, "annotations", NULL));

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
