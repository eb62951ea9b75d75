/*
 * What a release has seen of its canary beside the primary (`judge` of the status, decide/STATUS.md):
 * the evidence of each judged metric, up to when its requests are counted, and since when the pods
 * of both sides are the same. It goes with a status that says nothing else of a step, so that a look
 * does not begin an interval anew. Evidence and time are one write: what was counted and not
 * written is counted once, by the look after it.
 */
#ifndef DECIDE_JUDGED_H
#define DECIDE_JUDGED_H

#include "decide/release/release.h"
#include "judge/judge.h"
#include "judge/series.h"

/* LOOKS: of all metrics that are kept; a metric has its part of them, and never less than a few. */
enum { JUDGED_METRICS = 10, JUDGED_LOOKS = 60 };

struct judged_metric {
    int index; /* of spec.analysis.metrics */
    const char *name;
    struct judge_evidence evidence;
    int64_t counted_s; /* up to this Unix time; 0: nothing was yet */
    int64_t first_s;   /* the first window with requests of the canary began; 0: there was none */
    double from;       /* requests of the canary before this step */
    const char *says;  /* one sentence, NULL: none */
    const char *bad;   /* what a bad request is, "failed"; NULL: nothing was counted */
    struct judge_policy policy;
    int64_t looks_since_s; /* Unix time at which the first of these begins */
    struct judge_series looks;
};

struct judged {
    int pods[2]; /* by enum side: ready ones; of kinds that do not count them 1; 0: not ready */
    int64_t since_ms; /* of these pods */
    const char *step; /* weight and iteration; "": none is known */
    struct judged_metric metrics[JUDGED_METRICS];
    int n;
};

/* As the status has it, of these metrics of the spec, in this order; begun anew where it has none. */
struct judged *judged_read(struct release *r, const int *metrics, int n);
void judged_write(struct release *r, const struct judged *judged);
/* "request-success-rate: ..." of each metric that says something, in one line; "": none does. Owned by
 * the arena. */
const char *judged_sentence(struct arena *arena, const struct judged *judged);
/* What the spec says of one metric of n that are judged. */
struct judge_policy judged_policy(const struct canary_judge *judge,
                                  const struct canary_metric *metric, int n);
/* The policy of this metric has been shown to be broken, or kept. */
enum judge_verdict judged_verdict(const struct judged_metric *metric);
/* Requests of the canary since the last step. */
double judged_requests(const struct judged_metric *metric);
/* It is not enough for a step: nothing is shown, and the canary has had too few requests. */
bool judged_is_silent(const struct judged_metric *metric, const struct canary_judge *judge);
/* One look more, from begin_s to end_s, to be kept beside the evidence. */
void judged_keep(struct release *r, struct judged_metric *metric, int64_t begin_s, int64_t end_s,
                 struct judge_counts canary, struct judge_counts primary);
/* The looks of all metrics so far, for the history: name, bad, since and counts of each; NULL: there
 * are none. */
struct json_object *judged_looks(struct release *r);
/* [canary's requests, its bad ones, the primary's, its bad ones], of the release so far. */
struct json_object *judged_counts(struct release *r, const struct judged_metric *metric);

#endif
