#include "ctl/facts.h"

#include <string.h>

#include "base/clock.h"
#include "ctl/output.h"
#include "ctl/state.h"
#include "decide/waiting.h"
#include "proto/canary.h"

enum { BAR = 20, EVENTS = 8 };

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static const char *ago(const struct ctl *ctl, const struct facts *facts, const char *rfc3339)
{
    return print_age(ctl->arena, rfc3339, facts->now_ms);
}

static struct json_object *status_of(const struct facts *facts)
{
    return json_at(facts->canary, "status", NULL);
}

static struct json_object *analysis_of(const struct facts *facts)
{
    struct json_object *analysis = json_at(facts->canary, "spec", "analysis", NULL);

    return analysis ? analysis : json_at(facts->canary, "spec", "canaryAnalysis", NULL);
}

/* --- the state of the release */

static void add_phase(struct tree *tree, const struct ctl *ctl, const struct facts *facts,
                      const struct glance *at)
{
    const char *text = at->phase;

    if (!*text)
        text = "no controller has looked at it yet";
    else if (at->since)
        text = arena_printf(ctl->arena, "%s, for %s", text, ago(ctl, facts, at->since));
    tree_add(tree, "phase", glance_color(at->phase), text);
}

static void add_revision(struct tree *tree, const struct ctl *ctl, const struct facts *facts,
                         const struct glance *at)
{
    struct json_object *status = status_of(facts);
    const char *image = json_str_at(status, "release", "image", NULL);
    const char *promoted = or_empty(json_str_at(status, "lastPromotedSpec", NULL));

    if (*at->revision)
        tree_add(tree, "revision", PRINT_PLAIN,
                 image ? arena_printf(ctl->arena, "%s (%s)", at->revision, image) : at->revision);
    if (*promoted && strcmp(promoted, at->revision) != 0)
        tree_add(tree, "promoted", PRINT_PLAIN, promoted);
}

static void add_paused(struct tree *tree, const struct ctl *ctl, const struct facts *facts)
{
    struct json_object *paused = json_at(status_of(facts), "paused", NULL);

    if (paused)
        tree_add(tree, "paused", PRINT_YELLOW,
                 arena_printf(ctl->arena, "by %s, for %s: %s",
                              or_empty(json_str_at(paused, "by", NULL)),
                              ago(ctl, facts, json_str_at(paused, "since", NULL)),
                              or_empty(json_str_at(paused, "why", NULL))));
}

static void add_analysis(struct tree *tree, const struct ctl *ctl, const struct facts *facts,
                         const struct glance *at)
{
    struct json_object *analysis = analysis_of(facts);
    const char *interval = json_str_at(analysis, "interval", NULL);
    int64_t iterations = json_int_at(analysis, 0, "iterations", NULL);
    const char *text;

    if (!analysis) {
        tree_add(tree, "analysis", PRINT_DIM, "none: each revision is promoted at once");
        return;
    }
    text = arena_printf(ctl->arena, "every %s, failed checks %d of %d", interval ? interval : "1m",
                        at->failed_checks, at->threshold);
    if (iterations > 0)
        text = arena_printf(ctl->arena, "%s, iteration %lld of %lld", text,
                            (long long)json_int_at(status_of(facts), 0, "iterations", NULL),
                            (long long)iterations);
    tree_add(tree, "analysis", at->failed_checks ? PRINT_RED : PRINT_PLAIN, text);
}

/* --- checks */

/* The last step at which something was measured; NULL if none. */
static struct json_object *last_checks(const struct facts *facts)
{
    struct json_object *steps = json_at(status_of(facts), "release", "steps", NULL);

    if (!steps)
        steps = json_at(json_elem(json_at(status_of(facts), "history", NULL), 0), "steps", NULL);
    for (size_t i = json_len(steps); i > 0; i--)
        if (json_len(json_at(json_elem(steps, i - 1), "checks", NULL)) > 0)
            return json_elem(steps, i - 1);
    return NULL;
}

static const char *number(struct arena *arena, struct json_object *value)
{
    return value ? arena_printf(arena, "%.6g", json_object_get_double(value)) : NULL;
}

/* "at least 99", "at most 0.5", "0.1 to 0.5"; "any". */
static const char *range_text(struct arena *arena, struct json_object *check)
{
    const char *min = number(arena, json_at(check, "min", NULL));
    const char *max = number(arena, json_at(check, "max", NULL));

    if (min && max)
        return arena_printf(arena, "%s to %s", min, max);
    if (min)
        return arena_printf(arena, "at least %s", min);
    return max ? arena_printf(arena, "at most %s", max) : "any";
}

