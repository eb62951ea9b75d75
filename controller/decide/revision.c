/* The target's revision compared with those in the status, and pinning the target to one. */
#include "decide/revision.h"

#include <string.h>

#include "decide/condition.h"
#include "decide/release.h"
#include "decide/rules.h"
#include "decide/serving.h"
#include "decide/steering.h"
#include "target/shared/configs.h"

bool revision_is_flaggers(const struct release *r)
{
    return !r->canary->status.service_name;
}

/* Flagger does not track binaryData: its status says nothing about it. */
static bool is_unknown_binary(const struct release *r, const char *key)
{
    size_t len = strlen(key), suffix = strlen(CONFIGS_BINARY);

    return revision_is_flaggers(r) && len > suffix &&
           strcmp(key + len - suffix, CONFIGS_BINARY) == 0 &&
           !json_at(r->canary->status.tracked_configs, key, NULL);
}

bool revision_configs_changed(const struct release *r)
{
    struct json_object *now = r->info.configs;
    struct json_object *tracked = r->canary->status.tracked_configs;

    /* Unknown while a config is missing; no rule makes a step then. */
    if (!now || r->info.missing)
        return false;
    json_object_object_foreach(now, key, value)
    {
        if (!is_unknown_binary(r, key) && !json_same(json_at(tracked, key, NULL), value))
            return true;
    }
    if (!json_object_is_type(tracked, json_type_object))
        return false;
    json_object_object_foreach(tracked, old_key, old_value)
    {
        if (old_value && !json_at(now, old_key, NULL))
            return true;
    }
    return false;
}

bool revision_is_promoted(const struct release *r)
{
    return strcmp(r->info.hash, r->canary->status.last_promoted_spec) == 0;
}

bool revision_is_applied(const struct release *r)
{
    return strcmp(r->info.hash, r->canary->status.last_applied_spec) == 0;
}

bool revision_changed(struct release *r)
{
    if (!*r->canary->status.last_applied_spec || steering_is_analysed_again(r))
        return true;
    /* Restoring the promoted spec is a manual rollback. */
    if (!revision_is_promoted(r) && !revision_is_applied(r))
        return true;
    return revision_configs_changed(r);
}

/*
 * analysis.onNewRevision: finish. The target is pinned to the analysed revision, from the first
 * step until its pods are removed: a revision pushed meanwhile waits in its template, and is
 * released next. (One pushed before the first step restarts the analysis with nothing lost.)
 */

/*
 * As soon as all pods have its revision, possibly before a step is due. A target paused by a
 * person is pinned already.
 */
enum rule_result pin_begin(struct release *r)
{
    const char *why;

    if (!r->canary->analysis.finishes || !r->target->pin || r->info.pin != PIN_NONE ||
        r->info.paused || r->info.at_zero || !release_is_first_step(r) || !revision_is_applied(r) ||
        release_ready(r, SIDE_CANARY, &why) != READY)
        return RULE_CONTINUE;
    if (!r->target->pin(r->tick, &r->info)) {
        if (r->canary->status.failed_checks == 0)
            event_warning(r,
                          "%s is not pinned to the revision that is analysed, its pod template is "
                          "too large for an annotation",
                          release_target(r));
        return RULE_CONTINUE;
    }
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/* True if clients reach its pods, by a share or, without a mesh, by the apex Service. */
static enum rule_result serves_clients(struct release *r, bool *serves)
{
    *serves = r->canary->status.canary_weight > 0;
    return *serves || !release_is_idle(r) ? RULE_CONTINUE : serving_needs_target(r, serves);
}

/*
 * The promoted revision is waiting: a person has cancelled the release. Other configs are a
 * revision that a pin cannot hold: starting pods read them.
 */
static bool is_given_up(const struct release *r)
{
    const char *next = r->info.next;

    return !r->canary->analysis.finishes || revision_configs_changed(r) ||
           (*next && strcmp(next, r->canary->status.last_promoted_spec) == 0);
}

/* serves: clients reach its pods; not before the pause in which they may still arrive is over. */
static bool must_unpin(struct release *r, bool serves)
{
    if (r->info.pin == PIN_BROKEN)
        return true;
    if (release_is_analysing(r))
        return is_given_up(r);
    return !release_is_promoting(r) && !serves && !condition_is_set(r, CONDITION_DRAINED);
}

/*
 * In Failed the canary may still serve, after a failed promotion: an unanalysed revision must not
 * replace its pods.
 */
static void tell_next(struct release *r, bool serves)
{
    const char *text =
        serves ? arena_printf(r->tick->arena,
                              "Revision %s of %s waits, since clients are sent to its pods; "
                              "`kubectl rollout resume deployment/%s --namespace %s` replaces them",
                              r->info.next, release_target(r), r->canary->target.name,
                              r->canary->namespace_)
               : arena_printf(r->tick->arena,
                              "Revision %s of %s waits until the release of %s has ended",
                              r->info.next, release_target(r), r->info.hash);

    if (!condition_set_true(r, CONDITION_SUPERSEDED, "RevisionWaits", text))
        return;
    if (serves)
        event_warning(r, "%s", text);
    else
        event_normal(r, "%s", text);
}

enum rule_result pin_end(struct release *r)
{
    bool serves;

    if (!*r->info.next)
        condition_clear(r, CONDITION_SUPERSEDED);
    if (r->info.pin == PIN_NONE)
        return RULE_CONTINUE;
    enum rule_result verdict = serves_clients(r, &serves);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!must_unpin(r, serves)) {
        if (*r->info.next)
            tell_next(r, serves && release_is_idle(r));
        return RULE_CONTINUE;
    }
    r->target->unpin(r->tick, &r->info);
    condition_clear(r, CONDITION_SUPERSEDED);
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}
