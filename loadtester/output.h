/*
 * Output of a task: the first OUTPUT_HEAD bytes and the last OUTPUT_TAIL, since tools print their
 * settings first and results last. Embedded by its owner.
 */
#ifndef LOADTESTER_OUTPUT_H
#define LOADTESTER_OUTPUT_H

#include <stddef.h>

#include "base/arena.h"

enum { OUTPUT_HEAD = 16 * 1024, OUTPUT_TAIL = 48 * 1024 };

struct output {
    char *head, *tail; /* tail is a ring; both are allocated on first use */
    size_t head_len, tail_len, tail_end;
    size_t total; /* all bytes received */
};

void output_add(struct output *output, const char *data, size_t len);
/* All that is kept, with a line that counts the omitted bytes; not necessarily valid UTF-8. Owned
 * by the arena. */
const char *output_text(const struct output *output, struct arena *arena);
/* The last `max` bytes kept, from the start of a line if possible. */
const char *output_tail(const struct output *output, struct arena *arena, size_t max);
void output_fini(struct output *output);

#endif
