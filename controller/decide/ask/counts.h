/*
 * Counts of requests for the judge (metric/METRICS.md): what canary and primary have answered in a
 * window, and how much of it was bad. Of the built-in metrics and of MetricTemplates with queries.
 */
#ifndef DECIDE_COUNTS_H
#define DECIDE_COUNTS_H

#include "decide/release/release.h"
#include "judge/judge.h"

/* Seconds; both whole, so that windows meet. */
struct counts_window {
    int64_t end_s; /* Unix time */
    int64_t length_s;
    int past; /* above 0: of the primary alone, which of several before the release */
};

struct counts {
    struct judge_counts canary, primary;
    const char *bad; /* what a bad request is: "failed", "took longer than 500 ms" */
    const char *why; /* STOP: one sentence */
};

/* The metric counts in the judge's verdict. STOP: it does not; a template without queries. */
enum verdict counts_judged(struct release *r, int index);
/* STOP: out->why says why they cannot be had now, in which nothing was counted. */
enum verdict counts_ask(struct release *r, int index, const struct counts_window *window,
                        struct counts *out);
/* A sentence when the spec asks to judge what cannot be counted. */
enum verdict counts_refusal(struct release *r, const char **sentence);

#endif
