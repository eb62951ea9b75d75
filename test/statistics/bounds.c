#include "test/statistics/bounds.h"

#include <math.h>
#include <stdint.h>

/* The chance of at most k of n. */
static double at_most(double k, double n, double share)
{
    double sum = 0;

    for (int64_t i = 0; (double)i <= k; i++) {
        double one = (double)i;
        sum += exp(lgamma(n + 1) - lgamma(one + 1) - lgamma(n - one + 1) + one * log(share) +
                   (n - one) * log1p(-share));
    }
    return fmin(sum, 1);
}

double bounds_upper(double counted, double of, double chance)
{
    double low = 0, high = 1;

    if (counted >= of)
        return 1;
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        if (at_most(counted, of, middle) > chance)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double bounds_lower(double counted, double of, double chance)
{
    return counted <= 0 ? 0 : 1 - bounds_upper(of - counted, of, chance);
}
