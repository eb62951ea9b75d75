/*
 * Recreation of a primary whose selector must get all labels of the target's. Selectors are
 * immutable, and the autoscaler, the Services and people know the primary by name. So a second
 * primary is created beside it, from the same template, with a name and one label of its own:
 * Services that select the first one's pods select those of the second as well, in every mesh,
 * without a write to a Service or a route. When the second serves, the first is deleted; the new
 * primary is created from the second under the old name, and when the new one serves, the second is
 * deleted. Pods are never left without an owner: another workload with a matching selector would
 * adopt them and scale them down.
 *
 * The next action follows from the objects alone: which primary exists (status.renewal has the uid
 * of the first), and whether the second does. The target is not involved, so a revision pushed
 * meanwhile waits and does not serve.
 */
#include "decide/rules.h"

#include <string.h>

#include "base/clock.h"
#include "decide/condition.h"
#include "decide/revision.h"
#include "decide/status.h"
#include "router/shared/services.h"
#include "target/shared/primary.h"
#include "tick/edit.h"

/* A label that only pods of the second primary have. */
#define MARK "flagger.app/renewal"

/* The field of the status, and its members. */
static const char renewal[] = "renewal", first_uid[] = "uid", begun_at[] = "since";
static const char second_serves[] = "secondServesSince", primary_serves[] = "primaryServesSince";

const char *renew_second(struct release *r)
{
    return arena_printf(r->tick->arena, "%s-renewal", r->canary->target.name);
}

static const char *noted(const struct release *r, const char *key)
{
    return json_str_at(r->canary->status.json, renewal, key, NULL);
}

static void note(struct release *r, const char *key, const char *text)
{
    json_set_str(json_sub(release_status(r), renewal), key, text);
}

static const char *now(struct release *r)
{
    char text[CLOCK_TEXT];

    return arena_strdup(r->tick->arena, clock_rfc3339(r->tick->now_ms, text));
}

/* --- preconditions */

static struct json_object *wanted_selector(struct release *r)
{
    return primary_new_selector(r->tick, &r->info);
}

static size_t count_labels(struct json_object *selector)
{
    return json_count(json_at(selector, "matchLabels", NULL)) +
           json_len(json_at(selector, "matchExpressions", NULL));
}

bool renew_is_narrow(struct release *r)
{
    return count_labels(json_at(r->info.primary, "spec", "selector", NULL)) <
           count_labels(wanted_selector(r));
}

static const char *refuse_primary(struct release *r)
{
    const char *name = primary_name(r->tick), *why;
    struct json_object *labels =
        json_at(r->info.primary, "spec", "template", "metadata", "labels", NULL);

    if (!r->info.primary)
        return arena_printf(r->tick->arena, "%s does not exist", name);
    if (!renew_is_narrow(r))
        return arena_printf(r->tick->arena,
                            "the selector of %s has all labels of that of %s already", name,
                            r->canary->target.name);
    if (!primary_selects(wanted_selector(r), labels))
        return arena_printf(r->tick->arena,
                            "the pods of %s do not have all labels of the selector of %s yet; they "
                            "have them after the next release",
                            name, r->canary->target.name);
    if (r->info.primary_at_zero)
        return arena_printf(r->tick->arena, "%s is scaled to zero", name);
    return release_ready(r, SIDE_PRIMARY, &why) == READY ? NULL : why;
}

const char *renew_refusal(struct release *r)
{
    if (r->target->own_services || !r->info.label)
        return arena_printf(r->tick->arena, "a %s has no primary with a selector of its own",
                            r->canary->target.kind);
    if (!release_is_idle(r))
        return "a release is under way, ask again when it has ended";
    if (json_at(r->canary->status.json, renewal, NULL))
        return "it is recreated already";
    if (r->canary->status.canary_weight > 0 || revision_changed(r) || !revision_is_promoted(r))
        return arena_printf(r->tick->arena,
                            "%s holds revision %s, which is not the promoted one; release it, or "
                            "restore the promoted one",
                            r->canary->target.name, r->info.hash);
    return refuse_primary(r);
}

void renew_begin(struct release *r)
{
    struct json_object *out = edit_object(r->tick->arena);

    json_set_str(out, first_uid, json_str_at(r->info.primary, "metadata", "uid", NULL));
    json_set_str(out, begun_at, now(r));
    status_object(r, renewal, out);
}

/* --- its steps */

static void forget(struct release *r)
{
    status_object(r, renewal, NULL);
    condition_clear(r, CONDITION_RENEWED);
}

/* Both are made from each other: they differ only in name, owner and selector. */
static struct json_object *made_from(struct release *r, struct json_object *from, const char *name)
{
    static const char *const notes[] = {"deployment.kubernetes.io/revision",
                                        "deprecated.daemonset.template.generation"};
    struct json_object *out = edit_new(r->tick, r->target->resource, name);
    struct json_object *metadata = json_sub(out, "metadata");
    struct json_object *annotations =
        edit_without_gitops(r->tick->arena, json_at(from, "metadata", "annotations", NULL));

    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
        json_object_object_del(annotations, notes[i]);
    edit_disown_gitops(annotations);
    json_set(metadata, "annotations", annotations);
    edit_put(r->tick->arena, metadata, "labels", json_at(from, "metadata", "labels", NULL));
    json_set(out, "spec", edit_overlay(r->tick->arena, NULL, json_at(from, "spec", NULL)));
    json_set(json_sub(out, "spec"), "selector", wanted_selector(r));
    return out;
}

static struct json_object *template_labels(struct json_object *workload)
{
    return json_sub(json_sub(json_sub(json_sub(workload, "spec"), "template"), "metadata"),
                    "labels");
}

