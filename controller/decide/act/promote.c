/*
 * Promotion (steps 22, 24, 25; decide/RULES.md §8.1): the primary gets the analysed
 * revision, then the traffic, then the canary goes.
 *
 * It is one thing, although it takes several writes. First the status says that it is meant: phase
 * Promoting, and the condition PrimaryWhole=False. Then the copies of the configs and the primary
 * are written, at each tick what is missing, until all of it is there. From the first of these
 * writes on there is no way back. (Flagger writes the phase last: a release that is cut off before
 * may end in a rollback to a primary of the old revision with the configs of the new one.)
 */
#include "decide/act/promote.h"

#include <stdio.h>
#include <string.h>

#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/revision.h"
#include "decide/release/status.h"
#include "decide/release/steering.h"
#include "target/common_configs.h"
#include "tick/edit.h"

static const char being_written[] = "Promoting"; /* the reason of the condition */

static const char copies[] = "copiesLeft"; /* a field of the status */

bool promote_left_copies(const struct release *r)
{
    return json_bool_at(r->canary->status.json, false, copies, NULL);
}

/* The revision reads no config any more, and the primary still does: once it is written, only the
 * status knows of the copies. */
static void note_copies(struct release *r)
{
    struct json_object *spec = json_at(r->info.primary, "spec", "template", "spec", NULL);

    if (!r->info.config_refs && configs_has_copies(r->tick, spec))
        json_set_bool(release_status(r), copies, true);
}

void promote_forget_copies(struct release *r)
{
    if (promote_left_copies(r))
        status_object(r, copies, NULL);
}

enum verdict promote_begin(struct release *r)
{
    const char *target = release_target(r);

    release_say(r, "Copying %s template spec to %s-primary.%s", target, r->canary->target.name,
                r->canary->namespace_);
    status_phase(r, PHASE_Promoting);
    condition_set(r, CONDITION_WHOLE, being_written,
                  arena_printf(r->tick->arena, "%s-primary.%s is being promoted to %s",
                               r->canary->target.name, r->canary->namespace_,
                               r->canary->status.last_applied_spec));
    note_copies(r);
    status_forget_waits(r);
    steering_forget(r);
    status_int(r, "canaryWeight", r->weights.canary);
    status_int(r, "iterations", r->canary->status.iterations);
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

bool promote_is_being_written(const struct release *r)
{
    return release_is_promoting(r) && condition_has_reason(r, CONDITION_WHOLE, being_written);
}

bool promote_is_of_analysed(const struct release *r)
{
    return strcmp(r->info.hash, r->canary->status.last_applied_spec) == 0 &&
           !revision_configs_changed(r);
}

/* The revision that the status speaks of, as a target. */
static struct target_info analysed_target(const struct release *r)
{
    struct target_info then = r->info;

    snprintf(then.hash, sizeof(then.hash), "%s", r->canary->status.last_applied_spec);
    if (r->canary->status.tracked_configs)
        then.configs = r->canary->status.tracked_configs;
    else if (then.configs)
        then.configs = edit_object(r->tick->arena);
    return then;
}

enum verdict promote_look(struct release *r, enum carried *out)
{
    struct target_info then = analysed_target(r);

    if (r->target->carried)
        return r->target->carried(r->tick, &then, r->canary->status.last_promoted_spec, out);
    *out = r->target->is_promoted(r->tick, &then) ? CARRIED_ALL : CARRIED_NOTHING;
    return VERDICT_GO;
}

enum verdict promote_is_untouched(struct release *r, bool *out)
{
    enum carried carried = CARRIED_NOTHING;
    enum verdict verdict = VERDICT_GO;

    /* another revision is the target's: what becomes of that is decided first (detect.c) */
    if (release_is_promoting(r))
        verdict = r->info.primary && promote_is_being_written(r) && promote_is_of_analysed(r)
                      ? promote_look(r, &carried)
                      : VERDICT_STOP;
    *out = verdict == VERDICT_GO && carried == CARRIED_NOTHING;
    return verdict == VERDICT_NEED_FACTS ? verdict : VERDICT_GO;
}

/* Where all of it has been written, a primary that carries nothing of it was deleted since, and
 * made anew from the spec promoted before. One that nobody can tell about is what was written. */
enum verdict promote_carried(struct release *r, enum carried *out)
{
    *out = CARRIED_ALL;
    if (!release_is_promoting(r) || revision_is_flaggers(r))
        return VERDICT_GO;
    enum verdict verdict = promote_look(r, out);
    if (*out == CARRIED_PART && !promote_is_being_written(r))
        *out = CARRIED_ALL;
    return verdict;
}

void promote_give_up(struct release *r)
{
    const char *text = arena_printf(
        r->tick->arena,
        "%s-primary.%s has a part of revision %s, which changed while it was promoted; what is "
        "released next puts that right",
        r->canary->target.name, r->canary->namespace_, r->canary->status.last_applied_spec);

    if (condition_set(r, CONDITION_WHOLE, "HalfPromoted", text))
        release_warn(r, "%s", text);
    status_text(r, "lastPromotedSpec", "");
}
