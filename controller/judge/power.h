/*
 * The power of a policy: the smallest regression that it finds under a given traffic, and the time
 * that it takes.
 *
 * No formula gives that for a sequential test with steps and waits, so releases are simulated with
 * random numbers through the judge itself (judge/judge.h). The seed is fixed: the same course gives
 * the same answer. Pure.
 */
#ifndef JUDGE_POWER_H
#define JUDGE_POWER_H

#include "judge/judge.h"

/* A part of a release: its duration, and the share of all requests that each side gets, 0 to 1.
 * Copied requests count as well. */
struct power_stretch {
    double seconds, canary, primary;
};

/* The traffic of a release. */
struct power_course {
    const struct power_stretch *stretches;
    int n;
    double per_second;   /* requests to both sides together */
    double primary;      /* the primary's share of bad requests, 0 to 1 */
    double clump;        /* bad requests that occur together, on average; at most 1: each alone */
    double every_s;      /* between two samples, above 0 */
    int before;          /* samples of the primary before the canary has requests */
    double min_requests; /* a step waits for this many, or for a verdict, ... */
    double max_wait_s;   /* ... and at most this long */
};

/* Results for releases whose canary has a given share of bad requests. */
struct power_found {
    double share; /* part of the releases that are called worse; 0 to 1 */
    /*
     * Requests to the canary, and seconds since it got traffic, until half, or nine tenths, of all
     * releases are called worse; INFINITY if fewer are.
     */
    double half_requests, half_seconds, most_requests, most_seconds;
};

/* canary: its share of bad requests. Simulates `runs` releases, at most POWER_MOST. */
enum { POWER_MOST = 1000 };
struct power_found power_of(const struct judge_policy *policy, const struct power_course *course,
                            double canary, int runs);

/*
 * The smallest share of bad requests with which a canary is called worse in `wanted` (0 to 1) of
 * the releases; NAN if even a canary that always fails is not.
 */
double power_least(const struct judge_policy *policy, const struct power_course *course,
                   double wanted);

/*
 * The same in pieces, for a caller that must not wait: the results are those of power_least() and,
 * for that share (for 1 if there is none), of power_of(). It takes some hundred thousand looks.
 */
struct power_search;

/* Copies policy and course. */
struct power_search *power_search_new(const struct judge_policy *policy,
                                      const struct power_course *course, double wanted, int runs);
void power_search_free(struct power_search *search); /* NULL: does nothing */
/* Simulates at most this many looks, at least 1; true when the results are there. */
bool power_search_continue(struct power_search *search, int looks);
/* Only after power_search_continue() has returned true. */
double power_search_least(const struct power_search *search);
struct power_found power_search_found(const struct power_search *search);

#endif
