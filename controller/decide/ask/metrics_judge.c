/* A value against the bounds of its metric (metric/METRICS.md), and the sentence when it is
 * out of them. What the value means follows from who was asked, not from the metric's name. */
#include "decide/ask/metrics_judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "decide/ask/checks.h"
#include "decide/release/release.h"
#include "metric/backend.h"

enum { MS_NS = 1000000, STALE_WINDOWS = 2 };

/* Of what a duration in ns can say. */
static const double LONGEST_MS = 9e12;

/* The shortest text that reads back as the same number, as Go prints it. */
static const char *number_text(struct arena *arena, double value)
{
    for (int digits = 1; digits < 17; digits++) {
        const char *text = arena_printf(arena, "%.*g", digits, value);
        double back = 0;
        if (sscanf(text, "%lf", &back) == 1 && back == value)
            return fabs(value) < 1e15 && strchr(text, 'e') ? arena_printf(arena, "%.0f", value)
                                                           : text;
    }
    return arena_printf(arena, "%.17g", value);
}

/* How the answer of one source is compared and shown. */
struct shown {
    const char *what;                                        /* "success rate" */
    const char *(*value)(struct arena *arena, double value); /* "98.50%" */
    const char *(*bound)(struct arena *arena, double bound); /* "99%" */
    double (*round)(double bound); /* what a bound really is, NULL: as written */
    bool threshold_is_min;
};

static const char *plain_value(struct arena *arena, double value)
{
    if (isinf(value))
        return value > 0 ? "+Inf" : "-Inf";
    return arena_printf(arena, "%.2f", value);
}

static const char *percent_value(struct arena *arena, double value)
{
    return arena_printf(arena, "%s%%", plain_value(arena, value));
}

static const char *percent_bound(struct arena *arena, double bound)
{
    return arena_printf(arena, "%s%%", number_text(arena, bound));
}

static const char *duration_text(struct arena *arena, double ms)
{
    char text[DURATION_TEXT];

    if (fabs(ms) > LONGEST_MS)
        return arena_printf(arena, "%sms", plain_value(arena, ms));
    return arena_strdup(arena, duration_format((int64_t)ms * 1000000, text));
}

static struct shown shown_as(const struct metric_check *check)
{
    if (check->source == SOURCE_SUCCESS_RATE)
        return (struct shown){.what = "success rate",
                              .value = percent_value,
                              .bound = percent_bound,
                              .threshold_is_min = true};
    if (check->source == SOURCE_DURATION)
        return (struct shown){.what = "request duration",
                              .value = duration_text,
                              .bound = duration_text,
                              .round = trunc};
    return (struct shown){.what = check->metric->name, .value = plain_value, .bound = number_text};
}

/* --- bounds */

struct bounds {
    bool has_min, has_max; /* neither: every value passes, it is only recorded */
    double min, max;
};

static struct bounds bounds_of(const struct canary_metric *metric, const struct shown *shown)
{
    struct bounds bounds = {.has_min = shown->threshold_is_min,
                            .has_max = !shown->threshold_is_min,
                            .min = metric->threshold,
                            .max = metric->threshold};

    if (metric->has_range)
        bounds = (struct bounds){metric->has_min, metric->has_max, metric->min, metric->max};
    if (shown->round) {
        bounds.min = shown->round(bounds.min);
        bounds.max = shown->round(bounds.max);
    }
    return bounds;
}

static const char *bounds_text(struct arena *arena, const struct shown *shown,
                               const struct bounds *bounds)
{
    const char *min = bounds->has_min ? shown->bound(arena, bounds->min) : NULL;
    const char *max = bounds->has_max ? shown->bound(arena, bounds->max) : NULL;

    if (min && max)
        return arena_printf(arena, "%s to %s", min, max);
    if (min || max)
        return arena_printf(arena, "%s %s", min ? "at least" : "at most", min ? min : max);
    return "any value";
}

/* --- the sentence */

const char *metrics_interval(const struct metric_check *check)
{
    const char *given = check->metric->interval;

    if (given && *given)
        return given;
    return check->source == SOURCE_TEMPLATE ? "" : "1m";
}

