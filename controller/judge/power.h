/*
 * The power of a policy: how small a regression it finds under a given traffic, and how soon.
 *
 * No formula gives that for a sequential test with steps and waits, so releases are played with
 * random numbers through the judge itself (judge/judge.h). The seed is fixed: the same course gives
 * the same answer. Pure.
 */
#ifndef JUDGE_POWER_H
#define JUDGE_POWER_H

#include "judge/judge.h"

/* A part of a release: how long it lasts, and which shares of all requests each side gets, 0 to 1. A
 * copy counts as well. */
struct power_stretch {
    double seconds, canary, primary;
};

/* The traffic of a release. */
struct power_course {
    const struct power_stretch *stretches;
    int n;
    double per_second;   /* requests to both sides together */
    double primary;      /* the primary's share of bad requests, 0 to 1 */
    double clump;        /* bad requests that come together on average; at most 1: each alone */
    double every_s;      /* between two samples, above 0 */
    int before;          /* samples of the primary before the canary has requests */
    double min_requests; /* a step waits for that many, or for a verdict, ... */
    double max_wait_s;   /* ... and so long at most */
};

/* Of releases whose canary has a given share of bad requests. */
struct power_found {
    double share; /* of them that are called worse; 0 to 1 */
    /*
     * Requests to the canary, and seconds since it has traffic, until half and nine of ten of all
     * of them are called worse; INFINITY if fewer are.
     */
    double half_requests, half_seconds, most_requests, most_seconds;
};

/* `canary`: its share of bad requests. Plays `runs` releases, at most POWER_MOST. */
enum { POWER_MOST = 1000 };
struct power_found power_of(const struct judge_policy *policy, const struct power_course *course,
                            double canary, int runs);

/*
 * The least share of bad requests of a canary that is called worse in `wanted` (0 to 1) of the
 * releases; NAN if even one that fails always is not.
 */
double power_least(const struct judge_policy *policy, const struct power_course *course,
                   double wanted);

#endif
