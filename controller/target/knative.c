/*
 * The Knative Service target (target/OBJECTS.md). Knative creates a revision for each new template,
 * scales it, and keeps the old ones: no copy is needed, and the primary is the revision named by an
 * annotation of the target.
 */
#include "tick/knative_object.h"

#include <string.h>

#include "base/clock.h"
#include "target/shared/workload.h"
#include "target/target.h"
#include "tick/need.h"

static bool need_revision(struct tick *tick, const char *name, struct json_object **out)
{
    *out = NULL;
    return !name || need_object(tick, &kube_knative_revisions, tick->canary->namespace_, name, out);
}

static bool is_initialising(const struct tick *tick)
{
    return tick->canary->status.phase == PHASE_NONE ||
           tick->canary->status.phase == PHASE_Initializing;
}

static bool is_routed(struct json_object *service, const char *revision)
{
    struct json_object *traffic = json_at(service, "spec", "traffic", NULL);

    for (size_t i = 0; i < json_len(traffic); i++) {
        const char *name = json_str_at(json_elem(traffic, i), "revisionName", NULL);
        if (name && strcmp(name, revision) == 0 &&
            json_int_at(json_elem(traffic, i), 0, "percent", NULL) > 0)
            return true;
    }
    return false;
}

/*
 * At the start, an annotation left by an older Canary counts only if it names the serving revision
 * or the one that would be chosen now. (Flagger then always chooses the latest revision, ready or
 * not.)
 */
static const char *primary_of(const struct tick *tick, struct json_object *service)
{
    const char *primary = knative_primary(service);
    const char *latest = knative_latest(service);

    if (primary && is_initialising(tick) && !(latest && strcmp(primary, latest) == 0) &&
        !is_routed(service, primary))
        return NULL;
    return primary;
}

static enum rule_result find(struct tick *tick, struct target_info *out)
{
    out->stopped = true;
    if (!knative_need(tick, &out->object))
        return RULE_NEEDS_FACTS;
    out->revision = knative_latest(out->object);
    bool known = need_revision(tick, out->revision, &out->latest);
    known = need_revision(tick, primary_of(tick, out->object), &out->primary) && known;
    return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

static enum rule_result knative_find(struct tick *tick, struct target_info *out)
{
    enum rule_result verdict = find(tick, out);

    if (json_at(out->object, "metadata", "deletionTimestamp", NULL))
        out->object = NULL;
    return verdict;
}

static enum rule_result knative_read(struct tick *tick, struct target_info *out)
{
    const char *name = tick->canary->target.name;
    const char *namespace_ = tick->canary->namespace_;
    enum rule_result verdict = find(tick, out);

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!out->object)
        return target_unusable(tick, out, "Knative Service %s.%s get query error: not found", name,
                               namespace_);
    if (!out->revision)
        return target_unusable(tick, out, "Knative Service %s.%s has no revision yet", name,
                               namespace_);
    spechash_string(out->revision, out->hash);
    return RULE_CONTINUE;
}

/* No Service of ours leads to a revision. */
static enum rule_result knative_own_services(struct tick *tick, const struct target_info *info)
{
    (void)tick;
    (void)info;
    return RULE_CONTINUE;
}

/* Sets only the name: the traffic follows once the revision is ready. */
static enum rule_result knative_ensure_primary(struct tick *tick, const struct target_info *info)
{
    if (!info->primary)
        knative_annotate(tick, info->object, info->revision,
                         arena_printf(tick->arena, "primary %s", info->revision));
    return RULE_CONTINUE;
}

/* True if it has been in its current condition for longer than the Canary's deadline. (Flagger
 * waits forever.) */
static bool is_overdue(struct tick *tick, struct json_object *condition)
{
    const char *since = json_str_at(condition, "lastTransitionTime", NULL);
    int64_t since_ms;
    struct errinfo ei;

    if (!since || clock_parse(since, &since_ms, &ei) != ERR_OK)
        return false;
    return tick_is_overdue(tick, since_ms);
}

static enum readiness readiness_of(struct tick *tick, const char *name,
                                   struct json_object *revision, const char **why)
{
    struct json_object *condition = workload_condition(revision, "Ready");
    const char *status = json_str_at(condition, "status", NULL);
    const char *message = json_str_at(condition, "message", NULL);

    *why = "";
    if (status && strcmp(status, "True") == 0)
        return READY;
    *why = arena_printf(tick->arena, "Knative Revision %s.%s is not ready%s%s", name,
                        tick->canary->namespace_, message && *message ? ": " : "",
                        message ? message : "");
    return is_overdue(tick, condition) ? NOT_READY_EVER : NOT_READY_YET;
}

static enum readiness knative_ready(struct tick *tick, const struct target_info *info,
                                    enum side side, const char **why)
{
    struct json_object *revision = side == SIDE_PRIMARY ? info->primary : info->latest;
    const char *name = json_str_at(revision, "metadata", "name", NULL);

    return readiness_of(tick, name ? name : info->revision, revision, why);
}

/* Knative scales by itself. */
static void knative_scale(struct tick *tick, const struct target_info *info)
{
    (void)tick;
    (void)info;
}

static void knative_scale_from_zero(struct tick *tick, const struct target_info *info, int replicas)
{
    (void)replicas;
    knative_scale(tick, info);
}

/*
 * Moves the primary's share to the new revision in the same write, so that annotation and routes
 * always agree. (Flagger writes the annotation first and the routes an interval later, or never if
 * the canary had no traffic.)
 */
static enum rule_result knative_promote(struct tick *tick, const struct target_info *info)
{
    int canary =
        knative_share(json_at(knative_as_planned(tick, info->object), "spec", "traffic", NULL));

    knative_route(tick, info->object, info->revision, canary,
                  arena_printf(tick->arena, "promote %s", info->hash));
    return RULE_CONTINUE;
}

static bool knative_is_promoted(struct tick *tick, const struct target_info *info)
{
    const char *primary = json_str_at(info->primary, "metadata", "name", NULL);
    char hash[SPECHASH_TEXT];

    (void)tick;
    if (!primary)
        return false;
    /* may differ from the latest revision */
    spechash_string(primary, hash);
    return strcmp(hash, info->hash) == 0;
}

static enum rule_result knative_compare(struct tick *tick, const struct target_info *info,
                                        bool *same)
{
    *same = knative_is_promoted(tick, info);
    return RULE_CONTINUE;
}

static bool knative_serves(const struct target_info *info, enum side side)
{
    struct json_object *revision = side == SIDE_PRIMARY ? info->primary : info->latest;
    const char *status = json_str_at(workload_condition(revision, "Ready"), "status", NULL);

    return status && strcmp(status, "True") == 0;
}

const struct target target_knative = {
    .kind = "Service",
    .group = "serving.knative.dev",
    .resource = &kube_knative_services,
    .pod_suffix = "-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)",
    .own_services = knative_own_services,
    .find = knative_find,
    .read = knative_read,
    .ensure_primary = knative_ensure_primary,
    .ready = knative_ready,
    .scale_to_zero = knative_scale,
    .scale_from_zero = knative_scale_from_zero,
    .promote = knative_promote,
    .is_promoted = knative_is_promoted,
    .compare = knative_compare,
    .serves = knative_serves,
    .restore = knative_scale_from_zero,
};
