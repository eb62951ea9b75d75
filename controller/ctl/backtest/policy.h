/* A policy that past releases are replayed under: what stands in spec.analysis of a Canary. */
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
 * Reads a Canary, of which spec.analysis counts, `analysis: {...}`, or what stands below it: `judge`
 * and `metrics`. The metrics that a judge compares must stand there too. ERR_INVALID: one sentence
 * with file, line and column. Lives in the arena.
 */
enum err policy_read(struct arena *arena, const char *file, struct policy *out,
                     struct errinfo *ei) MUST_USE;
/* The same of a text that was read already. */
enum err policy_parse(struct arena *arena, const char *file, const char *text, size_t len,
                      struct policy *out, struct errinfo *ei) MUST_USE;

#endif
