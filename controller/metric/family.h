/*
 * A family of built-in queries: request-success-rate and request-duration of one mesh
 * (metric/METRICS.md). A row has the names of its metrics and of the labels that identify a
 * workload; the queries are generated, for one workload or for many at once.
 */
#ifndef METRIC_FAMILY_H
#define METRIC_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct metric_family {
    const char *name;
    /* Of requests: a counter; matchers of all its series, and of the successful ones. */
    const char *requests, *requests_are, *good;
    /* Of durations: a histogram; or a sum and a count, for the mean. */
    const char *times, *sum, *count, *times_are;
    bool in_ms;            /* the query converts seconds to milliseconds, as Flagger's */
    double duration_to_ms; /* factor from the query's unit to milliseconds */
    /* Labels of the workload: templates. namespace_label is NULL if the value of `label` includes
     * it. */
    const char *namespace_label, *label;
    const char *key;       /* identifies the workload in the value of `label` */
    const char *after;     /* regular expression of the text after the key */
    bool pods;             /* the key is followed by the suffix of the target kind's pod names */
    bool equals;           /* the value is `key`, not an expression */
    bool alone;            /* the key is ambiguous without its context: never queried with others */
    bool bare_rate_errors; /* an error of the rate is reported without "running query failed: " */
    /* The same for the primary; NULL: as above. incomparable: reason that there is none. */
    const char *primary_key, *primary_after, *primary_are;
    const char *incomparable;
    bool plain_words; /* names are rendered with '_' for every non-word character */
};

enum metric_kind { METRIC_SUCCESS_RATE, METRIC_DURATION };

const struct metric_family *metric_family_find(const char *name); /* NULL if there is none */
/* The next family; NULL starts, and ends. */
const struct metric_family *metric_family_next(const struct metric_family *family);

/* The query for one workload, a template (metric/template.h). Owned by the arena, as all below. */
const char *metric_family_query(struct arena *arena, const struct metric_family *family,
                                enum metric_kind kind);

/*
 * Counts of requests of one side, for the judge: the increase of the counters in {{ interval }} up
 * to the time of the question. Adjacent windows count each request once.
 */
struct metric_count {
    enum metric_kind kind;
    bool primary; /* else of the canary */
    bool good;    /* successful ones; of durations, of each bucket: a series for each `le` */
};
const char *metric_family_count_query(struct arena *arena, const struct metric_family *family,
                                      const struct metric_count *count);
/* The reason that there are no such counts; NULL if there are. */
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
 * A query about all members, with a series for each: by namespace_label, if the family has one, and
 * by the label of metric_family_key_label(). after: of the members, rendered. interval: "1m".
 */
const char *metric_family_group_query(struct arena *arena, const struct metric_family *family,
                                      enum metric_kind kind, const char *after,
                                      const char *interval, const struct metric_member *members,
                                      size_t n);
const char *metric_family_key_label(const struct metric_family *family);
/* True if its name has no characters special in regular expressions. */
bool metric_member_is_plain(const struct metric_member *member);
/* True if a series of one may have a name that matches the other's. */
bool metric_members_clash(const struct metric_member *one, const struct metric_member *other);

#endif