/* " over 1m": of what the value is, as far as it is not the query that says so. */
static const char *window_text(struct arena *arena, const struct metric_check *check)
{
    const struct metric_backend *backend = metric_backend_find(check->question.backend);
    const char *interval = metrics_interval(check);
    char text[DURATION_TEXT];

    if (backend && backend->intervals > 1 && check->metric->interval_ms > 0)
        interval = duration_format(check->metric->interval_ms * backend->intervals * MS_NS, text);
    return *interval ? arena_printf(arena, " over %s", interval) : "";
}

/* ", from prometheus at http://p:9090": of an address no more than the host, for the rest may be
 * secret. */
static const char *server_text(struct arena *arena, const struct metric_question *question)
{
    const char *address = question->address;

    if (!question->backend)
        return "";
    return arena_printf(arena, ", from %s%s%s", question->backend,
                        address && *address ? " at " : "",
                        address && *address ? url_origin(arena, address) : "");
}

/* Whether a value is so old that it says little of the step is for people to see: Flagger, too,
 * takes it. */
static const char *age_text(struct release *r, const struct metric_check *check)
{
    int64_t at = check->answer->at_ms, age = r->tick->now_ms - at;
    char text[DURATION_TEXT];

    if (at <= 0 || check->metric->interval_ms <= 0 ||
        age <= STALE_WINDOWS * check->metric->interval_ms)
        return "";
    return arena_printf(r->tick->arena, "%s old; ",
                        duration_format(age / 1000 * 1000 * MS_NS, text));
}

const char *metrics_about(struct release *r, const struct metric_check *check)
{
    struct arena *arena = r->tick->arena;
    const struct shown shown = shown_as(check);
    const struct bounds bounds = bounds_of(check->metric, &shown);
    const char *note = "", *age = "";

    if (check->answer && check->answer->note)
        note = arena_printf(arena, "%s; ", check->answer->note);
    if (check->answer)
        age = age_text(r, check);
    return arena_printf(arena, " (%s%s%s%s, expected %s%s)", note, age, check->metric->name,
                        window_text(arena, check), bounds_text(arena, &shown, &bounds),
                        server_text(arena, &check->question));
}

/* Durations are shown in seconds. */
void metrics_show(struct release *r, const struct metric_check *check, double value)
{
    const struct shown shown = shown_as(check);
    const struct bounds bounds = bounds_of(check->metric, &shown);
    double unit = check->source == SOURCE_DURATION ? 1000 : 1;
    struct effect *effect = plan_metric(r->tick, check->metric->name, value / unit);

    effect->has_min = bounds.has_min;
    effect->has_max = bounds.has_max;
    effect->min = bounds.min / unit;
    effect->max = bounds.max / unit;
}

static enum verdict out_of_bounds(struct release *r, const struct metric_check *check,
                                  const struct shown *shown, double value, const char *fault)
{
    return checks_failed(r, "OutOfRange", "Halt %s advancement %s %s %s%s", release_canary(r),
                         shown->what, shown->value(r->tick->arena, value), fault,
                         metrics_about(r, check));
}

bool metrics_within(const struct metric_check *check, double value)
{
    const struct shown shown = shown_as(check);
    const struct bounds bounds = bounds_of(check->metric, &shown);

    if (isinf(value) && (bounds.has_min || bounds.has_max))
        return false; /* something was divided by nothing */
    return !(bounds.has_min && value < bounds.min) && !(bounds.has_max && value > bounds.max);
}

enum verdict metrics_judge(struct release *r, const struct metric_check *check, double value)
{
    struct arena *arena = r->tick->arena;
    const struct shown shown = shown_as(check);
    const struct bounds bounds = bounds_of(check->metric, &shown);
    const char *fault = "is no measure";

    if (metrics_within(check, value))
        return VERDICT_GO;
    if (bounds.has_min && value < bounds.min)
        fault = arena_printf(arena, "< %s", shown.bound(arena, bounds.min));
    else if (bounds.has_max && value > bounds.max)
        fault = arena_printf(arena, "> %s", shown.bound(arena, bounds.max));
    return out_of_bounds(r, check, &shown, value, fault);
}
