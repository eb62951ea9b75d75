/*
 * A past release under another policy. The judge is the controller's own (controller/judge), and so
 * are the rule when a look is enough for a step (decide/judged.h) and the bounds of a
 * threshold (decide/metrics.h).
 *
 * The traffic is what it was: a replay knows none that would have come after the real end, nor that
 * of another weight. Steps are made where the release made its own; those that the policy would not
 * have allowed yet are made at a later look, and where there is none, the release would still be
 * under way. Of request-success-rate a check is made once each interval, of the counts, and where
 * there are none, as of other metrics, when one was made and its value was kept. Within a look
 * requests are taken as evenly spread.
 */
#ifndef BACKTEST_REPLAY_H
#define BACKTEST_REPLAY_H

#include "base/err.h"
#include "base/json.h"
#include "judge/judge.h"
#include "proto/canary.h"

/* --- past.c: ended releases, from the history of a Canary or a file of counts */

enum {
    PAST_MAX_LOOKS = 10000,            /* of a metric of a release */
    PAST_MAX_STEPS = 1000,             /* of a release */
    PAST_MAX_CHECKS = 100,             /* of a step */
    PAST_MAX_BYTES = 64 * 1024 * 1024, /* of a file */
};

/* The samples of one judged metric. */
struct past_series {
    const char *name;
    const char *bad;            /* meaning of a bad request; NULL if no longer known */
    struct json_object *before; /* the evidence that they follow; NULL if none was kept */
    int64_t begin_s;            /* of the first sample */
    struct judge_sample *samples;
    int n;
};

/* The answer to a check. */
struct past_check {
    int64_t at_s;
    const char *name;
    double value; /* of request-duration in seconds */
};

/* Times are seconds since the release began, as far as that is known. */
struct past {
    struct past *next;
    const char *canary; /* "test/podinfo"; "": unknown */
    const char *revision;
    const char *outcome; /* "promoted", "failed", "cancelled" */
    struct past_series *series;
    int n_series;
    struct past_check *checks; /* in the order of time */
    int n_checks;
    int64_t end_s;
    double requests; /* of the canary, if counted */
    struct json_object *json;
};

struct pasts {
    struct past *first, **last;
    int running; /* omitted because they have not ended */
};

void pasts_init(struct pasts *pasts);
/* One entry of a history; canary is the default for its own name. ERR_INVALID: the path in the
 * entry, and what was expected there. Borrows the entry; lives in the arena. */
enum err pasts_add(struct arena *arena, struct pasts *pasts, const char *canary,
                   struct json_object *entry, struct errinfo *ei) MUST_USE;
/* All releases of a Canary. */
enum err pasts_add_canary(struct arena *arena, struct pasts *pasts, struct json_object *canary,
                          struct errinfo *ei) MUST_USE;
/*
 * Reads a file, "-" for standard input: documents with `releases`, Canaries, or lists of those. An
 * error names the file and the line of the release.
 */
enum err pasts_add_file(struct arena *arena, struct pasts *pasts, const char *file,
                        struct errinfo *ei) MUST_USE;

/* The same for a text in memory. */
enum err pasts_parse(struct arena *arena, struct pasts *pasts, const char *file, const char *text,
                     size_t len, struct errinfo *ei) MUST_USE;

/* The metric's samples; NULL if none were kept. */
const struct past_series *past_series_of(const struct past *past, const char *name);

/* --- a policy under which past releases are replayed: spec.analysis of a Canary */

enum { POLICY_MAX_BYTES = 1024 * 1024 };

struct policy {
    const char *name; /* the file's, without folder and ending */
    const struct canary_analysis *analysis;
};

/*
 * Reads a Canary (its spec.analysis), `analysis: {...}`, or the fields below it: `judge` and
 * `metrics`. The metrics that the judge compares are required. ERR_INVALID: one sentence with file,
 * line and column. Lives in the arena.
 */
enum err policy_read(struct arena *arena, const char *file, struct policy *out,
                     struct errinfo *ei) MUST_USE;
/* The same for a text in memory. */
enum err policy_parse(struct arena *arena, const char *file, const char *text, size_t len,
                      struct policy *out, struct errinfo *ei) MUST_USE;

/* --- the replay */

enum replay_end {
    REPLAY_UNKNOWN, /* data that the policy needs was not kept */
    REPLAY_UNDER_WAY,
    REPLAY_PROMOTED,
    REPLAY_ROLLED_BACK,
};

struct replay {
    enum replay_end end;
    int64_t at_s;     /* as of struct past */
    double requests;  /* of the canary until then */
    const char *why;  /* "" if there is nothing to say */
    const char *note; /* the part of the policy that was left out; NULL if none */
};

/* "promoted" and so on, for programs. */
const char *replay_end_name(enum replay_end end);
/* Texts live in the arena. */
struct replay replay_run(struct arena *arena, const struct past *past, const struct policy *policy);

#endif
