/* The target's revision compared with those in the status, pinning the target to one, and those that wait. */
#include "decide/revision.h"

#include <string.h>

#include "decide/condition.h"
#include "decide/refused_write.h"
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
 * Revisions pushed while a release is under way (analysis.onNewRevision: finish, queue). From the
 * first step until its pods are removed, the target is pinned to the analysed revision: a revision
 * pushed meanwhile waits in the target's template and is released next. (One pushed before the first
 * step restarts the analysis; nothing is lost.)
 *
 * With a queue, each revision is recorded as soon as it is seen and released in its turn. A push
 * ends no release, except a push of the promoted revision, by which a person takes everything back.
 * Before its first step a revision is placed: the live template is set to its template, so that pods
 * are created from it. A revision pushed then is recorded, and the placed template is restored. A
 * tool that keeps writing the newest template wins, and the revisions before it are dropped.
 */

static bool has_mode(const struct release *r, enum canary_new_revision mode)
{
    return r->canary->analysis.on_new_revision == mode;
}

static bool queues(const struct release *r)
{
    return has_mode(r, NEW_REVISION_QUEUE) && r->target && r->target->queue;
}

/* The release of the revision that is placed, or pinned, has ended. */
static bool is_over(struct release *r)
{
    return release_is_idle(r) && !revision_changed(r);
}

static enum rule_result written(struct release *r)
{
    release_requeue(r, REQUEUE_NOW);
    return RULE_DONE;
}

/* --- those that wait */

static void tell_left_out(struct release *r, int count, const char *why)
{
    if (count > 0)
        event_warning(r, "%d revisions of %s that waited for their release are left out: %s", count,
                      release_target(r), why);
}

/* The number of waiting revisions, without one that is also live. */
static int count_others(const struct release *r)
{
    return r->info.queue.n - (r->info.queue.overtaken ? 1 : 0);
}

static enum rule_result forget_queue(struct release *r, const char *why)
{
    tell_left_out(r, count_others(r), why);
    r->target->unpin(r->tick, &r->info);
    condition_clear(r, CONDITION_SUPERSEDED);
    return written(r);
}

/* The spec no longer asks for a queue. The target has the newest revision, as it does without one. */
static enum rule_result leave_queue(struct release *r)
{
    static const char why[] = "spec.analysis.onNewRevision is not queue any more";
    const struct target_queue *queue = &r->info.queue;

    if (!r->target->queue || !queue->kept || (r->info.pin == PIN_PLACED && release_is_promoting(r)))
        return RULE_CONTINUE;
    if (r->info.pin == PIN_PLACED)
        return forget_queue(r, why);
    tell_left_out(r, queue->n - (*r->info.next && !queue->news ? 1 : 0), why);
    (void)r->target->queue(r->tick, &r->info, QUEUE_DROP); /* makes annotations smaller */
    return written(r);
}

static enum rule_result note_pushed(struct release *r)
{
    const struct target_queue *queue = &r->info.queue;
    int before = queue->n + (is_over(r) ? 0 : 1);

    switch (r->target->queue(r->tick, &r->info, QUEUE_NOTE)) {
    case QUEUE_REPLACED:
        event_warning(r,
                      "Revision %s of %s takes the place of revision %s, which is not released: "
                      "the queue is full",
                      r->info.next, release_target(r), queue->waiting[queue->n - 1]);
        break;
    case QUEUE_WRITTEN:
        if (queue->news && before > 0)
            event_normal(r, "Revision %s of %s waits for its release, behind %d others",
                         r->info.next, release_target(r), before);
        break;
    case QUEUE_TOO_LARGE:
        if (r->info.pin == PIN_PLACED)
            return forget_queue(r, "the pod templates are too large for an annotation");
        return RULE_CONTINUE; /* it stays live, so the last revision pushed is released */
    }
    return written(r);
}

/* The promoted revision is pushed: a person takes back the running release and all that wait. */
static bool takes_back(const struct release *r)
{
    return r->info.queue.news && !release_is_promoting(r) &&
           *r->canary->status.last_promoted_spec &&
           strcmp(r->info.next, r->canary->status.last_promoted_spec) == 0;
}

/* The API server refuses it: the release goes on without it, or ends at its deadline. */
static bool is_refused(struct release *r)
{
    return refused_write_is_of_target(r) && (r->info.pin == PIN_HOLDS || refused_write_expired(r));
}

enum rule_result queue_note(struct release *r)
{
    const struct target_queue *queue = &r->info.queue;

    if (!r->target || is_refused(r))
        return RULE_CONTINUE;
    if (!queues(r))
        return leave_queue(r);
    if (r->info.pin == PIN_HOLDS && !queue->kept)
        return note_pushed(r);
    if (queue->overtaken)
        return forget_queue(r, "the newest revision was written again before its turn");
    if (!queue->kept || !queue->news)
        return RULE_CONTINUE;
    return takes_back(r) ? forget_queue(r, "the promoted revision was pushed") : note_pushed(r);
}

/* Records the revision that begins next. A target paused by a person gets no pods of another
 * revision. */
enum rule_result queue_begin(struct release *r)
{
    if (!queues(r) || r->info.pin != PIN_NONE || r->info.paused ||
        r->target->queue(r->tick, &r->info, QUEUE_NOTE) == QUEUE_TOO_LARGE)
        return RULE_CONTINUE;
    return written(r);
}

/* --- the pin */

static bool may_pin(struct release *r)
{
    const char *why;

    if (has_mode(r, NEW_REVISION_RESTART) || !r->target->pin || r->info.paused || r->info.at_zero ||
        (r->info.pin != PIN_NONE && r->info.pin != PIN_PLACED))
        return false;
    /* a placed revision may get its pods later, e.g. after its scaler took it to zero */
    if (!queues(r) && !release_is_first_step(r))
        return false;
    return revision_is_applied(r) && release_ready(r, SIDE_CANARY, &why) == READY;
}

