/*
 * Numbers for the judge (metric/METRICS.md): the query of a metric with `compare`, asked for canary
 * and primary, or for the canary now and for the primary at the same time of the last days.
 */
#ifndef DECIDE_COMPARED_H
#define DECIDE_COMPARED_H

#include "decide/counts.h"
#include "decide/release.h"
#include "judge/numbers.h"
#include "judge/past.h"

struct compared {
    double canary, primary;
    const char *why; /* DONE: a sentence */
};

/* The words of its query for one side: workload and target are those of the side. */
struct render_model compared_model(const struct release *r, const struct canary_metric *metric,
                                   enum side side);
/*
 * Sets *ms to the time that its query looks back: the ranges of a query of Prometheus, 0 if it has
 * none; of other servers the metric's interval, a minute if none is given. CONTINUE, NEEDS_FACTS, or
 * DONE: there is no query.
 */
enum rule_result compared_reach(struct release *r, int index, int64_t *ms);
/* Asks both sides, at this Unix time where the server can say it. DONE: out->why says why there is
 * no pair of values. */
enum rule_result compared_ask(struct release *r, int index, int64_t at_s, struct compared *out);
/* Learns from the windows of the primary before a release, where the server knows them. Nothing is
 * learned from what cannot be had. CONTINUE, or NEEDS_FACTS. */
enum rule_result compared_learn(struct release *r, int index, const struct counts_window *window,
                                struct judge_numbers *numbers);
/*
 * The number at this Unix time, and the primary's at the same time of the last days; NaN where one
 * has no value. DONE: *why says why today's is not known.
 */
enum rule_result compared_past_ask(struct release *r, int index, int64_t at_s,
                                   struct judge_past_look *out, const char **why);
/* Learns the hour before this Unix time, and of the same hours of the last days. Like
 * compared_learn(). */
enum rule_result compared_past_learn(struct release *r, int index, int64_t at_s,
                                     struct judge_past *past);
/*
 * Sets *is if the number is that of a side and not the same for both: what the primary had in the
 * past was of all traffic, which the canary has in a bake. CONTINUE, or NEEDS_FACTS.
 */
enum rule_result compared_is_of_side(struct release *r, int index, bool *is);
/* A sentence if the template's query is the same for both sides or, of the past, cannot be asked for
 * at a time; NULL if not. The template may be NULL. */
const char *compared_refusal(struct release *r, int index, struct json_object *template);

#endif
