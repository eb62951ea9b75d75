#include "decide/history.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "decide/condition.h"
#include "decide/judged.h"
#include "tick/edit.h"

enum { NAME_MAX_BYTES = 64, SAID_MAX = 120, ANSWER_MAX = 240, IMAGE_MAX = 200, REQUESTS = 5 };

/* --- texts */

/* Truncated to max bytes, at a character boundary, on one line. */
static const char *cut(struct release *r, const char *text, size_t max)
{
    size_t len = strlen(text);
    char *copy = arena_strndup(r->tick->arena, text, len > max ? utf8_cut(text, max) : len);

    for (char *at = copy; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    return copy;
}

static void set_cut(struct release *r, struct json_object *object, const char *key,
                    const char *text, size_t max)
{
    if (text && *text)
        json_set_str(object, key, cut(r, text, max));
}

static void set_now(struct release *r, struct json_object *object, const char *key)
{
    char now[CLOCK_TEXT];

    json_set_str(object, key, clock_rfc3339(r->tick->now_ms, now));
}

/* Six digits are enough for a check, and short. JSON has no infinity. */
static void set_number(struct json_object *object, const char *key, double value)
{
    char text[32];

    if (!isfinite(value))
        return;
    snprintf(text, sizeof(text), "%.6g", value);
    json_object_object_add(object, key, json_object_new_double_s(value, text));
}

/* --- lists */

/* The list of a release under this key, created if missing. */
static struct json_object *list_of(struct release *r, struct json_object *release, const char *key)
{
    struct json_object *list = json_at(release, key, NULL);

    if (!json_object_is_type(list, json_type_array)) {
        list = edit_array(r->tick->arena);
        json_set(release, key, list);
    }
    return list;
}

static void drop_oldest(struct json_object *list, size_t most)
{
    size_t count = json_len(list);

    if (count > most)
        json_object_array_del_idx(list, 0, count - most);
}

static size_t bytes_of(struct release *r, struct json_object *value)
{
    return strlen(json_text(r->tick->arena, value));
}

/* --- the current release */

static bool is_under_way(enum phase phase)
{
    return phase == PHASE_Waiting || phase == PHASE_Progressing ||
           phase == PHASE_WaitingPromotion || phase == PHASE_Promoting || phase == PHASE_Finalising;
}

static const char *images_of(struct release *r)
{
    struct json_object *containers =
        json_at(r->info.object, "spec", "template", "spec", "containers", NULL);
    const char *images = "";

    for (size_t i = 0; i < json_len(containers); i++) {
        const char *image = json_str_at(json_elem(containers, i), "image", NULL);
        if (image && strlen(images) < IMAGE_MAX)
            images = arena_printf(r->tick->arena, "%s%s%s", images, *images ? ", " : "", image);
    }
    return images;
}

/*
 * Before the start the waiting revision, afterwards the revision in the status. "" if the status
 * currently names none.
 */
static const char *revision_of(struct release *r, struct json_object *after)
{
    const char *applied = json_str_at(after, "lastAppliedSpec", NULL);

    if (r->phase == PHASE_Waiting)
        return r->info.hash;
    return applied ? applied : "";
}

static void name_revision(struct release *r, struct json_object *release, const char *revision)
{
    const char *known = json_str_at(release, "revision", NULL);

    if (!*revision || (known && strcmp(known, revision) == 0))
        return;
    json_set_str(release, "revision", revision);
    set_cut(r, release, "image", images_of(r), IMAGE_MAX);
}

static const char analysis_began[] = "analysisBegan"; /* of the release */

bool history_analysis_began(const struct release *r, int64_t *ms)
{
    const struct canary_status *status = &r->canary->status;
    const char *time = json_str_at(status->json, "release", analysis_began, NULL);

    return clock_parse(time ? time : status->last_transition_time, ms, NULL) == ERR_OK;
}

static const char replaced[] = "before"; /* of a release: checksum of the primary's revision */

/*
 * After a promotion, or the initialisation, the status is that of the primary. A release that
 * failed or was cancelled has left the primary unchanged, and has recorded its revision.
 */
static const char *primary_checksum(struct release *r)
{
    const struct canary_status *status = &r->canary->status;

    if (status->phase == PHASE_Initialized || status->phase == PHASE_Succeeded)
        return canary_checksum(r->tick->arena, r->canary);
    struct json_object *last = json_at(status->json, "release", NULL);
    if (!last)
        last = json_elem(json_at(status->json, "history", NULL), 0);
    return json_str_at(last, replaced, NULL);
}

/* A release begun by Flagger has no start time. */
static struct json_object *begin(struct release *r, bool anew)
{
    struct json_object *release = edit_object(r->tick->arena);
    const char *checksum = primary_checksum(r);

    if (anew || !is_under_way(r->canary->status.phase))
        set_now(r, release, "began");
    if (checksum)
        json_set_str(release, replaced, checksum);
    return release;
}

static bool text_is(struct json_object *entry, const char *key, const char *text)
{
    const char *found = json_str_at(entry, key, NULL);

    return found && strcmp(found, text) == 0;
}

static bool is_recent(const struct release *r, const char *ended, int promotions)
{
    const struct canary_way_back *way = &r->canary->way_back;
    int64_t ms;

    if (way->revisions > 0)
        return promotions <= way->revisions;
    return way->window_ms > 0 && ended && clock_parse(ended, &ms, NULL) == ERR_OK &&
           ms <= r->tick->now_ms && r->tick->now_ms - ms <= way->window_ms;
}

bool history_leads_back(const struct release *r, const char **until)
{
    struct json_object *past = json_at(r->canary->status.json, "history", NULL);
    const char *checksum = release_target_checksum(r);
    int promotions = 0;

    for (size_t i = 0; i < json_len(past); i++) {
        struct json_object *entry = json_elem(past, i);
        if (text_is(entry, "revision", r->info.hash) && text_is(entry, "outcome", "failed"))
            return false;
        if (!text_is(entry, "outcome", "promoted"))
            continue;
        promotions++;
        if (!text_is(entry, replaced, checksum))
            continue;
        *until = json_str_at(entry, "ended", NULL);
        return *until && is_recent(r, *until, promotions);
    }
    return false;
}

static struct json_object *checks_of(struct release *r)
{
    struct json_object *checks = edit_array(r->tick->arena);

    for (const struct effect *e = r->tick->plan->first; e; e = e->next) {
        if (e->kind != EFFECT_METRIC || json_len(checks) >= HISTORY_CHECKS)
            continue;
        struct json_object *check = edit_object(r->tick->arena);
        set_cut(r, check, "name", e->text, NAME_MAX_BYTES);
        set_number(check, "value", e->value);
        if (e->has_min)
            set_number(check, "min", e->min);
        if (e->has_max)
            set_number(check, "max", e->max);
        edit_add(checks, check);
    }
    return checks;
}

static struct json_object *check_named(struct json_object *checks, const char *name)
{
    for (size_t i = 0; i < json_len(checks); i++) {
        const char *known = json_str_at(json_elem(checks, i), "name", NULL);
        if (known && strcmp(known, name) == 0)
            return json_elem(checks, i);
    }
    return NULL;
}

/* [least, most] of the days */
static struct json_object *past_of(struct release *r, const struct judge_past_result *last)
{
    struct json_object *list = edit_array(r->tick->arena);

    json_object_array_add(list, judge_number_json(last->least));
    json_object_array_add(list, judge_number_json(last->most));
    return list;
}

/* The primary's number in the last comparison, or in the last days; the check has the canary's. */
static void add_numbers(struct release *r, struct json_object *checks)
{
    for (int i = 0; r->judged && i < r->judged->n; i++) {
        const struct judged_metric *metric = &r->judged->metrics[i];
        struct json_object *check = check_named(checks, cut(r, metric->name, NAME_MAX_BYTES));
        if (check && metric->numbers.comparisons > 0)
            set_number(check, "primary", metric->numbers.level);
        if (check && metric->past.last.days > 0)
            json_set(check, "past", past_of(r, &metric->past.last));
    }
}

/* The counts of the judge so far. */
static void add_counts(struct release *r, struct json_object *checks)
{
    for (int i = 0; r->judged && i < r->judged->n; i++) {
        const char *name = cut(r, r->judged->metrics[i].name, NAME_MAX_BYTES);
        struct json_object *check = check_named(checks, name);
        if (r->judged->metrics[i].evidence.looks == 0 ||
            (!check && json_len(checks) >= HISTORY_CHECKS))
            continue;
        if (!check) {
            check = edit_object(r->tick->arena);
            json_set_str(check, "name", name);
            edit_add(checks, check);
        }
        json_set(check, "counts", judged_counts(r, &r->judged->metrics[i]));
    }
}

/* The measurements of this tick, and the weight routed after it. */
static void add_step(struct release *r, struct json_object *release, struct json_object *after)
{
    const struct canary_status *before = &r->canary->status;
    bool by_weight = r->strategy == STRATEGY_CANARY;
    int weight = weight_of_status(after);
    int64_t iterations = json_int_at(after, 0, "iterations", NULL);
    bool failed = json_int_at(after, 0, "failedChecks", NULL) > before->failed_checks;
    struct json_object *is = json_at(after, "step", NULL);
    bool copies = json_at(is, "mirror", NULL) && !json_at(before->json, "step", "mirror", NULL);
    bool steps =
        by_weight ? weight != before->canary_weight || copies : iterations > before->iterations;
    struct json_object *checks = checks_of(r), *list = list_of(r, release, "steps");

    if (!steps && !failed && json_len(checks) == 0 && !(r->judged && r->failing))
        return;
    add_counts(r, checks);
    add_numbers(r, checks);
    struct json_object *step = edit_object(r->tick->arena);
    set_now(r, step, "at");
    if (by_weight)
        weight_put(r->tick->arena, step, "weight", weight);
    else
        json_set_int(step, "iteration", iterations);
    if (release_is_at_match(r))
        json_set_bool(step, "match", true);
    if (r->weights.mirrored && json_at(is, "mirror", NULL))
        json_set(step, "mirror", json_at(is, "mirror", NULL));
    if (failed)
        json_set_bool(step, "failed", true);
    if (json_len(checks) > 0)
        json_set(step, "checks", checks);
    edit_add(list, step);
    drop_oldest(list, HISTORY_STEPS);
}

static size_t hook_place(struct json_object *list, const char *name)
{
    size_t place = 0;

    for (; place < json_len(list); place++) {
        const char *known = json_str_at(json_elem(list, place), "name", NULL);
        if (known && strcmp(known, name) == 0)
            break;
    }
    return place;
}

/* The last answer of each webhook: a gate's answer names the approver. */
static void note_hooks(struct release *r, struct json_object *release)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    struct json_object *list = list_of(r, release, "hooks");

    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct hook_answer *answer = tick_hook_answer(r->tick, i);
        const char *name = cut(r, analysis->webhooks[i].name, NAME_MAX_BYTES);
        size_t place = hook_place(list, name);
        if (!answer || place >= HISTORY_HOOKS)
            continue;
        struct json_object *hook = edit_object(r->tick->arena);
        json_set_str(hook, "name", name);
        json_set_str(hook, "type", hook_type_name(analysis->webhooks[i].type));
        set_now(r, hook, "at");
        json_set_bool(hook, "passed", answer->passed);
        set_cut(r, hook, "said", answer->text, ANSWER_MAX);
        json_object_array_put_idx(list, place, json_object_get(hook));
    }
}