static bool in_range(struct json_object *check)
{
    struct json_object *value = json_at(check, "value", NULL);
    struct json_object *min = json_at(check, "min", NULL), *max = json_at(check, "max", NULL);
    double at = json_object_get_double(value);

    return value && (!min || at >= json_object_get_double(min)) &&
           (!max || at <= json_object_get_double(max));
}

static void add_checks(struct tree *tree, const struct ctl *ctl, const struct facts *facts)
{
    struct json_object *step = last_checks(facts);
    struct json_object *checks = json_at(step, "checks", NULL);

    if (!step)
        return;
    struct tree *below = tree_add(
        tree, "checks", PRINT_PLAIN,
        arena_printf(ctl->arena, "%s ago", ago(ctl, facts, json_str_at(step, "at", NULL))));
    for (size_t i = 0; i < json_len(checks); i++) {
        struct json_object *check = json_elem(checks, i);
        const char *value = number(ctl->arena, json_at(check, "value", NULL));
        bool good = in_range(check);
        tree_add(below, json_str_at(check, "name", NULL), good ? PRINT_GREEN : PRINT_RED,
                 arena_printf(ctl->arena, "%s, %s: %s", value ? value : "no value",
                              good ? "good" : "bad", range_text(ctl->arena, check)));
    }
}

/* --- hooks */

/* The last response of this hook in the current release; NULL if there is none yet. */
static struct json_object *answer_of(const struct facts *facts, const char *name)
{
    struct json_object *hooks = json_at(status_of(facts), "release", "hooks", NULL);

    for (size_t i = 0; name && i < json_len(hooks); i++) {
        const char *found = json_str_at(json_elem(hooks, i), "name", NULL);
        if (found && strcmp(found, name) == 0)
            return json_elem(hooks, i);
    }
    return NULL;
}

static const char *answer_text(const struct ctl *ctl, const struct facts *facts,
                               struct json_object *answer, enum print_color *color)
{
    bool passed = json_bool_at(answer, false, "passed", NULL);
    const char *said = json_str_at(answer, "said", NULL);

    *color = !answer ? PRINT_DIM : passed ? PRINT_GREEN : PRINT_YELLOW;
    if (!answer)
        return "not asked in this release";
    return arena_printf(ctl->arena, "%s %s ago%s%s", passed ? "yes" : "no",
                        ago(ctl, facts, json_str_at(answer, "at", NULL)), said && *said ? ": " : "",
                        or_empty(said));
}

static void add_hooks(struct tree *tree, const struct ctl *ctl, const struct facts *facts)
{
    struct json_object *hooks = json_at(analysis_of(facts), "webhooks", NULL);
    struct tree *below = NULL;

    for (size_t i = 0; i < json_len(hooks); i++) {
        struct json_object *hook = json_elem(hooks, i);
        const char *name = or_empty(json_str_at(hook, "name", NULL));
        const char *type = json_str_at(hook, "type", NULL);
        enum print_color color;
        const char *said = answer_text(ctl, facts, answer_of(facts, name), &color);
        if (!below)
            below = tree_add(tree, "hooks", PRINT_PLAIN, "");
        tree_add(below, arena_printf(ctl->arena, "%s (%s)", name, type ? type : "rollout"), color,
                 said);
    }
}

/* --- objects */

static const char *ready_text(const struct ctl *ctl, struct json_object *object, bool missing)
{
    int64_t wanted = json_int_at(object, 1, "spec", "replicas", NULL);
    int64_t ready = json_int_at(object, 0, "status", "readyReplicas", NULL);

    if (missing)
        return "is not there";
    if (!object)
        return "could not be read";
    if (json_at(object, "status", "desiredNumberScheduled", NULL)) {
        wanted = json_int_at(object, 0, "status", "desiredNumberScheduled", NULL);
        ready = json_int_at(object, 0, "status", "numberReady", NULL);
    } else if (!json_at(object, "spec", "replicas", NULL)) {
        return "is there";
    }
    return arena_printf(ctl->arena, "%lld of %lld ready", (long long)ready, (long long)wanted);
}

