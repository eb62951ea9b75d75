/*
 * What is wrong with a history: sentences, of which the first few are printed and the others
 * counted.
 */
#ifndef GATE_FINDINGS_H
#define GATE_FINDINGS_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum { FINDINGS_SHOWN = 20, FINDINGS_WHERE = 512 };

struct findings {
    FILE *out;
    int64_t count;
};

/* One sentence, without a full stop. Control characters in it are shown as `?`. */
void findings_add(struct findings *findings, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* How many were not printed, if any. */
void findings_end(const struct findings *findings);

#endif
