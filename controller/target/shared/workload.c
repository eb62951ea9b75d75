#include "target/shared/workload.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "target/shared/configs.h"
#include "target/shared/primary.h"
#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

static const char *labels_text(struct tick *tick)
{
    const char *text = "";

    for (const char *const *label = tick->settings->selector_labels; label && *label; label++)
        text = arena_printf(tick->arena, "%s%s%s", text, *text ? " " : "", *label);
    return text;
}

/* The released form of the pod template. */
static struct json_object *released(struct arena *arena, const struct workload *kind,
                                    struct json_object *object)
{
    /* overlay: without nulls (creationTimestamp), which a patch cannot express */
    struct json_object *template =
        edit_overlay(arena, NULL, json_at(object, "spec", "template", NULL));
    struct json_object *nodes = json_at(template, "spec", "nodeSelector", NULL);

    if (!kind->zero_selector || !json_object_is_type(nodes, json_type_object))
        return template;
    json_del(nodes, kind->zero_selector);
    if (json_count(nodes) == 0)
        json_del(json_at(template, "spec", NULL), "nodeSelector");
    return template;
}

/* The hash of a released pod template. If a kind is scaled by its node selector, Flagger hashes a
 * missing selector as an empty one, so that the hash is the same at zero. */
static enum err workload_hash(struct arena *arena, const struct workload *kind,
                              struct json_object *template, char hash[SPECHASH_TEXT],
                              struct errinfo *ei)
{
    if (kind->zero_selector) {
        template = json_copy(arena, template);
        json_sub(json_sub(template, "spec"), "nodeSelector");
    }
    return spechash_pod_template(arena, template, hash, ei);
}

enum err workload_revision(struct arena *arena, const struct workload *kind,
                           struct json_object *object, char hash[SPECHASH_TEXT], struct errinfo *ei)
{
    return workload_hash(arena, kind, released(arena, kind, object), hash, ei);
}

static bool need_both(struct tick *tick, const struct workload *kind, struct target_info *out)
{
    const char *namespace_ = tick->canary->namespace_;
    bool known =
        need_object(tick, kind->resource, namespace_, tick->canary->target.name, &out->object);

    return need_object(tick, kind->resource, namespace_, primary_name(tick), &out->primary) &&
           known;
}

/* Sets the fields that depend only on the target. */
static void describe(struct tick *tick, const struct workload *kind, struct target_info *out)
{
    out->template = released(tick->arena, kind, out->object);
    if (tick->canary->service.port_discovery)
        out->ports = primary_ports(tick, json_at(out->template, "spec", NULL));
}

static const char *refuse_label(struct tick *tick, const struct target_info *info)
{
    enum { LABEL = 63, SUFFIX = sizeof("-primary") - 1 };
    size_t len = strlen(info->label_value);

    if (len + SUFFIX <= LABEL)
        return NULL;
    return arena_printf(
        tick->arena,
        "spec.targetRef.name: the label %s of %s has a value of %zu characters, expected at most "
        "%d: its primary has it with \"-primary\" behind it, and a value takes 63",
        info->label, tick->canary->target.name, len, (int)(LABEL - SUFFIX));
}

static const char *refuse_configs(struct tick *tick, const struct target_info *info)
{
    enum { NAME = 253, SUFFIX = sizeof("-primary") - 1 };

    for (const struct config_ref *ref = info->config_refs; ref; ref = ref->next)
        if (ref->tracked && strlen(ref->name) + SUFFIX > NAME)
            return arena_printf(tick->arena,
                                "spec.targetRef.name: %s %s has a name of %zu characters, expected "
                                "at most %d: its copy has it with "
                                "\"-primary\" behind it; the annotation "
                                "flagger.app/config-tracking: disabled leaves it alone",
                                ref->resource->kind, ref->name, strlen(ref->name),
                                (int)(NAME - SUFFIX));
    return NULL;
}

enum rule_result workload_refuse(struct tick *tick, struct json_object *object,
                                 const char **sentence)
{
    struct json_object *pod_spec = json_at(object, "spec", "template", "spec", NULL);
    struct target_info info = {.object = object};
    enum rule_result verdict = configs_read(tick, pod_spec, &info);

    *sentence = NULL;
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (primary_selector(tick, object, &info))
        *sentence = refuse_label(tick, &info);
    if (!*sentence)
        *sentence = refuse_configs(tick, &info);
    if (!*sentence && tick->canary->service.port_discovery)
        *sentence = primary_ports_refused(tick, primary_ports(tick, pod_spec));
    return RULE_CONTINUE;
}

