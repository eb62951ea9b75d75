/*
 * The core Service target (target/OBJECTS.md): Services that somebody else points to pods or to
 * another host (ExternalName). T-primary has the content promoted last, T-canary the content of the
 * target; both are copies of the target, and its pods are not managed here.
 */
#include <string.h>

#include "target/shared/primary.h"
#include "target/target.h"
#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

#define KUBECTL "kubectl.kubernetes.io/last-applied-configuration"

static const char *canary_name(struct tick *tick)
{
    return arena_printf(tick->arena, "%s-canary", tick->canary->target.name);
}

static const char *service_check(struct arena *arena, const struct canary *canary)
{
    if (strcmp(canary->service.name, canary->target.name) == 0)
        return NULL;
    return arena_printf(arena,
                        "spec.service.name: the Services of a Service target are %s, %s-primary "
                        "and %s-canary; remove it",
                        canary->target.name, canary->target.name, canary->target.name);
}

static bool need_both(struct tick *tick, struct target_info *out)
{
    const char *namespace_ = tick->canary->namespace_;
    bool known =
        need_object(tick, &kube_services, namespace_, tick->canary->target.name, &out->object);

    out->stopped = true;
    return need_object(tick, &kube_services, namespace_, primary_name(tick), &out->primary) &&
           known;
}

static enum rule_result service_find(struct tick *tick, struct target_info *out)
{
    if (!need_both(tick, out))
        return RULE_NEEDS_FACTS;
    if (json_at(out->object, "metadata", "deletionTimestamp", NULL))
        out->object = NULL;
    if (json_at(out->primary, "metadata", "deletionTimestamp", NULL))
        out->primary = NULL;
    return RULE_CONTINUE;
}

static enum rule_result service_read(struct tick *tick, struct target_info *out)
{
    const char *name = tick->canary->target.name;
    const char *namespace_ = tick->canary->namespace_;
    struct errinfo ei;

    if (!need_both(tick, out))
        return RULE_NEEDS_FACTS;
    if (!out->object)
        return target_unusable(tick, out, "service %s.%s get query error: not found", name,
                               namespace_);
    if (spechash_service(tick->arena, json_at(out->object, "spec", NULL), out->hash, &ei) != ERR_OK)
        return target_unusable(tick, out, "service %s.%s spec: %s", name, namespace_, ei.text);
    return RULE_CONTINUE;
}

/* --- a copy */

/* Allocated by the cluster for each Service. (Flagger clears only clusterIP and not the node ports:
 * the cluster rejects such a copy.) */
static const char *const allocated[] = {"clusterIP", "clusterIPs", "healthCheckNodePort"};
enum { ALLOCATED = sizeof(allocated) / sizeof(allocated[0]) };

static bool text_is(struct json_object *spec, const char *key, const char *text)
{
    const char *found = json_str_at(spec, key, NULL);

    return found && strcmp(found, text) == 0;
}

static struct json_object *same_port(struct json_object *ports, struct json_object *port)
{
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *one = json_elem(ports, i);
        if (json_same(json_at(one, "port", NULL), json_at(port, "port", NULL)) &&
            json_same(json_at(one, "protocol", NULL), json_at(port, "protocol", NULL)))
            return one;
    }
    return NULL;
}

/* The spec of a copy whose live object is `live` (NULL: it does not exist yet). */
static struct json_object *copied_spec(struct tick *tick, const struct target_info *info,
                                       struct json_object *live)
{
    struct json_object *spec =
        edit_overlay(tick->arena, NULL, json_at(info->object, "spec", NULL)); /* without nulls */
    struct json_object *kept = json_at(live, "spec", NULL);
    struct json_object *ports = json_at(spec, "ports", NULL);
    bool headless = text_is(spec, "clusterIP", "None");
    bool external = text_is(spec, "type", "ExternalName");
    bool node_ports = text_is(spec, "type", "NodePort") || text_is(spec, "type", "LoadBalancer");

    for (int i = 0; i < ALLOCATED && !headless; i++) {
        bool wanted = json_at(spec, allocated[i], NULL) && !external;
        edit_put(tick->arena, spec, allocated[i],
                 wanted ? json_at(kept, allocated[i], NULL) : NULL);
    }
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_elem(ports, i);
        struct json_object *old = same_port(json_at(kept, "ports", NULL), port);
        edit_put(tick->arena, port, "nodePort", node_ports ? json_at(old, "nodePort", NULL) : NULL);
    }
    if (tick->canary->service.traffic_distribution)
        json_set_str(spec, "trafficDistribution", tick->canary->service.traffic_distribution);
    return spec;
}

/* Labels and annotations of the target. */
static struct json_object *metadata_of(struct tick *tick, const struct target_info *info)
{
    static const char *const maps[] = {"labels", "annotations"};
    struct json_object *metadata = edit_object(tick->arena);

    for (int i = 0; i < 2; i++)
        json_set(metadata, maps[i],
                 edit_of_source(tick->arena, json_at(info->object, "metadata", maps[i], NULL)));
    json_del(json_at(metadata, "annotations", NULL), KUBECTL);
    return metadata;
}

/* The labels and annotations of a copy: all, or, if `included`, those that the primary follows. */
static struct json_object *with_metadata(struct tick *tick, const struct target_info *info,
                                         struct json_object *live, struct json_object *base,
                                         bool included)
{
    static const char *const maps[] = {"labels", "annotations"};
    struct json_object *metadata = metadata_of(tick, info);
    struct json_object *wanted = edit_object(tick->arena);

    for (int i = 0; i < 2; i++) {
        struct json_object *all = json_at(metadata, maps[i], NULL);
        json_set(json_sub(wanted, "metadata"), maps[i],
                 applied_follow(tick->arena, live, maps[i], all,
                                included ? edit_included(tick, all) : all));
    }
    return applied_lay(tick->arena, live, base, wanted);
}

