/*
 * Weights: shares of the traffic in hundredths of a percent, from 0 to WEIGHT_ALL; 50 is 0.5 %. All
 * code uses this unit. Specs, statuses and texts contain percentages: whole ones as integers,
 * others as numbers with at most two decimals. This module reads and writes them.
 */
#ifndef PROTO_WEIGHT_H
#define PROTO_WEIGHT_H

#include "base/arena.h"
#include "base/json.h"

enum { WEIGHT_PERCENT = 100, WEIGHT_ALL = 100 * WEIGHT_PERCENT };

/* As a percentage: "0.5", "12.25", "20"; owned by the arena. */
const char *weight_text(struct arena *arena, int64_t weight);
/* True for a percentage from 0 with at most two decimals: *out is its value in hundredths, at most
 * `most`. */
bool weight_read(struct json_object *value, int64_t most, int64_t *out);
/* Sets `key` of an object to the percentage: an integer if it is whole. */
void weight_put(struct arena *arena, struct json_object *object, const char *key, int64_t weight);
/* The same number, owned by the arena. */
struct json_object *weight_json(struct arena *arena, int64_t weight);
/* Whole percent, rounded up: 0 only for nothing; anything less than everything is at most 99. */
int weight_percent(int weight);
/*
 * The weight of one of two sides as routers write it, an integer: out of 100 if both are whole
 * percentages, else out of 1000 or 10000, whichever is the smallest that is exact.
 */
int weight_relative(int weight);
/* The share of `part` in `total`, neither of them negative, rounded; only nothing becomes 0, and
 * only everything WEIGHT_ALL. 0 if the total is 0. */
int weight_of_total(int64_t part, int64_t total);

/* Rounds to the nearest multiple of `finest`, a divisor of WEIGHT_ALL; only nothing becomes 0, and
 * only everything WEIGHT_ALL. */
int weight_rounded(int weight, int finest);

/* The two fields in a Canary's status: canaryWeight, an integer, and canaryShare, the exact text if
 * that differs from the integer. A share that does not fit its integer was not written by the same
 * writer, and is ignored. */
int weight_of_status(struct json_object *status);
/* Sets both fields in a patch for the status `before` (may be NULL). */
void weight_to_status(struct arena *arena, struct json_object *patch, struct json_object *before,
                      int weight);

#endif