enum rule_result workload_find(struct tick *tick, const struct workload *kind,
                               struct target_info *out)
{
    if (!need_both(tick, kind, out))
        return RULE_NEEDS_FACTS;
    if (json_at(out->object, "metadata", "deletionTimestamp", NULL))
        out->object = NULL;
    if (json_at(out->primary, "metadata", "deletionTimestamp", NULL))
        out->primary = NULL;
    if (kind->pins && out->object)
        pin_read(tick->arena, out);
    if (out->object && primary_selector(tick, out->object, out))
        describe(tick, kind, out);
    return RULE_CONTINUE;
}

enum rule_result workload_read(struct tick *tick, const struct workload *kind,
                               struct target_info *out)
{
    const char *namespace_ = tick->canary->namespace_;
    const char *name = tick->canary->target.name;
    struct errinfo ei;

    if (!need_both(tick, kind, out))
        return RULE_NEEDS_FACTS;
    if (!out->object)
        return target_unusable(tick, out, "%s %s.%s get query error: not found", kind->word, name,
                               namespace_);
    if (kind->pins)
        pin_read(tick->arena, out);
    if (!primary_selector(tick, out->object, out))
        return target_unusable(tick, out,
                               "%s %s.%s spec.selector.matchLabels must contain one of [%s]",
                               kind->word, name, namespace_, labels_text(tick));
    describe(tick, kind, out);
    if (workload_hash(tick->arena, kind, out->template, out->hash, &ei) != ERR_OK ||
        pin_compare(tick, kind, out, &ei) != ERR_OK)
        return target_unusable(tick, out, "%s %s.%s spec.template: %s", kind->word, name,
                               namespace_, ei.text);
    return configs_read(tick, json_at(out->template, "spec", NULL), out);
}

static struct json_object *template_of(struct tick *tick, const struct target_info *info)
{
    struct json_object *template = primary_template(tick, info);

    primary_rewrite_affinity(tick, info, json_sub(template, "spec"), true);
    return template;
}

static void copy_fields(struct tick *tick, const struct workload *kind,
                        const struct target_info *info, struct json_object *spec)
{
    for (const char *const *field = kind->copied; *field; field++)
        edit_put(tick->arena, spec, *field, json_at(info->object, "spec", *field, NULL));
}

/*
 * `base`, which is `live` with the new spec or a new object, with the target's labels and
 * annotations. (Flagger's first promotion drops the primary's labels that are not included; here
 * labels set by others stay, and copied labels stay while the target has them.)
 */
static struct json_object *with_metadata(struct tick *tick, const struct workload *kind,
                                         const struct target_info *info, struct json_object *live,
                                         struct json_object *base)
{
    struct json_object *given = json_at(info->object, "metadata", "annotations", NULL);
    struct json_object *labels = primary_labels(tick, info);
    struct json_object *included = edit_included(tick, given);
    struct json_object *wanted = edit_object(tick->arena);
    struct json_object *metadata = json_sub(wanted, "metadata");

    json_del(included, kind->bookkeeping);
    json_set(metadata, "labels", labels);
    json_set(metadata, "annotations",
             applied_follow(tick->arena, live, "annotations",
                            edit_without_gitops(tick->arena, given), included));
    primary_set_label(tick, info, json_sub(json_sub(base, "metadata"), "labels"));
    return applied_lay(tick->arena, live, base, wanted);
}

static struct json_object *make_primary(struct tick *tick, const struct workload *kind,
                                        const struct target_info *info)
{
    struct json_object *primary = edit_new(tick, kind->resource, primary_name(tick));
    struct json_object *spec = json_sub(primary, "spec");

    copy_fields(tick, kind, info, spec);
    json_set(spec, "selector", primary_new_selector(tick, info));
    json_set(spec, "template", template_of(tick, info));
    return with_metadata(tick, kind, info, NULL, primary);
}

enum rule_result workload_new_primary(struct tick *tick, const struct workload *kind,
                                      const struct target_info *info, struct json_object **out)
{
    enum rule_result verdict = configs_copy(tick, info);

    if (verdict == RULE_CONTINUE)
        *out = make_primary(tick, kind, info);
    return verdict;
}

static bool is_of(struct json_object *object, struct json_object *owner)
{
    struct json_object *owners = json_at(object, "metadata", "ownerReferences", NULL);
    const char *uid = json_str_at(owner, "metadata", "uid", NULL);

    for (size_t i = 0; i < json_len(owners); i++) {
        const char *found = json_str_at(json_elem(owners, i), "uid", NULL);
        if (uid && found && strcmp(uid, found) == 0)
            return true;
    }
    return false;
}

/* The template with this hash among the target's former revisions in the cluster, in released form;
 * NULL if there is none. */
