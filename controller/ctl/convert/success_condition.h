/*
 * The success and failure conditions of an analysis of Argo Rollouts, as a range of good values.
 *
 * Understood: comparisons of the result with numbers (result, result[0], result.name, asFloat(),
 * asInt(), default(result, N), of all() its elements), joined by &&, ||, ! and parentheses; len(),
 * isNaN() and nil for results without values. Anything else is refused with a sentence.
 */
#ifndef CONVERT_CONDITION_H
#define CONVERT_CONDITION_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

enum { CONDITION_MAX_BYTES = 4096, CONDITION_DEPTH = 32 };

/* The meaning of a result without values. */
enum condition_empty { CONDITION_EMPTY_BAD, CONDITION_EMPTY_GOOD, CONDITION_EMPTY_ERROR };

struct condition {
    double min, max;   /* infinite where there is no bound; min above max: no value is good */
    bool above, below; /* min or max itself is not good */
    bool elements;     /* it asks for all elements of the result */
    enum condition_empty empty;
};

/*
 * The good values: those of success that failure does not name; either may be NULL or "". With
 * neither, all are good. ERR_INVALID: no range says the same, with the reason.
 */
enum err condition_read(const char *success, const char *failure, struct condition *out,
                        struct errinfo *ei) MUST_USE;

/* The bound that excludes an open end: the next number below or above it. */
double condition_least(const struct condition *condition);
double condition_largest(const struct condition *condition);

#endif
