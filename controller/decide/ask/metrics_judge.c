/* A value against the bounds of its metric (metric/METRICS.md), and the sentence when it is
 * out of them. What the value means follows from who was asked, not from the metric's name. */
#include "decide/ask/metrics_judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "decide/release/release.h"

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

static const char *percent_value(struct arena *arena, double value)
{
    return arena_printf(arena, "%.2f%%", value);
}

static const char *percent_bound(struct arena *arena, double bound)
{
    return arena_printf(arena, "%s%%", number_text(arena, bound));
}

static const char *duration_text(struct arena *arena, double ms)
{
    char text[DURATION_TEXT];

    return arena_strdup(arena, duration_format((int64_t)ms * 1000000, text));
}

static const char *plain_value(struct arena *arena, double value)
{
    return arena_printf(arena, "%.2f", value);
}

static struct shown shown_as(const struct canary_metric *metric, enum metric_source source)
{
    if (source == SOURCE_SUCCESS_RATE)
        return (struct shown){.what = "success rate",
                              .value = percent_value,
                              .bound = percent_bound,
                              .threshold_is_min = true};
    if (source == SOURCE_DURATION)
        return (struct shown){.what = "request duration",
                              .value = duration_text,
                              .bound = duration_text,
                              .round = trunc};
    return (struct shown){.what = metric->name, .value = plain_value, .bound = number_text};
}

static enum verdict out_of_bounds(struct release *r, const struct shown *shown, double value,
                                  const char *sign, double bound)
{
    struct arena *arena = r->tick->arena;

    release_warn(r, "Halt %s advancement %s %s %s %s", release_canary(r), shown->what,
                 shown->value(arena, value), sign, shown->bound(arena, bound));
    return VERDICT_STOP;
}

enum verdict metrics_judge(struct release *r, const struct canary_metric *metric,
                           enum metric_source source, double value)
{
    const struct shown shown = shown_as(metric, source);
    bool range = metric->has_range; /* an empty one lets every value pass: it is only recorded */
    bool min = range ? metric->has_min : shown.threshold_is_min;
    bool max = range ? metric->has_max : !shown.threshold_is_min;
    double least = range ? metric->min : metric->threshold;
    double most = range ? metric->max : metric->threshold;

    if (shown.round) {
        least = shown.round(least);
        most = shown.round(most);
    }
    if (min && value < least)
        return out_of_bounds(r, &shown, value, "<", least);
    if (max && value > most)
        return out_of_bounds(r, &shown, value, ">", most);
    return VERDICT_GO;
}
