/*
 * One round: a fresh stage, all apps under care, edits, a time of rest, and all put right again.
 * Alone in its process.
 */
#ifndef EDITS_ROUND_H
#define EDITS_ROUND_H

#include "random_edits/edit.h"
#include "random_edits/stage.h"

struct round_options {
    struct stage_options stage;
    uint64_t seed;
    int64_t edit_ms;            /* edits by chance for so long */
    const char *const *without; /* edits that are not chosen; NULL if none */
    const struct line *lines;   /* or these, of whose apps only there are any; NULL: by chance */
    size_t n_lines;
    /* Ends at the first violation of this kind, or when it has not come by this moment of a round;
     * NULL: goes on. */
    const char *kind;
    int moment;
    bool quiet; /* prints no line for each edit */
};

/*
 * What happened, owned by the arena: {"trouble": sentence, or absent when the stage held, "up":
 * whether there was a stage, which else "trouble" says, "edits", "refused", "requests", "allowed",
 * "failed", "machine", "lag_ms": numbers, "seen": {what: number}, "list": [line, ...] as they were made, "violations":
 * [{"app", "kind", "text", "edits", "moment"}]}.
 */
struct json_object *round_run(struct arena *arena, const struct round_options *options);

#endif