static enum rule_result make_second(struct release *r, struct json_object *first)
{
    struct json_object *out = made_from(r, first, renew_second(r));
    struct json_object *selector = json_sub(json_sub(out, "spec"), "selector");

    json_set_str(json_sub(selector, "matchLabels"), MARK, "true");
    json_set_str(template_labels(out), MARK, "true");
    plan_create(r->tick, r->target->resource, r->canary->namespace_, out);
    plan_why(r->tick, "beside %s", primary_name(r->tick));
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

static enum rule_result make_primary(struct release *r, struct json_object *second)
{
    struct json_object *out = made_from(r, second, primary_name(r->tick));

    json_object_object_del(template_labels(out), MARK);
    plan_create(r->tick, r->target->resource, r->canary->namespace_, out);
    plan_why(r->tick, "anew");
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/* For a workload that replaces the primary, or is the primary. */
static enum readiness ready(struct release *r, struct json_object *workload, const char **why)
{
    struct json_object *primary = r->info.primary;

    r->info.primary = workload;
    enum readiness readiness = release_ready(r, SIDE_PRIMARY, why);
    r->info.primary = primary;
    return readiness;
}

static enum rule_result wait(struct release *r, const char *reason, const char *text)
{
    condition_set(r, CONDITION_RENEWED, reason, text);
    release_requeue(r, REQUEUE_INTERVAL);
    return RULE_DONE;
}

/* The workload serves: CONTINUE after an interval, when this is known everywhere. */
static enum rule_result pause(struct release *r, const char *key, const char *reason,
                              const char *name)
{
    const char *text = noted(r, key);
    int64_t since, length = tick_interval_ms(r->tick);

    if (text && clock_parse(text, &since, NULL) == ERR_OK && since <= r->tick->now_ms) {
        int64_t left = tick_since(r->tick, since) + length - r->tick->now_ms;
        if (left <= 0)
            return RULE_CONTINUE;
        release_requeue_within(r, left);
        return RULE_DONE;
    }
    note(r, key, now(r));
    release_requeue_within(r, length);
    condition_set(r, CONDITION_RENEWED, reason,
                  arena_printf(r->tick->arena,
                               "%s.%s serves; waiting until that is known everywhere", name,
                               r->canary->namespace_));
    return RULE_DONE;
}

/* The second has never served completely, and the first was never touched. */
static enum rule_result give_up(struct release *r, struct json_object *second, const char *why)
{
    if (edit_is_owned(r->tick, second))
        plan_delete(r->tick, r->target->resource, second);
    event_warning(r, "%s.%s is not recreated, it stays as it is: %s", primary_name(r->tick),
                  r->canary->namespace_, why);
    forget(r);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

static bool is_overdue(struct release *r)
{
    const char *text = noted(r, begun_at);
    int64_t since;

    return !text || clock_parse(text, &since, NULL) != ERR_OK || tick_is_overdue(r->tick, since);
}

/* Acts while the first primary exists. */
static enum rule_result set_beside(struct release *r, struct json_object *first,
                                   struct json_object *second)
{
    const char *name = renew_second(r), *why;

    if (!second)
        return make_second(r, first);
    if (!edit_is_owned(r->tick, second))
        return give_up(r, second,
                       arena_printf(r->tick->arena, "there is a %s %s.%s of others",
                                    r->canary->target.kind, name, r->canary->namespace_));
    enum readiness readiness = ready(r, second, &why);
    const char *text = arena_printf(r->tick->arena, "waiting for %s.%s, which stands in for it: %s",
                                    name, r->canary->namespace_, why);
    if (readiness == NOT_READY_EVER || (readiness != READY && is_overdue(r)))
        return give_up(r, second, text);
    if (readiness != READY)
        return wait(r, "Starting", text);
    enum rule_result verdict = pause(r, second_serves, "Serving", name);
    if (verdict != RULE_CONTINUE)
        return verdict;
    plan_delete(r->tick, r->target->resource, first);
    plan_why(r->tick, "%s serves", name);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/* Acts once the new primary exists. */
static enum rule_result follow(struct release *r, struct json_object *primary,
                               struct json_object *second)
{
    const char *name = primary_name(r->tick), *why;

    if (second && ready(r, primary, &why) != READY)
        return wait(r, "Replacing", why);
    enum rule_result verdict = second ? pause(r, primary_serves, "Replaced", name) : RULE_CONTINUE;
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (second && edit_is_owned(r->tick, second))
        plan_delete(r->tick, r->target->resource, second);
    event_normal(
        r, "%s.%s was recreated, it selects its pods by %s", name, r->canary->namespace_,
        services_print(r->tick, json_at(primary, "spec", "selector", "matchLabels", NULL)));
    forget(r);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

static bool goes(struct json_object *object)
{
    return json_at(object, "metadata", "deletionTimestamp", NULL);
}

enum rule_result renew_go_on(struct release *r)
{
    const struct kube_resource *resource = r->target->resource;
    const char *namespace_ = r->canary->namespace_, *uid = noted(r, first_uid);
    struct json_object *primary, *second;

    if (!uid || r->target->own_services || !r->info.label)
        return RULE_CONTINUE;
    bool known = need_object(r->tick, resource, namespace_, primary_name(r->tick), &primary);
    if (!need_object(r->tick, resource, namespace_, renew_second(r), &second) || !known)
        return RULE_NEEDS_FACTS;
    if (goes(primary) || goes(second))
        return RULE_DONE;
    if (!primary && second)
        return make_primary(r, second);
    if (!primary) { /* both were deleted; handled like any lost primary */
        forget(r);
        return RULE_CONTINUE;
    }
    const char *live = json_str_at(primary, "metadata", "uid", NULL);
    bool is_first = live && strcmp(live, uid) == 0;
    return is_first ? set_beside(r, primary, second) : follow(r, primary, second);
}
