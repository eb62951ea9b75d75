/* Releases that have ended, as the history of a Canary or a file of counts has them. */
#ifndef BACKTEST_PAST_H
#define BACKTEST_PAST_H

#include "base/json.h"
#include "judge/series.h"

enum {
    PAST_MAX_LOOKS = 10000,            /* of a metric of a release */
    PAST_MAX_STEPS = 1000,             /* of a release */
    PAST_MAX_CHECKS = 100,             /* of a step */
    PAST_MAX_BYTES = 64 * 1024 * 1024, /* of a file */
};

/* The looks at one judged metric. */
struct past_series {
    const char *name;
    const char *bad; /* what a bad request was; NULL: nobody knows any more */
    int64_t begin_s; /* of the first look */
    struct judge_sample *samples;
    int n;
};

/* What a check was answered. */
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
    double requests; /* of the canary, as far as they were counted */
    struct json_object *json;
};

struct pasts {
    struct past *first, **last;
    int running; /* were left out, for they have not ended */
};

void pasts_init(struct pasts *pasts);
/* One entry of a history; canary is used where it does not say its own. ERR_INVALID: the place in
 * the entry, and what was expected there. Borrows the entry; lives in the arena. */
enum err pasts_add(struct arena *arena, struct pasts *pasts, const char *canary,
                   struct json_object *entry, struct errinfo *ei) MUST_USE;
/* All releases of a Canary. */
enum err pasts_add_canary(struct arena *arena, struct pasts *pasts, struct json_object *canary,
                          struct errinfo *ei) MUST_USE;
/*
 * Of a file, "-" is the standard input: documents with `releases`, Canaries, or lists of those. An
 * error names the file, and the line of the release.
 */
enum err pasts_add_file(struct arena *arena, struct pasts *pasts, const char *file,
                        struct errinfo *ei) MUST_USE;

/* The same of a text that was read already. */
enum err pasts_parse(struct arena *arena, struct pasts *pasts, const char *file, const char *text,
                     size_t len, struct errinfo *ei) MUST_USE;

/* The metric's looks; NULL: none were kept. */
const struct past_series *past_series_of(const struct past *past, const char *name);

#endif
