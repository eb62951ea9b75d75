/*
 * A past release under another policy. The judge is the controller's own (controller/judge), and so
 * are the rule that decides when a look is enough for a step (decide/judged.h) and the bounds of a
 * threshold (decide/metrics.h).
 *
 * The traffic is the traffic of the past: a replay cannot know what would have come after the real
 * end, or under another weight. Steps are made where the release made its own; steps that the
 * policy would not have allowed yet are made at a later look, and if there is no later look, the
 * release would still be under way. request-success-rate is checked once per interval, based on the
 * counts; if there are no counts, and for other metrics, it is checked when the release made a
 * check whose value was kept. Within a look, requests are assumed to be evenly spread. A number and
 * latency that were compared (`compare: primary`) are compared again at the looks of the release; of
 * looks that have become one, each has had its mean.
 */
#ifndef BACKTEST_REPLAY_H
#define BACKTEST_REPLAY_H

#include "base/err.h"
#include "base/json.h"
#include "decide/judged.h"
#include "proto/canary.h"

/* --- releases.c: ended releases, from the history of a Canary or a file of counts */

enum {
    PAST_MAX_LOOKS = 10000,            /* limit for a metric of a release */
    PAST_MAX_STEPS = 1000,             /* limit for a release */
    PAST_MAX_CHECKS = 100,             /* limit for a step */
    PAST_MAX_BYTES = 64 * 1024 * 1024, /* limit for a file */
};

/*
 * The samples of one metric that is judged. Of a number or latency, the samples have times, steps
 * and, of latency, requests of the canary, and `values` is the list of its looks (judge/looks.h).
 */
struct past_series {
    const char *name;
    enum judged_kind kind;
    struct json_object *values;
    int width;                    /* numbers in each of them */
    double beyond[LATENCY_PAIRS]; /* of latency, the canary's bounds */
    const char *bad;              /* the fault of a bad request; NULL if no longer known */
    struct json_object *before; /* the evidence that precedes the samples; NULL if none was kept */
    int64_t begin_s;            /* start of the first sample */
    struct judge_sample *samples;
    int n;
};

/* The result of a check. */
struct past_check {
    int64_t at_s;
    const char *name;
    double value; /* request-duration in seconds */
};

/* Times are seconds since the start of the release, as far as that is known. */
struct past {
    struct past *next;
    const char *canary; /* "test/podinfo"; "" if unknown */
    const char *revision;
    const char *outcome; /* "promoted", "failed", "cancelled" */
    struct past_series *series;
    int n_series;
    struct past_check *checks; /* in chronological order */
    int n_checks;
    int64_t end_s;
    double requests; /* requests of the canary, if counted */
    struct json_object *json;
};

struct pasts {
    struct past *first, **last;
    int running; /* number of releases omitted because they have not ended */
};

void pasts_init(struct pasts *pasts);
/* Adds one entry of a history; canary is the name to use if the entry has none. ERR_INVALID: the
 * path in the entry, and what was expected there. Borrows the entry; lives in the arena. */
enum err pasts_add(struct arena *arena, struct pasts *pasts, const char *canary,
                   struct json_object *entry, struct errinfo *ei) MUST_USE;
/* Adds all releases of a Canary. */
enum err pasts_add_canary(struct arena *arena, struct pasts *pasts, struct json_object *canary,
                          struct errinfo *ei) MUST_USE;
/*
 * Reads a file, or standard input if it is "-": documents with `releases`, Canaries, or lists of
 * them. An error names the file and the line of the release.
 */
enum err pasts_add_file(struct arena *arena, struct pasts *pasts, const char *file,
                        struct errinfo *ei) MUST_USE;

/* The same for text in memory. */
enum err pasts_parse(struct arena *arena, struct pasts *pasts, const char *file, const char *text,
                     size_t len, struct errinfo *ei) MUST_USE;

/* The metric's samples of this kind; NULL if none were kept. */
const struct past_series *past_series_of(const struct past *past, const char *name,
                                         enum judged_kind kind);
/* The nth look at a number or latency. */
struct judge_look past_look(const struct past_series *series, int nth);

/* --- a policy under which past releases are replayed: spec.analysis of a Canary */

enum { POLICY_MAX_BYTES = 1024 * 1024 };

struct policy {
    const char *name; /* the file's name, without folder and extension */
    const struct canary_analysis *analysis;
};

/*
 * Reads a Canary (its spec.analysis), `analysis: {...}`, or the fields inside it: `judge` and
 * `metrics`. The metrics that the judge compares are required. ERR_INVALID: one sentence with file,
 * line and column. Lives in the arena.
 */
enum err policy_read(struct arena *arena, const char *file, struct policy *out,
                     struct errinfo *ei) MUST_USE;
/* The same for text in memory. */
enum err policy_parse(struct arena *arena, const char *file, const char *text, size_t len,
                      struct policy *out, struct errinfo *ei) MUST_USE;

/* --- the replay */

enum replay_end {
    REPLAY_UNKNOWN, /* the policy needs data that was not kept */
    REPLAY_UNDER_WAY,
    REPLAY_PROMOTED,
    REPLAY_ROLLED_BACK,
};

struct replay {
    enum replay_end end;
    int64_t at_s;     /* as in struct past */
    double requests;  /* requests of the canary until then */
    const char *why;  /* "" if there is nothing to say */
    const char *note; /* the part of the policy that was left out; NULL if none was */
};

/* "promoted" etc., for programs. */
const char *replay_end_name(enum replay_end end);
/* Texts live in the arena. */
struct replay replay_run(struct arena *arena, const struct past *past, const struct policy *policy);

#endif
