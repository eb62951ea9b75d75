/*
 * Counts of requests for the judge (metric/METRICS.md): the answers of canary and primary in a
 * window, and the bad ones among them. For built-in metrics and for MetricTemplates with queries.
 */
#ifndef DECIDE_COUNTS_H
#define DECIDE_COUNTS_H

#include "decide/release.h"
#include "judge/judge.h"
#include "judge/latency.h"
#include "metric/template.h"

/* A window in whole seconds, so that windows adjoin. */
struct counts_window {
    int64_t end_s; /* Unix time */
    int64_t length_s;
    int before; /* > 0: this many such windows, this one the last, of the primary alone */
    /*
     * By enum side: the built-in metric of this side is in native histograms. Then they are asked
     * for at once; else when there is no series with buckets, and set when they answer. Borrowed.
     */
    bool *native;
};

struct counts {
    struct judge_counts canary, primary;
    struct judge_counts *before; /* of the primary, the oldest window first; NULL: not asked */
    int n_before;                /* at most those of the window */
    const char *bad; /* description of a bad request: "failed", "took longer than 500 ms" */
    const char *why; /* DONE: one sentence */
};

/* Histograms of request-duration. One without bounds means no request. */
struct histograms {
    struct judge_histogram canary, primary;
    struct judge_histogram *before; /* of the primary, the oldest window first; NULL: not asked */
    int n_before;                   /* at most those of the window */
    double unit_ms;                 /* of the bounds */
    const char *why;                /* DONE: one sentence */
};

/* DONE if the metric does not count in the judge's verdict: a template without queries. */
enum rule_result counts_judged(struct release *r, int index);
/* DONE: out->why is the reason why no counts are available now; nothing was counted. */
enum rule_result counts_ask(struct release *r, int index, const struct counts_window *window,
                            struct counts *out);
/* Like counts_ask(), for histograms. */
enum rule_result counts_histograms(struct release *r, int index, const struct counts_window *window,
                                   struct histograms *out);
/* Sets a sentence if the spec asks to judge a metric that cannot be counted. */
enum rule_result counts_refusal(struct release *r, const char **sentence);

/* Queries from a MetricTemplate and its Secrets. */

/* The namespace of the metric's template. */
const char *metrics_template_namespace(const struct release *r, const struct canary_metric *metric);
/* Fills in the query of this metric except its text. DONE: *why names the missing part. */
enum rule_result metrics_template_question(struct release *r, int index,
                                           struct metric_question *out,
                                           struct json_object **template, const char **why);
/* Resources for rendering queries: one budget for the whole round. */
const struct template_means *metrics_means(const struct release *r);
/* The words for rendering its queries; interval may be "". */
struct render_model metrics_model(const struct release *r, const struct canary_metric *metric,
                                  const char *interval);
/* Renders the query, and the path and body of a backend that has them. Returns NULL, or the field
 * that cannot be rendered. */
const char *metrics_render(struct arena *arena, struct json_object *template,
                           const struct render_model *model, struct metric_question *question,
                           struct errinfo *ei);

#endif