/* If the step to the bake changed nothing but its condition, the beginning is recorded at the end
 * of the bake. */
static void note_bake(struct release *r, struct json_object *release, struct json_object *after)
{
    static const char key[] = "bakeBegan";
    struct json_object *lists[] = {json_at(after, "conditions", NULL),
                                   json_at(r->canary->status.json, "conditions", NULL)};

    for (size_t i = 0; i < 2 && !json_at(release, key, NULL); i++) {
        struct json_object *found = json_find(lists[i], "type", CONDITION_BAKED, NULL);
        json_set_str(release, key, json_str_at(found, "lastTransitionTime", NULL));
    }
}

static void learn(struct release *r, struct json_object *release, struct json_object *after)
{
    if (is_under_way(r->phase)) /* after a spec is restored, the status names that revision */
        name_revision(r, release, revision_of(r, after));
    if (release_is_analysing(r) && !json_at(release, analysis_began, NULL))
        set_now(r, release, analysis_began);
    note_bake(r, release, after);
    add_step(r, release, after);
    note_hooks(r, release);
    set_cut(r, release, "reason", r->failing, HISTORY_TEXT);
    if (r->judged && r->phase == PHASE_Promoting)
        set_cut(r, release, "verdict", judged_sentence(r->tick->arena, r->judged), HISTORY_TEXT);
    struct json_object *steps = list_of(r, release, "steps");
    while (json_len(steps) > 0 && bytes_of(r, release) > HISTORY_RELEASE_MAX)
        json_object_array_del_idx(steps, 0, 1);
    if (bytes_of(r, release) > HISTORY_RELEASE_MAX)
        json_object_object_del(release, "looks");
}

