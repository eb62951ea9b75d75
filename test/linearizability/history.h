/*
 * A recorded history of what clients asked gates, as text: one line an operation, in any order.
 *
 *   BEGIN END OUTCOME GATE ACTION HOOK REVISION PERSON CHANGED OPEN SEQ ID
 *
 *   17 42 ok one open promote - ann yes yes 7 w1.55
 *
 * Times are nanoseconds of the monotonic clock: END is when the answer was there. OUTCOME is ok (it
 * was answered), failed (it certainly did nothing), or unknown: the connection was lost, or the
 * gate does not know itself; it may have happened, once, any time after BEGIN. ACTION is check,
 * open or close; HOOK and REVISION are "-" for every one; CHANGED and OPEN are yes, no or "-" when
 * the answer does not tell; SEQ is the number of the change in the gate's own history, or "-"; ID
 * is what it is called there, or "-".
 *
 *   rules GATE QUORUM
 *   barrier TIME
 *
 * At a barrier nothing was under way any more, also not in a gate or in the database: what was
 * unknown before has happened by then, or never will. Lines that begin with # are for people.
 */
#ifndef LINEAR_HISTORY_H
#define LINEAR_HISTORY_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "linearizability/model.h"

enum outcome { OUTCOME_OK, OUTCOME_FAILED, OUTCOME_UNKNOWN };

struct op {
    int64_t begin, end;
    enum outcome outcome;
    struct step step;
    struct answer answer;
    int64_t seq; /* -1: not told */
    size_t turn; /* numbered gates: which of the changes this is, from 1; 0: it changed nothing */
    const char *id, *who; /* "-" if not told */
    const char *line;     /* whole */
    size_t number;        /* of the line, from 1 */
};

struct gate {
    const char *name;
    struct rules rules;
    struct op *ops; /* by begin */
    size_t n_ops;
    /* Numbered gates (rows.h): the operations that changed it, in the order of the database's
     * history; no outcome is unknown then. */
    bool numbered;
    struct op **changes;
    size_t n_changes;
    size_t cap; /* private */
};

struct history {
    struct gate *gates;
    size_t n_gates;
    int64_t *barriers; /* ascending */
    size_t n_barriers;
    size_t n_ops, n_unknown;
};

/* ERR_INVALID names the line. Everything is owned by the arena; text is cut up, and must stay. */
enum err history_read(struct arena *arena, char *text, struct history *history,
                      struct errinfo *ei) MUST_USE;

#endif
