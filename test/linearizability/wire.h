/* A step of the model as an HTTP request to a gate, and the answer back in words of the model. All
 * gates are those of Canaries in the namespace `linear`. */
#ifndef LINEAR_WIRE_H
#define LINEAR_WIRE_H

#include <stdint.h>

#include "base/arena.h"
#include "linearizability/history.h"
#include "net/client.h"

/* Names of the model's small numbers, in histories and on the wire. 0 is "-": every one. */
extern const char *const wire_hooks[MODEL_HOOKS];
extern const char *const wire_revisions[MODEL_REVISIONS];
extern const char *const wire_people[MODEL_PEOPLE];
extern const char *const wire_asks[];

/*
 * Path and body, owned by the arena. id goes into the reason of a change; NULL: it is asked for as
 * Flagger's users do (/gate/open), which has no reason, and answers nothing but that it was done.
 */
const char *wire_path(struct arena *arena, const struct step *step, const char *gate,
                      const char *id);
const char *wire_body(struct arena *arena, const struct step *step, const char *gate,
                      const char *id);

struct wire_answer {
    enum outcome outcome;
    struct answer said;
    int64_t seq; /* -1: not told */
    bool wrong;  /* no gate should answer so, whatever goes on */
};
struct wire_answer wire_read(struct arena *arena, const struct step *step,
                             const struct http_result *result);

#endif