/*
 * The evidence of the ending analysis is dropped; its samples are kept in the record of the
 * release.
 */
static void keep_samples(struct release *r, struct json_object *release)
{
    struct json_object *judge, *samples;

    if (!json_object_object_get_ex(release_status(r), "judge", &judge) || judge)
        return;
    samples = judged_samples(r);
    if (samples)
        json_set(release, "looks", samples);
}

/* --- why a release ends */

void history_cancel(struct release *r, const char *why)
{
    r->cancelled = why;
}

/*
 * The alert of the plan has the best wording, except alerts of gates, which are about something
 * else.
 */
void history_fail(struct release *r)
{
    const char *last = NULL;

    for (const struct effect *e = r->tick->plan->first; e; e = e->next) {
        if (e->kind == EFFECT_ALERT && e->reason)
            last = arena_printf(r->tick->arena, "%s: %s", e->text, e->reason);
        else if (e->kind == EFFECT_ALERT)
            last = e->text;
    }
    if (last)
        r->failing = last;
}

static const char *failure_of(struct release *r, struct json_object *release)
{
    const char *known = json_str_at(release, "reason", NULL);
    const char *check = condition_message(r, CONDITION_CHECKS);

    if (known)
        return known;
    return *check ? check : "It was rolled back.";
}

/* --- ended releases */

