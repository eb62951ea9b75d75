/*
 * The looks of a release, kept so that another policy may judge them later: few, however many there
 * were. Where there is no more room, two neighbours become one look that is as long as both. Which
 * two follows from the canary's requests in them: the windows are short at the beginning, where a
 * verdict saves most, and longer behind, but each is a small part of the whole.
 *
 * Pure: no I/O, no clock.
 */
#ifndef JUDGE_SERIES_H
#define JUDGE_SERIES_H

#include "judge/judge.h"

/* One look: what both sides answered since the one before. */
struct judge_sample {
    int64_t at_s; /* when it ended, in seconds since the first one began; rising, 0 to 10^9 */
    int64_t step; /* the weight, or the iteration, at that time; 0 to 10^9 */
    struct judge_counts canary, primary;
};

enum { JUDGE_SERIES = 30 };

struct judge_series {
    struct judge_sample samples[JUDGE_SERIES];
    int n;
};

/* One more look, of at most `most` (2 to JUDGE_SERIES). Counts are cleaned; one that is not later
 * than the last one is added to it. */
void judge_series_add(struct judge_series *series, int most, const struct judge_sample *sample);

/*
 * [[at, step, canary's requests, its bad ones, the primary's, its bad ones], ...], borrowed from the
 * arena, and back. Reading is false when something is no look, or more than `most` are there; then
 * there are none. *out lives in the arena.
 */
struct json_object *judge_samples_write(struct arena *arena, const struct judge_sample *samples,
                                        int n);
bool judge_samples_read(struct arena *arena, struct json_object *json, int most,
                        struct judge_sample **out, int *n);

#endif
