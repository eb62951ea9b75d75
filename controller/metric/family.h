/*
 * A family of built-in queries: request-success-rate and request-duration for one mesh
 * (metric/METRICS.md). A row has the names of its metrics and of the labels that identify a
 * workload; the queries are generated from it, for one workload or for many at once.
 */
#ifndef METRIC_FAMILY_H
#define METRIC_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct metric_family {
    const char *name;
    /* The metric of requests, a counter; label matchers for all its series, and for the successful
     * ones. */
    const char *requests, *requests_are, *good;
    /* The metric of durations: a histogram; or a sum and a count, for the mean. */
    const char *times, *sum, *count, *times_are;
    bool in_ms;            /* the query converts seconds to milliseconds, as Flagger's does */
    double duration_to_ms; /* factor from the query's unit to milliseconds */
    /* Labels of the workload, with templates as values. namespace_label is NULL if the value of
     * `label` includes the namespace. */
    const char *namespace_label, *label;
    const char *key;       /* identifies the workload in the value of `label` */
    const char *after;     /* regular expression of the text after the key */
    bool pods;             /* the key is followed by the suffix of the target kind's pod names */
    bool equals;           /* the value equals `key`, which is not a regular expression */
    bool alone;            /* the key is ambiguous without its context: never queried with others */
    bool bare_rate_errors; /* errors of the rate are reported without "running query failed: " */
    /* The same for the primary; NULL: as above. incomparable: why there is none. */
    const char *primary_key, *primary_after, *primary_are;
    const char *incomparable;
    bool plain_words; /* names are rendered with '_' for every non-word character */
};

enum metric_kind { METRIC_SUCCESS_RATE, METRIC_DURATION };

const struct metric_family *metric_family_find(const char *name); /* NULL if there is none */
/* The next family; NULL as argument starts the iteration, and as result ends it. */
const struct metric_family *metric_family_next(const struct metric_family *family);

/* The query for one workload, a template (metric/template.h). Owned by the arena, as are all
 * results below. */
const char *metric_family_query(struct arena *arena, const struct metric_family *family,
                                enum metric_kind kind);
/* The same of native histograms; NULL if there are none (metric_family_has_native()). */
const char *metric_family_native_query(struct arena *arena, const struct metric_family *family,
                                       enum metric_kind kind);

/*
 * Counts of requests of one side, for the judge: the increase of the counters during {{ interval }}
 * up to the time of the query. Adjacent windows count each request once; native histograms are
 * those of METRIC_NATIVE_SLACK_S more.
 */
#define METRIC_NATIVE_SLACK_S 0.001
struct metric_count {
    enum metric_kind kind;
    bool primary; /* counts the primary; false: the canary */
    bool good;    /* successful requests; for durations, each bucket's: one series per `le` */
    bool native;  /* one native histogram: of durations all requests, whatever `good` says */
};
/* True if what is counted may be in a native histogram as well. */
bool metric_family_has_native(const struct metric_family *family, enum metric_kind kind);
const char *metric_family_count_query(struct arena *arena, const struct metric_family *family,
                                      const struct metric_count *count);
/* Why there are no such counts; NULL if there are. */
const char *metric_family_incomparable(struct arena *arena, const struct metric_family *family,
                                       enum metric_kind kind);
/* Converts milliseconds to the unit of the family's buckets. */
double metric_family_bucket(const struct metric_family *family, double ms);

/* A workload in a query about many. */
struct metric_member {
    const char *namespace_, *key; /* rendered; the namespace is "" if the key includes it */
};
#define METRIC_KEY_LABEL "flagger_key"
/*
 * A query about all members that returns one series for each: by namespace_label, if the family has
 * one, and by the label of metric_family_key_label(). after: the members' `after`, rendered.
 * interval: "1m".
 */
const char *metric_family_group_query(struct arena *arena, const struct metric_family *family,
                                      enum metric_kind kind, const char *after,
                                      const char *interval, const struct metric_member *members,
                                      size_t n);
const char *metric_family_key_label(const struct metric_family *family);
/* True if its name contains no characters that are special in regular expressions. */
bool metric_member_is_plain(const struct metric_member *member);
/* True if a series of one member may have a name that matches the other's. */
bool metric_members_clash(const struct metric_member *one, const struct metric_member *other);

#endif
