#include "engine/release_spans.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"

/* A release as the status describes it: status.release, or at its end status.history[0]. */
struct record {
    struct json_object *json;
    const char *began;
    char trace_id[TRACE_ID_TEXT], root_id[SPAN_ID_TEXT];
};

/* False if there is none, or Flagger began it: then it has no beginning. */
static bool record_read(struct arena *arena, const struct canary *canary, struct json_object *json,
                        struct record *out)
{
    const char *began = json_str_at(json, "began", NULL);

    if (!began || !canary->uid)
        return false;
    *out = (struct record){.json = json, .began = began};
    trace_id_of(arena_printf(arena, "%s\n%s", canary->uid, began), out->trace_id);
    span_id_of(out->trace_id, "release", out->root_id);
    return true;
}

static int64_t time_of(const char *text)
{
    int64_t ms = 0;

    return text && clock_parse(text, &ms, NULL) == ERR_OK ? ms : 0;
}

static struct json_object *attributes_of(struct arena *arena, const struct canary *canary,
                                         const struct record *record)
{
    struct json_object *attributes = span_attributes(arena);

    span_text(attributes, "k8s.namespace.name", canary->namespace_);
    span_text(attributes, "flagger.canary", canary->name);
    span_text(attributes, "flagger.revision", json_str_at(record->json, "revision", NULL));
    return attributes;
}

/* Step `number`, 0 before the first entry: by its time, which is in seconds, and what it routes. */
static void step_id(struct arena *arena, const struct record *record, size_t number,
                    char id[SPAN_ID_TEXT])
{
    struct json_object *steps = json_at(record->json, "steps", NULL);
    struct json_object *step = number > 0 ? json_elem(steps, number - 1) : NULL;
    int64_t routes = json_int_at(step, json_int_at(step, -1, "iteration", NULL), "weight", NULL);
    const char *at = json_str_at(step, "at", NULL);

    span_id_of(record->trace_id,
               arena_printf(arena, "step %s %lld", at ? at : record->began, (long long)routes), id);
}

static const char *step_at(const struct record *record, struct json_object *steps, size_t number)
{
    const char *at =
        number == 0 ? record->began : json_str_at(json_elem(steps, number - 1), "at", NULL);

    return at ? at : "";
}

/* --- steps and the release */

static void add_checks(struct arena *arena, struct json_object *attributes,
                       struct json_object *step)
{
    struct json_object *checks = json_at(step, "checks", NULL);

    for (size_t i = 0; i < json_len(checks); i++) {
        struct json_object *check = json_elem(checks, i);
        struct json_object *value = json_at(check, "value", NULL);
        if (value)
            span_double(attributes,
                        arena_printf(arena, "flagger.check.%s", json_str_at(check, "name", NULL)),
                        json_object_get_double(value));
    }
}

/* Step `number` of the release, 0 before the first entry; `next` is the entry that has ended it,
 * which says what its checks were. */
static void send_step(struct traces *traces, struct arena *arena, const struct canary *canary,
                      const struct record *record, size_t number, const char *end)
{
    struct json_object *steps = json_at(record->json, "steps", NULL);
    struct json_object *step = number > 0 ? json_elem(steps, number - 1) : NULL;
    struct json_object *next = json_elem(steps, number);
    const char *begin = step_at(record, steps, number);
    struct span span = {.name = "begin",
                        .kind = SPAN_INTERNAL,
                        .start_ms = time_of(begin),
                        .end_ms = time_of(end),
                        .attributes = attributes_of(arena, canary, record)};

    if (json_at(step, "weight", NULL)) {
        span.name = "step";
        span_int(span.attributes, "flagger.weight", json_int_at(step, 0, "weight", NULL));
    } else if (step) {
        span.name = "iteration";
        span_int(span.attributes, "flagger.iteration", json_int_at(step, 0, "iteration", NULL));
    }
    add_checks(arena, span.attributes, next);
    if (json_bool_at(next, false, "failed", NULL))
        span.error = "a check has failed";
    memcpy(span.trace_id, record->trace_id, sizeof(span.trace_id));
    memcpy(span.parent_id, record->root_id, sizeof(span.parent_id));
    step_id(arena, record, number, span.id);
    traces_add(traces, &span);
}

static void send_release(struct traces *traces, struct arena *arena, const struct canary *canary,
                         const struct record *record)
{
    const char *outcome = json_str_at(record->json, "outcome", NULL);
    const char *reason = json_str_at(record->json, "reason", NULL);
    struct span span = {.name =
                            arena_printf(arena, "release %s.%s", canary->name, canary->namespace_),
                        .kind = SPAN_INTERNAL,
                        .start_ms = time_of(record->began),
                        .end_ms = time_of(json_str_at(record->json, "ended", NULL)),
                        .attributes = attributes_of(arena, canary, record)};

    span_text(span.attributes, "flagger.image", json_str_at(record->json, "image", NULL));
    span_text(span.attributes, "flagger.outcome", outcome);
    if (!outcome || strcmp(outcome, "promoted") != 0)
        span.error = reason ? reason : "the release was not promoted";
    memcpy(span.trace_id, record->trace_id, sizeof(span.trace_id));
    memcpy(span.id, record->root_id, sizeof(span.id));
    traces_add(traces, &span);
}