static void add_objects(struct tree *tree, const struct ctl *ctl, const struct facts *facts)
{
    struct json_object *ref = json_at(facts->canary, "spec", "targetRef", NULL);
    struct json_object *scaler = json_at(facts->canary, "spec", "autoscalerRef", NULL);
    const char *kind = or_empty(json_str_at(ref, "kind", NULL));
    const char *name = or_empty(json_str_at(ref, "name", NULL));

    tree_add(tree, "target", facts->no_target ? PRINT_RED : PRINT_PLAIN,
             arena_printf(ctl->arena, "%s %s, %s", kind, name,
                          ready_text(ctl, facts->target, facts->no_target)));
    tree_add(tree, "primary", PRINT_PLAIN,
             arena_printf(ctl->arena, "%s %s-primary, %s", kind, name,
                          ready_text(ctl, facts->primary, facts->no_primary)));
    if (scaler)
        tree_add(tree, "scaler", facts->scaler ? PRINT_PLAIN : PRINT_RED,
                 arena_printf(ctl->arena, "%s %s%s", or_empty(json_str_at(scaler, "kind", NULL)),
                              or_empty(json_str_at(scaler, "name", NULL)),
                              facts->scaler ? "" : ", could not be read"));
}

static void add_conditions(struct tree *tree, const struct ctl *ctl, const struct facts *facts)
{
    struct json_object *list = json_at(status_of(facts), "conditions", NULL);
    struct tree *below = NULL;

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *condition = json_elem(list, i);
        const char *since = json_str_at(condition, "lastTransitionTime", NULL);
        bool bad = waiting_is_bad(condition);
        if (!bad && ctl->output != CTL_WIDE)
            continue;
        if (!below)
            below = tree_add(tree, "conditions", PRINT_PLAIN, "");
        tree_add(below, json_str_at(condition, "type", NULL), bad ? PRINT_YELLOW : PRINT_PLAIN,
                 arena_printf(
                     ctl->arena, "%s for %s: %s", or_empty(json_str_at(condition, "reason", NULL)),
                     ago(ctl, facts, since), or_empty(json_str_at(condition, "message", NULL))));
    }
}

static const char *event_when(struct json_object *event)
{
    const char *at = json_str_at(event, "lastTimestamp", NULL);

    return at ? at : json_str_at(event, "eventTime", NULL);
}

static void add_events(struct tree *tree, const struct ctl *ctl, const struct facts *facts)
{
    size_t count = json_len(facts->events);
    struct tree *below = NULL;

    for (size_t i = count > EVENTS ? count - EVENTS : 0; i < count; i++) {
        struct json_object *event = json_elem(facts->events, i);
        const char *type = or_empty(json_str_at(event, "type", NULL));
        if (!below)
            below = tree_add(tree, "events", PRINT_PLAIN, "");
        tree_add(below, arena_printf(ctl->arena, "%s ago", ago(ctl, facts, event_when(event))),
                 strcmp(type, "Warning") == 0 ? PRINT_YELLOW : PRINT_PLAIN,
                 or_empty(json_str_at(event, "message", NULL)));
    }
}

void show_tree(const struct ctl *ctl, const struct facts *facts, const char *waits)
{
    struct glance at;

    glance_at(ctl->arena, facts->canary, &at);
    struct tree *tree =
        tree_new(ctl, arena_printf(ctl->arena, "%s (namespace %s)", at.name, at.namespace_));
    add_phase(tree, ctl, facts, &at);
    if (waits)
        tree_add(tree, "why", PRINT_YELLOW, waits);
    tree_add(tree, "traffic", PRINT_PLAIN,
             arena_printf(ctl->arena, "%s %s canary",
                          print_bar(ctl->arena, weight_percent(at.weight), BAR),
                          glance_share(ctl->arena, &at)));
    add_revision(tree, ctl, facts, &at);
    add_paused(tree, ctl, facts);
    add_analysis(tree, ctl, facts, &at);
    add_checks(tree, ctl, facts);
    add_hooks(tree, ctl, facts);
    add_objects(tree, ctl, facts);
    add_conditions(tree, ctl, facts);
    add_events(tree, ctl, facts);
    if (facts->denied)
        tree_add(tree, "not read", PRINT_DIM, facts->denied);
    tree_print(tree);
}

/* --- for programs */

static void set_ready(const struct ctl *ctl, struct json_object *out, const char *key,
                      struct json_object *object, bool missing)
{
    struct json_object *part = json_sub(out, key);

    json_set_str(part, "kind", json_str_at(object, "kind", NULL));
    json_set_str(part, "name", json_str_at(object, "metadata", "name", NULL));
    json_set_str(part, "state", ready_text(ctl, object, missing));
}

static struct json_object *trouble_of(const struct ctl *ctl, const struct facts *facts)
{
    struct json_object *list = json_at(status_of(facts), "conditions", NULL);
    struct json_object *out = json_own(ctl->arena, json_object_new_array());

    for (size_t i = 0; i < json_len(list); i++)
        if (waiting_is_bad(json_elem(list, i)))
            json_object_array_add(out, json_object_get(json_elem(list, i)));
    return out;
}

