/* The phases of a Canary, from phase.def. PHASE_NONE: the Canary has no status yet. */
#ifndef PROTO_PHASE_H
#define PROTO_PHASE_H

#include "base/arena.h"

enum phase {
    PHASE_NONE,
#define PHASE(name, promoted, message) PHASE_##name,
#include "proto/phase.def"
#undef PHASE
    PHASE_COUNT
};

/* "Progressing"; "" for PHASE_NONE. */
const char *phase_name(enum phase phase);
/* PHASE_NONE for NULL, "" and unknown text. */
enum phase phase_parse(const char *text);
/* Status of the condition Promoted in this phase: "True", "False" or "Unknown". */
const char *phase_promoted(enum phase phase);
/* The condition's message, including the target's kind if it mentions it; owned by the arena. */
const char *phase_message(enum phase phase, const char *kind, struct arena *arena);

#endif