static struct json_object *find_past(struct tick *tick, const struct workload *kind,
                                     struct json_object *target, struct json_object *pasts,
                                     const char *hash)
{
    char found[SPECHASH_TEXT];

    for (size_t i = 0; i < json_len(pasts); i++) {
        struct json_object *past = json_elem(pasts, i);
        struct json_object *template =
            released(tick->arena, kind, kind->past_in_data ? json_at(past, "data", NULL) : past);
        json_del(json_at(template, "metadata", "labels", NULL), "pod-template-hash");
        json_del(template, "$patch");
        if (template && is_of(past, target) &&
            workload_hash(tick->arena, kind, template, found, NULL) == ERR_OK &&
            strcmp(found, hash) == 0)
            return template;
    }
    return NULL;
}

/* Creates the primary only if the copies of its configs are the promoted ones. */
enum rule_result workload_recall(struct tick *tick, const struct workload *kind,
                                 const struct target_info *info, const char *hash,
                                 struct json_object **out)
{
    struct target_info past = *info;
    struct json_object *pasts;
    const char *denied;

    *out = NULL;
    if (!need_objects_if_allowed(tick, kind->past, tick->canary->namespace_, &pasts, &denied))
        return RULE_NEEDS_FACTS;
    past.template = find_past(tick, kind, info->object, pasts, hash);
    if (!past.template)
        return RULE_CONTINUE;
    past.config_refs = NULL;
    enum rule_result verdict = configs_read(tick, json_at(past.template, "spec", NULL), &past);
    if (verdict != RULE_CONTINUE)
        return verdict;
    snprintf(past.hash, sizeof(past.hash), "%s", hash);
    struct json_object *template = template_of(tick, &past);
    verdict = configs_of_primary(tick, json_at(template, "spec", NULL), &past.configs);
    if (verdict == RULE_CONTINUE)
        *out = make_primary(tick, kind, &past);
    return verdict;
}

enum rule_result workload_promoted(struct tick *tick, const struct workload *kind,
                                   const struct target_info *info, struct json_object **from,
                                   struct json_object **to)
{
    enum rule_result verdict = configs_copy(tick, info);

    if (verdict != RULE_CONTINUE)
        return verdict;
    *from = edit_overlay(tick->arena, NULL, info->primary); /* without nulls */
    struct json_object *base = json_copy(tick->arena, *from);
    struct json_object *spec = json_sub(base, "spec");
    copy_fields(tick, kind, info, spec);
    json_set(spec, "template", template_of(tick, info));
    *to = with_metadata(tick, kind, info, *from, base);
    return RULE_CONTINUE;
}

void workload_plan_promotion(struct tick *tick, const struct workload *kind,
                             const struct target_info *info, struct json_object *from,
                             struct json_object *to)
{
    if (plan_update(tick, kind->resource, from, to))
        plan_why(tick, "promote %s", info->hash);
}

bool workload_is_promoted(struct tick *tick, const struct target_info *info)
{
    const char *live =
        json_str_at(info->primary, "spec", "template", "metadata", "annotations", PRIMARY_ID, NULL);

    return live && strcmp(live, primary_id(tick, info)) == 0;
}

static bool holds(struct json_object *copies, struct json_object *configs)
{
    if (!configs)
        return true;
    json_object_object_foreach(configs, key, hash)
    {
        if (!json_same(json_at(copies, key, NULL), hash))
            return false;
    }
    return true;
}

/* The id of an unchanged primary is derived from the promoted revision and the current copies of
 * its configs. An id written by Flagger carries no information. */
enum rule_result workload_carried(struct tick *tick, const struct target_info *info,
                                  const char *before, enum carried *out)
{
    struct json_object *template = json_at(info->primary, "spec", "template", NULL);
    const char *live = json_str_at(template, "metadata", "annotations", PRIMARY_ID, NULL);
    struct target_info old = {0};
    enum rule_result verdict =
        configs_of_primary(tick, json_at(template, "spec", NULL), &old.configs);

    snprintf(old.hash, sizeof(old.hash), "%s", before);
    *out = CARRIED_PART;
    if (workload_is_promoted(tick, info) && holds(old.configs, info->configs))
        *out = CARRIED_ALL;
    else if (live && strcmp(live, primary_id(tick, &old)) == 0)
        *out = CARRIED_NOTHING;
    return verdict;
}

/* A `kubectl rollout restart` of the primary alone is not a new revision. */
static void drop_own_restart(struct json_object *live, struct json_object *wanted)
{
    static const char restarted[] = "kubectl.kubernetes.io/restartedAt";
    struct json_object *annotations = json_at(live, "metadata", "annotations", NULL);

    if (!json_at(wanted, "metadata", "annotations", restarted, NULL))
        json_del(annotations, restarted);
}

/* Compares the template first; the copies of configs only if it is the same. */
enum rule_result workload_compare(struct tick *tick, const struct target_info *info, bool *same)
{
    struct json_object *wanted = template_of(tick, info);
    struct json_object *live = /* without nulls, as in the other one */
        edit_overlay(tick->arena, NULL, json_at(info->primary, "spec", "template", NULL));