struct json_object *show_data(const struct ctl *ctl, const struct facts *facts)
{
    struct json_object *out = json_own(ctl->arena, json_object_new_object());
    struct glance at;

    glance_at(ctl->arena, facts->canary, &at);
    json_set_str(out, "namespace", at.namespace_);
    json_set_str(out, "name", at.name);
    json_set_str(out, "phase", at.phase);
    json_set_str(out, "since", at.since);
    weight_put(ctl->arena, out, "weight", at.weight);
    json_set_str(out, "revision", at.revision);
    json_set_int(out, "failedChecks", at.failed_checks);
    json_set_int(out, "threshold", at.threshold);
    json_set(out, "checks", json_at(last_checks(facts), "checks", NULL));
    json_set(out, "hooks", json_at(status_of(facts), "release", "hooks", NULL));
    json_set(out, "paused", json_at(status_of(facts), "paused", NULL));
    json_set(out, "conditions", trouble_of(ctl, facts));
    set_ready(ctl, out, "target", facts->target, facts->no_target);
    set_ready(ctl, out, "primary", facts->primary, facts->no_primary);
    return out;
}

enum { COUNTS = 5 };
static const char *const counted[COUNTS] = {"canaries", "promoted", "underWay", "failed", "held"};

static const char *text_at(struct json_object *json, const char *key)
{
    const char *text = json_str_at(json, key, NULL);

    return text ? text : "";
}

bool release_plan_means(struct json_object *plan, const char *name)
{
    struct json_object *train = json_at(plan, "spec", "train", NULL);
    const char *application = json_str_at(plan, "spec", "application", NULL);
    bool means = strcmp(text_at(json_at(plan, "metadata", NULL), "name"), name) == 0 ||
                 (application && strcmp(application, name) == 0);

    for (size_t i = 0; i < json_len(train); i++) {
        const char *car = json_object_get_string(json_elem(train, i));
        means = means || (car && strcmp(car, name) == 0);
    }
    return means;
}

bool release_plan_is_known(struct json_object *plan)
{
    return json_int_at(plan, -1, "status", "observedGeneration", NULL) >=
           json_int_at(plan, 0, "metadata", "generation", NULL);
}

/* --- for users */

/* "8 Canaries, 5 have the revision, 1 is released, 1 has failed, 2 are held" */
static const char *counts_text(struct arena *arena, const int64_t counts[COUNTS])
{
    static const char *const rows[COUNTS][2] = {{"Canary", "Canaries"},
                                                {"has the revision", "have the revision"},
                                                {"is being released", "are being released"},
                                                {"has failed", "have failed"},
                                                {"is held", "are held"}};
    const char *text = "";

    for (int i = 0; i < COUNTS; i++)
        if (i == 0 || counts[i] > 0)
            text = arena_printf(arena, "%s%s%lld %s", text, i > 0 ? ", " : "", (long long)counts[i],
                                rows[i][counts[i] != 1]);
    return text;
}

static void count(struct json_object *wave, int64_t counts[COUNTS])
{
    for (int i = 0; i < COUNTS; i++)
        counts[i] += json_int_at(wave, 0, counted[i], NULL);
}

static enum print_color phase_color(const char *phase)
{
    if (strcmp(phase, "Stopped") == 0)
        return PRINT_RED;
    return strcmp(phase, "Completed") == 0 ? PRINT_GREEN : PRINT_YELLOW;
}

/* Adds the conditions: that the plan is late. */
static void print_conditions(struct tree *tree, struct json_object *conditions)
{
    for (size_t i = 0; i < json_len(conditions); i++) {
        struct json_object *row = json_elem(conditions, i);
        if (strcmp(text_at(row, "type"), "Late") == 0 &&
            strcmp(text_at(row, "status"), "True") == 0)
            (void)tree_add(tree, NULL, PRINT_YELLOW, "Late: the deadline of the wave has passed");
    }
}

static const char *cluster_text(struct ctl *ctl, struct json_object *row)
{
    const char *phase = json_str_at(row, "phase", NULL), *says = text_at(row, "says");
    const char *revision = json_str_at(row, "revision", NULL);
    const char *last = json_str_at(row, "lastContact", NULL);
    int64_t weight = json_int_at(row, 0, "weight", NULL);
    const char *text = phase ? phase : "Unknown";

    if (weight > 0)
        text = arena_printf(ctl->arena, "%s %lld%%", text, (long long)weight);
    if (revision && !strstr(says, revision))
        text = arena_printf(ctl->arena, "%s, revision %s", text, revision);
    text = arena_printf(ctl->arena, "%s: %s", text, says);
    return last ? arena_printf(ctl->arena, "%s, last contact %s ago", text,
                               print_age(ctl->arena, last, clock_wall_ms()))
                : text;
}

