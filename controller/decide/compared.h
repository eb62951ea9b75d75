/*
 * Numbers for the judge (metric/METRICS.md): the query of a metric with `compare: primary`, asked
 * for canary and primary.
 */
#ifndef DECIDE_COMPARED_H
#define DECIDE_COMPARED_H

#include "decide/counts.h"
#include "decide/release.h"
#include "judge/numbers.h"

struct compared {
    double canary, primary;
    const char *why; /* DONE: a sentence */
};

/* The words of its query for one side: workload and target are those of the side. */
struct render_model compared_model(const struct release *r, const struct canary_metric *metric,
                                   enum side side);
/* Asks both sides, at this Unix time where the server can say it. DONE: out->why says why there is
 * no pair of values. */
enum rule_result compared_ask(struct release *r, int index, int64_t at_s, struct compared *out);
/* Learns from the windows of the primary before a release, where the server knows them. Nothing is
 * learned from what cannot be had. CONTINUE, or NEEDS_FACTS. */
enum rule_result compared_learn(struct release *r, int index, const struct counts_window *window,
                                struct judge_numbers *numbers);
/* A sentence if the template's query is the same for both sides; NULL if not. The template may be
 * NULL. */
const char *compared_refusal(struct release *r, int index, struct json_object *template);

#endif
