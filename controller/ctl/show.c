#include "ctl/show.h"

#include <string.h>

#include "base/clock.h"
#include "ctl/glance.h"
#include "ctl/tree.h"
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

/* --- where the release stands */

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

/* The last step at which something was measured; NULL: none. */
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

/* What the hook of this name answered last in the release that runs; NULL: nothing yet. */
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
        bool bad = glance_is_trouble(condition);
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
             arena_printf(ctl->arena, "%s %d%% canary", print_bar(ctl->arena, at.weight, BAR),
                          at.weight));
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
        if (glance_is_trouble(json_elem(list, i)))
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
    json_set_int(out, "weight", at.weight);
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
