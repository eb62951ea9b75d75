/* Ended releases, from the history of a Canary or a file of counts. */
#ifndef BACKTEST_PAST_H
#define BACKTEST_PAST_H

#include "base/json.h"
#include "judge/judge.h"

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

#endif