static void print_clusters(struct ctl *ctl, struct tree *line, struct json_object *status,
                           const char *wave)
{
    struct json_object *clusters = json_at(status, "clusters", NULL);

    for (size_t i = 0; i < json_len(clusters); i++) {
        struct json_object *row = json_elem(clusters, i);
        bool lost = strcmp(text_at(row, "state"), "Unreachable") == 0 ||
                    json_str_at(row, "lastContact", NULL) != NULL;
        if (strcmp(text_at(row, "wave"), wave) == 0)
            (void)tree_add(line, text_at(row, "name"),
                           lost ? PRINT_RED : glance_color(text_at(row, "phase")),
                           cluster_text(ctl, row));
    }
}

static const char *wave_text(struct ctl *ctl, struct json_object *wave)
{
    const char *state = "waits for the waves before it", *since = NULL;
    int64_t counts[COUNTS] = {0};

    if (json_bool_at(wave, false, "passed", NULL))
        state = "is over";
    else if ((since = json_str_at(wave, "completed", NULL)) != NULL)
        state = "has the revision";
    else if ((since = json_str_at(wave, "began", NULL)) != NULL)
        state = "is open";
    count(wave, counts);
    return arena_printf(ctl->arena, "wave %s %s%s%s: %s", text_at(wave, "name"), state,
                        since ? ", since " : "",
                        since ? print_age(ctl->arena, since, clock_wall_ms()) : "",
                        counts_text(ctl->arena, counts));
}

static bool has_outsiders(struct json_object *clusters)
{
    for (size_t i = 0; i < json_len(clusters); i++)
        if (!json_str_at(json_elem(clusters, i), "wave", NULL))
            return true;
    return false;
}

static void print_waves(struct ctl *ctl, struct tree *tree, struct json_object *status)
{
    struct json_object *waves = json_at(status, "waves", NULL);

    for (size_t i = 0; i < json_len(waves); i++) {
        struct json_object *wave = json_elem(waves, i);
        struct tree *line = tree_add(tree, NULL, PRINT_BOLD, wave_text(ctl, wave));
        print_clusters(ctl, line, status, text_at(wave, "name"));
    }
    if (has_outsiders(json_at(status, "clusters", NULL)))
        print_clusters(ctl, tree_add(tree, NULL, PRINT_YELLOW, "in no wave"), status, "");
}

void release_plan_print(struct ctl *ctl, struct json_object *plan)
{
    struct json_object *status = json_at(plan, "status", NULL);
    struct json_object *metadata = json_at(plan, "metadata", NULL);
    struct json_object *waves = json_at(status, "waves", NULL);
    const char *phase = text_at(status, "phase"), *revision = text_at(status, "revision");
    struct tree *tree =
        tree_new(ctl, arena_printf(ctl->arena, "ReleasePlan %s/%s", text_at(metadata, "namespace"),
                                   text_at(metadata, "name")));
    int64_t counts[COUNTS] = {0};

    if (!*phase) {
        (void)tree_add(tree, NULL, PRINT_RED,
                       "no controller has looked at it yet: flagger-controller fleet does");
        tree_print(tree);
        return;
    }
    for (size_t i = 0; i < json_len(waves); i++)
        count(json_elem(waves, i), counts);
    (void)tree_add(tree, NULL, PRINT_BOLD,
                   arena_printf(ctl->arena, "%s%s%s: %s", phase, *revision ? ", revision " : "",
                                revision, counts_text(ctl->arena, counts)));
    (void)tree_add(tree, NULL, phase_color(phase), text_at(status, "message"));
    print_conditions(tree, json_at(status, "conditions", NULL));
    if (!release_plan_is_known(plan))
        (void)tree_add(tree, NULL, PRINT_YELLOW, "this is of the spec before its last change");
    print_waves(ctl, tree, status);
    tree_print(tree);
}

/* --- for programs */

struct json_object *release_plan_data(struct ctl *ctl, struct json_object *plan)
{
    struct json_object *out = json_own(ctl->arena, json_object_new_object());
    struct json_object *status = json_at(plan, "status", NULL);

    json_set_str(out, "namespace", json_str_at(plan, "metadata", "namespace", NULL));
    json_set_str(out, "name", json_str_at(plan, "metadata", "name", NULL));
    if (status)
        json_set(out, "status", status);
    return out;
}
