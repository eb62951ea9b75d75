/*
 * A family of built-in queries: request-success-rate and request-duration of one mesh
 * (metric/METRICS.md). A row says which metrics there are, and which labels tell one workload from
 * the others; the queries follow from that, for one workload or for many at once.
 */
#ifndef METRIC_FAMILY_H
#define METRIC_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct metric_family {
    const char *name;
    /* Of the requests: a counter; what all of its series must have, and those that are good. */
    const char *requests, *requests_are, *good;
    /* Of their durations: a histogram; or a sum and a count, for the mean. */
    const char *times, *sum, *count, *times_are;
    bool in_ms;            /* the query makes milliseconds of their seconds, as Flagger's does */
    double duration_to_ms; /* factor from what the query says to milliseconds */
    /* Whose they are: templates. namespace_label NULL: the value of `label` says it. */
    const char *namespace_label, *label;
    const char *key;   /* what tells workloads apart, in the value of `label` */
    const char *after; /* what stands behind it there, a regular expression */
    bool pods;         /* behind it stands what the kind of target puts behind its pods' names */
    bool equals;       /* the value is `key` and no expression */
    bool alone;        /* there is more to the key than its beginning: never asked with others */
    bool bare_rate_errors; /* an error of the rate is told without "running query failed: " */
    /* The same of the primary; of these NULL is as above. incomparable: why there is no such. */
    const char *primary_key, *primary_after, *primary_are;
    const char *incomparable;
    bool plain_words; /* names are rendered with every non-word character as '_' */
};

enum metric_kind { METRIC_SUCCESS_RATE, METRIC_DURATION };

const struct metric_family *metric_family_find(const char *name); /* NULL: there is none */
/* The next of all; NULL begins, and ends. */
const struct metric_family *metric_family_next(const struct metric_family *family);

/* The query of one workload, a template (metric/render.h). Owned by the arena, as all below. */
const char *metric_family_query(struct arena *arena, const struct metric_family *family,
                                enum metric_kind kind);

/*
 * Counts of the requests of one side, for the judge: how much the counters have grown in
 * {{ interval }} until the time of the question. Two windows that meet count each request once.
 */
struct metric_count {
    enum metric_kind kind;
    bool primary; /* else of the canary */
    bool good; /* those that did not fail; of durations, of each bucket: a series for each `le` */
};
const char *metric_family_count_query(struct arena *arena, const struct metric_family *family,
                                      const struct metric_count *count);
/* Why such counts cannot be had; NULL: they can. */
const char *metric_family_incomparable(struct arena *arena, const struct metric_family *family,
                                       enum metric_kind kind);
/* Milliseconds in the unit of the family's buckets. */
double metric_family_bucket(const struct metric_family *family, double ms);

/* Who is asked about together with others. */
struct metric_member {
    const char *namespace_, *key; /* rendered; the namespace is "" where the key has it */
};
#define METRIC_KEY_LABEL "flagger_key"
/*
 * The query of all members, whose answer has a series for each: by namespace_label, where the
 * family has one, and by the label that metric_family_key_label() says. after: of the members,
 * rendered. interval: "1m".
 */
const char *metric_family_group_query(struct arena *arena, const struct metric_family *family,
                                      enum metric_kind kind, const char *after,
                                      const char *interval, const struct metric_member *members,
                                      size_t n);
const char *metric_family_key_label(const struct metric_family *family);
/* Its name has nothing in it that a regular expression would take for more than itself. */
bool metric_member_is_plain(const struct metric_member *member);
/* A series of the one may have a name that passes for the other's. */
bool metric_members_clash(const struct metric_member *one, const struct metric_member *other);

#endif
