/*
 * Looks at numbers and histograms of both sides, stored for a later evaluation under another
 * policy: a fixed number, however many were taken. When full, two neighbours become one. As with
 * judge_series_add(), windows are short at the beginning and longer later, and looks of different
 * steps are joined last.
 */
#ifndef JUDGE_LOOKS_H
#define JUDGE_LOOKS_H

#include "judge/latency.h"

/*
 * LOOKS_NUMBERS, LOOKS_LATENCY: of a metric, at most. LOOK_VALUES: of a look, at most.
 * LOOK_JOINED: looks that one may count for; more count as that many.
 */
enum {
    LOOKS_NUMBERS = 20,
    LOOKS_LATENCY = 12,
    LOOK_VALUES = 2 * (LATENCY_PAIRS + 1),
    LOOK_JOINED = 100000,
};

/*
 * at_s and step as in struct judge_sample; looks: how many were joined. Values of a number: the
 * canary's and the primary's, means of those that were joined. Of latency: the canary's requests,
 * those of them beyond each of its bounds, and the same of the primary: sums.
 */
struct judge_look {
    int64_t at_s, step, looks;
    double values[LOOK_VALUES];
};

struct judge_looks {
    int width; /* values of each */
    int n;
    struct judge_look looks[LOOKS_NUMBERS];
};

/* Values of a look at a number. */
enum { LOOK_CANARY, LOOK_PRIMARY, LOOK_PAIR };

/*
 * Adds a look, keeping at most `most` (2 to LOOKS_NUMBERS); `sums` says how values are joined. Looks
 * of another width go. Without a finite value it is left out; one that is not later than the last
 * is joined to that.
 */
void judge_looks_add(struct judge_looks *looks, int most, bool sums, int width,
                     const struct judge_look *look);

/* [[at, step, looks, value, ...], ...], borrowed from the arena. */
struct json_object *judge_looks_write(struct arena *arena, const struct judge_looks *looks);
/* One of them, and all; false if it is none: a wrong width, a number that is none, a time that does
 * not rise. Reading all gives none then. */
bool judge_look_read(struct json_object *row, int width, struct judge_look *out);
bool judge_looks_read(struct json_object *json, int most, struct judge_looks *out);

#endif