static const char *success_of(struct release *r, struct json_object *release)
{
    const char *verdict = json_str_at(release, "verdict", NULL);

    if (r->canary->skip_analysis)
        return "It was promoted without an analysis (skipAnalysis).";
    return verdict
               ? arena_printf(r->tick->arena, "Its checks passed, and it was promoted: %s", verdict)
               : "Its checks passed, and it was promoted.";
}

/* Requests of users about this revision. */
static void note_requests(struct release *r, struct json_object *release, struct json_object *after)
{
    static const char *const keys[] = {"action", "by", "why", "at", "outcome"};
    struct json_object *asked = json_at(after, "requests", NULL);
    struct json_object *list = edit_array(r->tick->arena);
    const char *revision = json_str_at(release, "revision", NULL);

    for (size_t i = 0; i < json_len(asked) && json_len(list) < REQUESTS; i++) {
        struct json_object *from = json_elem(asked, i);
        const char *about = json_str_at(from, "revision", NULL);
        if (!about || !revision || strcmp(about, revision) != 0)
            continue;
        struct json_object *request = edit_object(r->tick->arena);
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
            set_cut(r, request, keys[k], json_str_at(from, keys[k], NULL), SAID_MAX);
        edit_add(list, request);
    }
    if (json_len(list) > 0)
        json_set(release, "requests", list);
}

static void end(struct release *r, struct json_object *release, struct json_object *after)
{
    const char *outcome = r->cancelled                  ? "cancelled"
                          : r->phase == PHASE_Succeeded ? "promoted"
                                                        : "failed";
    const char *why = r->cancelled ? r->cancelled : failure_of(r, release);

    if (!r->cancelled && r->phase == PHASE_Succeeded)
        why = success_of(r, release);
    json_object_object_del(release, "verdict");
    set_now(r, release, "ended");
    json_set_str(release, "outcome", outcome);
    set_cut(r, release, "reason", why, HISTORY_TEXT);
    note_requests(r, release, after);
}

/* Removes this key from the oldest entry that has it. False if no entry has it. */
static bool forget(struct json_object *list, const char *key)
{
    for (size_t i = json_len(list); i-- > 1;) {
        struct json_object *entry = json_elem(list, i);
        if (json_at(entry, key, NULL)) {
            json_object_object_del(entry, key);
            return true;
        }
    }
    return false;
}

static void keep(struct release *r, struct json_object *release)
{
    struct json_object *list = edit_array(r->tick->arena);
    struct json_object *old = json_at(r->canary->status.json, "history", NULL);

    edit_add(list, release);
    for (size_t i = 0; i < json_len(old) && json_len(list) < HISTORY_RELEASES; i++)
        if (json_object_is_type(json_elem(old, i), json_type_object))
            edit_add(list, json_copy(r->tick->arena, json_elem(old, i)));
    while (bytes_of(r, list) > HISTORY_MAX && json_len(list) > 1)
        if (!forget(list, "steps") && !forget(list, "looks"))
            json_object_array_del_idx(list, json_len(list) - 1, 1);
    json_set(release_status(r), "history", list);
}

/* For a merge patch: removes the fields that the former value had and this one lacks. */
static void put(struct release *r, struct json_object *release)
{
    struct json_object *before = json_at(r->canary->status.json, "release", NULL);

    if (!before && !release)
        return;
    if (release && json_object_is_type(before, json_type_object)) {
        json_object_object_foreach(before, key, value)
        {
            (void)value;
            if (!json_at(release, key, NULL))
                json_set(release, key, NULL);
        }
    }
    json_set(release_status(r), "release", release);
}

void history_write(struct release *r)
{
    struct json_object *before = r->canary->status.json;
    struct json_object *release = json_at(before, "release", NULL);
    struct json_object *after = json_merge(r->tick->arena, before, release_status(r));
    bool runs = is_under_way(r->phase), ends = !runs || r->cancelled;

    if (r->phase == PHASE_Terminating)
        return;
    release =
        json_object_is_type(release, json_type_object) ? json_copy(r->tick->arena, release) : NULL;
    if (!release && !runs)
        return;
    if (release)
        keep_samples(r, release);
    if (release && ends && (r->phase == PHASE_Succeeded || r->phase == PHASE_Failed || runs)) {
        if (!runs)
            learn(r, release, after);
        end(r, release, after);
        keep(r, release);
    }
    if (runs && (!release || ends))
        release = begin(r, r->cancelled != NULL);
    if (runs)
        learn(r, release, after);
    put(r, runs ? release : NULL);
}
