/* A policy under which past releases are replayed: spec.analysis of a Canary. */
#ifndef BACKTEST_POLICY_H
#define BACKTEST_POLICY_H

#include "base/err.h"
#include "proto/canary.h"

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

#endif
