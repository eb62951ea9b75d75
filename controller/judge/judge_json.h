/*
 * Samples of a release, stored for a later evaluation under another policy: a fixed number,
 * however many were taken. When full, two neighbours are joined into one sample of both windows.
 * The canary's requests decide which: windows are short at the beginning, where a verdict saves
 * most, and longer later, but each is a small part of the whole.
 *
 * Pure: no I/O, no clock.
 */
#ifndef JUDGE_JUDGE_JSON_H
#define JUDGE_JUDGE_JSON_H

#include "judge/judge.h"

/* The answers of both sides since the sample before. */
struct judge_sample {
    int64_t at_s; /* its end, in seconds since the first one began; increasing, 0 to 10^9 */
    /* The weight at that time in hundredths of a percent, or the iteration times a hundred; up to
     * 10^11. In JSON the weight in percent, or the iteration. */
    int64_t step;
    struct judge_counts canary, primary;
};

enum { JUDGE_SERIES = 30 };

struct judge_series {
    struct judge_sample samples[JUDGE_SERIES];
    int n;
};

/*
 * Adds a sample, keeping at most `most` (2 to JUDGE_SERIES). Counts are cleaned; one that is not
 * later than the last is added to it.
 */
void judge_series_add(struct judge_series *series, int most, const struct judge_sample *sample);

/*
 * [[at, step, canary's requests, its bad ones, the primary's, its bad ones], ...], borrowed from
 * the arena, and back. Reading returns false and no samples if an element is invalid, or if there
 * are more than `most`. *out lives in the arena.
 */
struct json_object *judge_samples_write(struct arena *arena, const struct judge_sample *samples,
                                        int n);
bool judge_samples_read(struct arena *arena, struct json_object *json, int most,
                        struct judge_sample **out, int *n);

#endif
