#include "test/statistics/ranks.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

static const double QUANTILE = 2.326348; /* of the normal distribution, at 99 % */
static const double TOLERANCE = 0.25;    /* of the estimate */

enum { FEWEST = 3 };

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return (one > other) - (one < other);
}

/* The part of the variance that ties take: the sum of t^3 - t over groups of t equal ones. */
static double ties(double values[], size_t n)
{
    double sum = 0;

    qsort(values, n, sizeof(*values), by_size);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && values[j] == values[i];)
            j++;
        double t = (double)(j - i);
        sum += t * t * t - t;
    }
    return sum;
}

/* How many of the smallest differences lie below the interval. */
static double below(const double canary[], size_t n, const double primary[], size_t m)
{
    double all[2 * RANKS_MOST];
    double a = (double)n, b = (double)m, both = a + b;

    for (size_t i = 0; i < n; i++)
        all[i] = canary[i];
    for (size_t i = 0; i < m; i++)
        all[n + i] = primary[i];
    double variance = a * b / 12 * (both + 1 - ties(all, n + m) / (both * (both - 1)));
    return a * b / 2 - QUANTILE * sqrt(fmax(variance, 0));
}

bool ranks_higher(const double canary[], size_t n_canary, const double primary[], size_t n_primary)
{
    size_t n = n_canary * n_primary, at = 0;

    if (n_canary < FEWEST || n_primary < FEWEST || n_canary > RANKS_MOST || n_primary > RANKS_MOST)
        return false;
    double *differences = heap_alloc(n * sizeof(*differences));
    for (size_t i = 0; i < n_canary; i++)
        for (size_t j = 0; j < n_primary; j++)
            differences[at++] = canary[i] - primary[j];
    qsort(differences, n, sizeof(*differences), by_size);
    double estimate = (differences[(n - 1) / 2] + differences[n / 2]) / 2;
    double first = floor(below(canary, n_canary, primary, n_primary));
    bool higher = first >= 0 && differences[(size_t)first] > TOLERANCE * fabs(estimate);
    free(differences);
    return higher;
}