/*
 * As soon as all pods have its revision, possibly before a step is due. A target paused by a
 * person is pinned already.
 */
enum rule_result pin_begin(struct release *r)
{
    bool done;

    if (!may_pin(r))
        return RULE_CONTINUE;
    done = queues(r) ? r->target->queue(r->tick, &r->info, QUEUE_HOLD) != QUEUE_TOO_LARGE
                     : r->target->pin(r->tick, &r->info);
    if (done)
        return written(r);
    if (r->canary->status.failed_checks == 0 && release_is_first_step(r))
        event_warning(r,
                      "%s is not pinned to the revision that is analysed, its pod template is "
                      "too large for an annotation",
                      release_target(r));
    return RULE_CONTINUE;
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

    return has_mode(r, NEW_REVISION_RESTART) || revision_configs_changed(r) ||
           (!queues(r) && *next && strcmp(next, r->canary->status.last_promoted_spec) == 0);
}

/* serves: clients reach its pods; not before the pause in which they may still arrive is over. */
static bool must_unpin(struct release *r, bool serves)
{
    if (r->info.pin == PIN_BROKEN)
        return true;
    if (release_is_analysing(r))
        return r->info.pin == PIN_HOLDS && is_given_up(r);
    if (r->info.pin == PIN_PLACED && !is_over(r))
        return false;
    return !release_is_promoting(r) && !serves && !condition_is_set(r, CONDITION_DRAINED);
}

/* Names those that wait, the next one first. */
static const char *list_waiting(struct release *r)
{
    const struct target_queue *queue = &r->info.queue;
    const char *list = queue->waiting[0];

    for (int i = 1; i < queue->n; i++)
        list = arena_printf(r->tick->arena, "%s, %s", list, queue->waiting[i]);
    return list;
}

static const char *waits_text(struct release *r)
{
    const struct target_queue *queue = &r->info.queue;

    if (queue->n > 1)
        return arena_printf(r->tick->arena,
                            "%d revisions of %s wait until the release of %s has ended, and each "
                            "for those before it: %s",
                            queue->n, release_target(r), r->info.hash, list_waiting(r));
    return arena_printf(r->tick->arena, "Revision %s of %s waits until the release of %s has ended",
                        queue->n == 1 ? queue->waiting[0] : r->info.next, release_target(r),
                        r->info.hash);
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
               : waits_text(r);

    if (!condition_set_true(r, CONDITION_SUPERSEDED, "RevisionWaits", text))
        return;
    if (serves)
        event_warning(r, "%s", text);
    else if (!r->info.queue.kept) /* each was reported when it was noted */
        event_normal(r, "%s", text);
}

/* Restores the template of the pinned revision, or places the next waiting one. */
static enum rule_result go_on(struct release *r)
{
    const struct target_queue *queue = &r->info.queue;
    int waiting = queue->n + (queue->news ? 1 : 0);
    const char *next = queue->n > 0 ? queue->waiting[0] : r->info.next;
    enum queue_deed deed = is_over(r) ? QUEUE_NEXT : QUEUE_PLACE;

    if (waiting == 0 && deed == QUEUE_NEXT)
        return forget_queue(r, "");
    if (r->target->queue(r->tick, &r->info, deed) == QUEUE_TOO_LARGE)
        return forget_queue(r, "the pod templates are too large for an annotation");
    if (deed == QUEUE_NEXT)
        event_normal(r, "Revision %s of %s is the next, %d wait behind it", next, release_target(r),
                     waiting - 1);
    return written(r);
}

enum rule_result pin_end(struct release *r)
{
    const struct target_queue *queue = &r->info.queue;
    bool serves;

    if (!*r->info.next && queue->n == 0)
        condition_clear(r, CONDITION_SUPERSEDED);
    if (r->info.pin == PIN_NONE)
        return RULE_CONTINUE;
    enum rule_result verdict = serves_clients(r, &serves);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!must_unpin(r, serves)) {
        if (*r->info.next || queue->n > 0)
            tell_next(r, serves && release_is_idle(r) && *r->info.next);
        return RULE_CONTINUE;
    }
    if (queue->kept)
        return go_on(r);
    /* a target that was resumed has the newest revision */
    tell_left_out(r, queue->n - 1, "the target was resumed");
    r->target->unpin(r->tick, &r->info);
    condition_clear(r, CONDITION_SUPERSEDED);
    return written(r);
}

enum rule_result revision_unpin_former(struct release *r, const struct canary_ref *former)
{
    const struct target *target = target_find(former->api_version, former->kind);
    const struct canary *now = r->tick->canary;
    struct canary view = *now;
    struct target_info info = {0};

    if (!target || !target->unpin)
        return RULE_CONTINUE;
    view.target = *former;
    tick_follow(r->tick, &view);
    enum rule_result verdict = target->find(r->tick, &info);
    if (verdict == RULE_CONTINUE && info.pin != PIN_NONE)
        target->unpin(r->tick, &info);
    tick_follow(r->tick, now);
    if (verdict != RULE_CONTINUE || info.pin == PIN_NONE)
        return verdict;
    if (info.queue.kept && json_len(info.queue.templates) > 0)
        event_warning(r,
                      "%d revisions of %s.%s that waited for their release are left out: "
                      "spec.targetRef was changed",
                      (int)json_len(info.queue.templates), former->name, r->canary->namespace_);
    condition_clear(r, CONDITION_SUPERSEDED);
    return RULE_CONTINUE;
}