static void create_copy(struct tick *tick, const struct target_info *info, const char *name)
{
    struct json_object *copy = edit_new(tick, &kube_services, name);

    json_set(copy, "spec", copied_spec(tick, info, NULL));
    plan_create(tick, &kube_services, tick->canary->namespace_,
                with_metadata(tick, info, NULL, copy, false));
    plan_why(tick, "like %s", info->hash);
}

/*
 * The canary's Service follows the target, except while it has or may have traffic and the target's
 * content was neither analysed nor promoted: then the traffic is moved away first. During an
 * analysis the routes may be one step ahead of the status, if a tick was interrupted after writing
 * them. (Flagger exposes the new content to users at once, and moves the traffic afterwards.)
 */
static bool must_wait(struct tick *tick, const struct target_info *info)
{
    const struct canary_status *status = &tick->canary->status;

    bool may_serve = status->canary_weight > 0 || status->phase == PHASE_Progressing ||
                     status->phase == PHASE_WaitingPromotion;

    return may_serve && strcmp(info->hash, status->last_applied_spec) != 0 &&
           strcmp(info->hash, status->last_promoted_spec) != 0;
}

static enum rule_result service_own_services(struct tick *tick, const struct target_info *info)
{
    struct json_object *live;

    if (!need_object(tick, &kube_services, tick->canary->namespace_, canary_name(tick), &live))
        return RULE_NEEDS_FACTS;
    if (!live) {
        create_copy(tick, info, canary_name(tick));
        return RULE_CONTINUE;
    }
    if (must_wait(tick, info))
        return RULE_CONTINUE;
    struct json_object *from = edit_overlay(tick->arena, NULL, live); /* without nulls */
    struct json_object *to = json_copy(tick->arena, from);
    json_set(to, "spec", copied_spec(tick, info, live));
    if (edit_is_owned(tick, live))
        to = with_metadata(tick, info, from, to, false);
    if (plan_update(tick, &kube_services, from, to))
        plan_why(tick, "like %s", info->hash);
    return RULE_CONTINUE;
}

static enum rule_result service_ensure_primary(struct tick *tick, const struct target_info *info)
{
    if (!info->primary)
        create_copy(tick, info, primary_name(tick));
    return RULE_CONTINUE;
}

/* --- a release */

/* The owner of the Service is responsible for the readiness of its endpoints. */
static enum readiness service_ready(struct tick *tick, const struct target_info *info,
                                    enum side side, const char **why)
{
    (void)tick;
    (void)info;
    (void)side;
    *why = "";
    return READY;
}

static void service_scale_to_zero(struct tick *tick, const struct target_info *info)
{
    (void)tick;
    (void)info;
}

static void service_scale_from_zero(struct tick *tick, const struct target_info *info, int replicas)
{
    (void)tick;
    (void)info;
    (void)replicas;
}

/* The primary keeps its owner and addresses. (Flagger overwrites its metadata with the target's,
 * which drops the owner.) */
static enum rule_result service_promote(struct tick *tick, const struct target_info *info)
{
    struct json_object *from = edit_overlay(tick->arena, NULL, info->primary); /* without nulls */
    struct json_object *to = json_copy(tick->arena, from);

    json_set(to, "spec", copied_spec(tick, info, info->primary));
    to = with_metadata(tick, info, from, to, true);
    if (plan_update(tick, &kube_services, from, to))
        plan_why(tick, "promote %s", info->hash);
    return RULE_CONTINUE;
}

static bool is_copy(struct tick *tick, const struct target_info *info)
{
    struct json_object *live =
        edit_overlay(tick->arena, NULL, json_at(info->primary, "spec", NULL));

    return json_same(live, copied_spec(tick, info, info->primary));
}

/* The revision may differ from the current target's: the hash of the primary, taken as a target,
 * decides. */
static bool service_is_promoted(struct tick *tick, const struct target_info *info)
{
    struct target_info back = {.object = info->primary};
    struct json_object *spec = copied_spec(tick, &back, info->object);
    char hash[SPECHASH_TEXT];
    struct errinfo ei;

    if (tick->canary->service.traffic_distribution)
        edit_put(tick->arena, spec, "trafficDistribution",
                 json_at(info->object, "spec", "trafficDistribution", NULL));
    if (spechash_service(tick->arena, spec, hash, &ei) != ERR_OK)
        return false;
    bool is_now = spechash_service(tick->arena, json_at(info->object, "spec", NULL), back.hash,
                                   &ei) == ERR_OK &&
                  strcmp(back.hash, info->hash) == 0;
    return is_now ? is_copy(tick, info) : strcmp(hash, info->hash) == 0;
}

static enum rule_result service_compare(struct tick *tick, const struct target_info *info,
                                        bool *same)
{
    *same = is_copy(tick, info);
    return RULE_CONTINUE;
}

static bool service_serves(const struct target_info *info, enum side side)
{
    return side == SIDE_PRIMARY ? info->primary != NULL : info->object != NULL;
}

const struct target target_service = {
    .kind = "Service",
    .group = "",
    .resource = &kube_services,
    .pod_suffix = "-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)",
    .check = service_check,
    .own_services = service_own_services,
    .find = service_find,
    .read = service_read,
    .ensure_primary = service_ensure_primary,
    .ready = service_ready,
    .scale_to_zero = service_scale_to_zero,
    .scale_from_zero = service_scale_from_zero,
    .promote = service_promote,
    .is_promoted = service_is_promoted,
    .compare = service_compare,
    .serves = service_serves,
    .restore = service_scale_from_zero,
};