    json_sub(json_sub(live, "metadata"), "annotations");
    json_del(json_at(wanted, "metadata", "annotations", NULL), PRIMARY_ID);
    json_del(json_at(live, "metadata", "annotations", NULL), PRIMARY_ID);
    drop_own_restart(live, wanted);
    /* terms that another version did not rewrite do not make another revision */
    primary_rewrite_affinity(tick, info, json_sub(live, "spec"), true);
    *same = json_same(wanted, live);
    return *same ? configs_compare(tick, info, same) : RULE_CONTINUE;
}

struct json_object *workload_condition(struct json_object *object, const char *type)
{
    return json_find(json_at(object, "status", "conditions", NULL), "type", type, NULL);
}

bool workload_is_overdue(struct tick *tick, enum side side)
{
    struct json_object *waiting = workload_condition(tick->canary->json, side_condition(side));
    const char *since = json_str_at(waiting, "lastTransitionTime", NULL);
    int64_t since_ms;
    struct errinfo ei;

    if (!since || clock_parse(since, &since_ms, &ei) != ERR_OK)
        return false;
    return tick_is_overdue(tick, since_ms);
}

bool workload_is_unobserved(struct json_object *object)
{
    return json_int_at(object, 0, "metadata", "generation", NULL) >
           json_int_at(object, 0, "status", "observedGeneration", NULL);
}

int64_t workload_least(int64_t pods, int threshold)
{
    int64_t least = pods * threshold / 100;

    return least < 1 && pods > 0 ? 1 : least;
}

/* --- earlier promotions by Flagger */

/* A promotion drops these fields; they are restored from the target if it still has them. */
static void put_back_toolkit(struct tick *tick, struct json_object *metadata, const char *key,
                             struct json_object *target)
{
    struct json_object *given = json_at(target, key, NULL);
    struct json_object *kept = edit_without_gitops(tick->arena, given);

    if (!given)
        return;
    json_object_object_foreach(given, name, value)
    {
        if (!json_at(kept, name, NULL))
            edit_put(tick->arena, json_sub(metadata, key), name, value);
    }
}

const char *past_primary_hash(struct tick *tick, const struct workload *kind,
                              const struct target_info *info)
{
    struct json_object *template =
        edit_overlay(tick->arena, NULL, json_at(info->primary, "spec", "template", NULL));
    struct json_object *metadata = json_sub(template, "metadata");
    struct json_object *annotations = json_at(metadata, "annotations", NULL);
    struct json_object *target = json_at(info->template, "metadata", NULL);
    char *hash = arena_alloc(tick->arena, SPECHASH_TEXT);
    struct errinfo ei;

    json_del(annotations, PRIMARY_ID);
    put_back_toolkit(tick, metadata, "labels", target);
    put_back_toolkit(tick, metadata, "annotations", target);
    if (annotations && json_count(annotations) == 0)
        json_del(metadata, "annotations");
    json_set_str(json_sub(metadata, "labels"), info->label, info->label_value);
    struct json_object *spec = json_sub(template, "spec");
    if (tick->settings->config_tracking)
        configs_unname(tick, spec);
    primary_rewrite_affinity(tick, info, spec, false);
    return workload_hash(tick->arena, kind, template, hash, &ei) == ERR_OK ? hash : "";
}

static bool later(const char *text, int64_t *latest_ms)
{
    struct errinfo ei;
    int64_t ms;

    if (!text || clock_parse(text, &ms, &ei) != ERR_OK)
        return false;
    *latest_ms = ms > *latest_ms ? ms : *latest_ms;
    return true;
}

/* Time of the last write by a manager that has written the template. */
static bool template_written(struct json_object *object, int64_t *latest_ms)
{
    struct json_object *managers = json_at(object, "metadata", "managedFields", NULL);
    bool known = false;

    for (size_t i = 0; i < json_len(managers); i++) {
        struct json_object *entry = json_elem(managers, i);
        if (!json_at(entry, "fieldsV1", "f:spec", "f:template", NULL))
            continue;
        if (!later(json_str_at(entry, "time", NULL), latest_ms))
            return false;
        known = true;
    }
    return known;
}

bool past_untouched_since(struct tick *tick, const struct target_info *info, int64_t ms)
{
    struct json_object *object = info->object;
    int64_t latest_ms = INT64_MIN;

    (void)tick;
    if (workload_is_unobserved(object))
        return false;
    if (template_written(object, &latest_ms))
        return latest_ms < ms;
    /* Without managedFields, the Deployment controller's condition is the only evidence left. */
    struct json_object *progress = workload_condition(object, "Progressing");
    return later(json_str_at(progress, "lastUpdateTime", NULL), &latest_ms) && latest_ms < ms;
}