/* Number of the step that ran before the write: entries that it has not made itself. */
static size_t steps_before(struct json_object *before, const struct record *record)
{
    struct json_object *old = json_at(before, "release", "steps", NULL);
    struct json_object *steps = json_at(record->json, "steps", NULL);
    const char *last = json_str_at(json_elem(old, json_len(old) - 1), "at", NULL);

    if (json_len(old) == 0 || !last)
        return 0;
    for (size_t i = json_len(steps); i-- > 0;) {
        const char *at = json_str_at(json_elem(steps, i), "at", NULL);
        if (at && strcmp(at, last) == 0)
            return i + 1;
    }
    return 0;
}

void release_spans_status(struct traces *traces, const struct canary *canary,
                          struct json_object *patch)
{
    struct json_object *before = canary->status.json;
    struct record record;

    if (!traces)
        return;
    struct arena *arena = arena_new();
    struct json_object *after = json_merge(arena, before, json_at(patch, "status", NULL));
    const char *began = json_str_at(before, "release", "began", NULL);
    const char *still = json_str_at(after, "release", "began", NULL);
    bool ends = began && (!still || strcmp(began, still) != 0);
    struct json_object *json =
        ends ? json_elem(json_at(after, "history", NULL), 0) : json_at(after, "release", NULL);
    if (began && record_read(arena, canary, json, &record) && strcmp(record.began, began) == 0) {
        struct json_object *steps = json_at(record.json, "steps", NULL);
        size_t n = json_len(steps);
        for (size_t i = steps_before(before, &record); i < n; i++)
            send_step(traces, arena, canary, &record, i, step_at(&record, steps, i + 1));
        if (ends) {
            send_step(traces, arena, canary, &record, n, json_str_at(record.json, "ended", NULL));
            send_release(traces, arena, canary, &record);
        }
    }
    arena_free(arena);
}

/* --- metrics and webhooks */

/* The ids of a span below the step that runs. False if no release is under way. */
static bool child_of_step(struct arena *arena, const struct canary *canary, const char *what,
                          int64_t elapsed_ms, struct span *span)
{
    struct json_object *json = json_at(canary->status.json, "release", NULL);
    struct json_object *steps = json_at(json, "steps", NULL);
    struct record record;

    if (!record_read(arena, canary, json, &record))
        return false;
    span->kind = SPAN_CLIENT;
    span->end_ms = clock_wall_ms();
    span->start_ms = span->end_ms - elapsed_ms;
    span->attributes = attributes_of(arena, canary, &record);
    memcpy(span->trace_id, record.trace_id, sizeof(span->trace_id));
    step_id(arena, &record, json_len(steps), span->parent_id);
    span_id_of(record.trace_id,
               arena_printf(arena, "%s %s %lld", span->parent_id, what, (long long)span->start_ms),
               span->id);
    return true;
}

void release_spans_metric(struct traces *traces, const struct canary *canary,
                          const struct metric_question *question,
                          const struct metric_answer *answer, int64_t elapsed_ms)
{
    struct span span = {.name = ""};

    if (!traces)
        return;
    struct arena *arena = arena_new();
    span.name = arena_printf(arena, "metric %s", question->id);
    if (child_of_step(arena, canary, span.name, elapsed_ms, &span)) {
        span_text(span.attributes, "flagger.metric.backend", question->backend);
        if (question->address && *question->address)
            span_text(span.attributes, "server.address", url_origin(arena, question->address));
        if (answer->outcome == METRIC_VALUE)
            span_double(span.attributes, "flagger.metric.value", answer->value);
        else
            span.error = answer->text;
        traces_add(traces, &span);
    }
    arena_free(arena);
}

void release_spans_hook(struct traces *traces, const struct canary *canary,
                        const struct canary_webhook *webhook, const struct hook_answer *answer,
                        int64_t elapsed_ms)
{
    struct span span = {.name = ""};

    if (!traces)
        return;
    struct arena *arena = arena_new();
    span.name = arena_printf(arena, "webhook %s", webhook->name);
    if (child_of_step(arena, canary, span.name, elapsed_ms, &span)) {
        span_text(span.attributes, "flagger.webhook.type", hook_type_name(webhook->type));
        span_text(span.attributes, "server.address", url_origin(arena, webhook->url));
        span_bool(span.attributes, "flagger.webhook.passed", answer->passed);
        if (!answer->passed)
            span.error = answer->text;
        traces_add(traces, &span);
    }
    arena_free(arena);
}
