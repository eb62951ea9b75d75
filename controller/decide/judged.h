/*
 * Evidence about the canary beside the primary (`judge` of the status, decide/STATUS.md): for each
 * judged metric, the time up to which its requests are counted; and the time since when the pods of
 * both sides are unchanged. It is written with a status that does not report a step, so that a
 * sample does not restart the interval. Evidence and time are one write: requests counted but not
 * written are counted by the next sample.
 */
#ifndef DECIDE_JUDGED_H
#define DECIDE_JUDGED_H

#include "decide/release.h"
#include "judge/judge.h"
#include "judge/latency.h"
#include "judge/looks.h"
#include "judge/numbers.h"
#include "judge/past.h"

/* JUDGED_LOOKS: samples kept for all metrics together; each metric gets its share, at least a few.
 */
enum { JUDGED_METRICS = 10, JUDGED_SAMPLES = 60 };

/* The subject of a comparison: counts of requests (evidence), a number of both sides, histograms of
 * latency, or a number beside that of the last days. */
enum judged_kind { JUDGED_REQUESTS, JUDGED_NUMBER, JUDGED_LATENCY, JUDGED_PAST };

struct judged_metric {
    int index; /* in spec.analysis.metrics */
    const char *name;
    enum judged_kind kind;
    struct judge_evidence evidence;
    struct judge_numbers numbers;
    struct judge_latency latency;
    struct judge_past past;
    /* A number of a side beside the last days: compared in the bake alone, where there is one. */
    bool in_bake;
    int64_t counted_s; /* counted up to this Unix time; 0: nothing yet */
    int64_t first_s;   /* start of the first window with requests of the canary; 0 if none */
    double from;       /* requests of the canary, or looks at its number, before this step */
    bool native[2];    /* by enum side: it is in native histograms, as an answer has shown */
    const char *says;  /* one sentence; NULL if none */
    const char *bad;   /* description of a bad request, "failed"; NULL if nothing was counted */
    struct judge_policy policy;
    struct json_object *before; /* known of the primary, which the samples follow; or NULL */
    int64_t samples_since_s;    /* Unix time of the first sample */
    struct judge_series samples;
    struct judge_looks looks;     /* instead, of numbers and latency */
    double beyond[LATENCY_PAIRS]; /* the canary's bounds in them */
};

struct judged {
    int pods[2]; /* by enum side: ready pods; 1 for kinds that do not count them; 0: not ready */
    int64_t since_ms; /* of these pods */
    const char *step; /* weight and iteration; "" if unknown */
    struct judged_metric metrics[JUDGED_METRICS];
    int n;
};

/* Reads the status for these metrics of the spec, in this order; starts empty if it has none. */
struct judged *judged_read(struct release *r, const int *metrics, int n);
void judged_write(struct release *r, const struct judged *judged);
/*
 * "request-success-rate: ..." for each metric with a finding, on one line; "" if none. Owned by
 * the arena.
 */
const char *judged_sentence(struct arena *arena, const struct judged *judged);
/* The policy of the spec for one of n judged metrics. For a number, points is an amount. */
struct judge_policy judged_policy(const struct canary_judge *judge,
                                  const struct canary_metric *metric, int n);
/* The verdict on this metric: its policy is shown to be violated, or met. */
enum judge_verdict judged_verdict(const struct judged_metric *metric);
/* Requests of the canary since the last step, or looks at its number. */
double judged_requests(const struct judged_metric *metric);
/* True if there is too little for a step: no verdict, and too few requests of the canary. For a
 * number: no look since the last step, no comparison yet, or a last one beyond the tolerance. */
bool judged_is_silent(const struct judged_metric *metric, const struct canary_judge *judge);
/* Keeps one more sample, from begin_s to end_s, along with the evidence. */
void judged_keep_sample(struct release *r, struct judged_metric *metric, int64_t begin_s,
                        int64_t end_s, struct judge_counts canary, struct judge_counts primary);
/* The same for a number or latency: its values (judge/looks.h). */
void judged_keep_look(struct release *r, struct judged_metric *metric, int64_t begin_s,
                      int64_t end_s, const double values[], int n_values);
/* Takes knowledge of the primary from before the canary is compared; looks that were kept are about
 * something else, and go. */
void judged_know(struct judged_metric *metric, struct json_object *known);
/* The samples of all metrics for the history: name, since and counts (or values) of each;
 * NULL if none. */
struct json_object *judged_samples(struct release *r);
/* [canary's requests, its bad ones, the primary's, its bad ones] of the release so far. */
struct json_object *judged_counts(struct release *r, const struct judged_metric *metric);

#endif
