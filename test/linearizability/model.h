/*
 * What a gate must do, one request at a time: the sequential rules that a history of many replicas
 * and clients is held against (order.h). Nothing here knows of time, processes or SQL.
 *
 * A gate is a set of passes, each for a hook (0: every hook) and a revision (0: every revision),
 * and, under a quorum, of votes for passes that are not given yet. Hooks, revisions and people are
 * small numbers: the whole state is one word, so that states can be compared and kept by millions.
 */
#ifndef LINEAR_MODEL_H
#define LINEAR_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_HOOKS = 3, MODEL_REVISIONS = 3, MODEL_PEOPLE = 5 };

enum ask { ASK_CHECK, ASK_OPEN, ASK_CLOSE };

/* What is asked. A check has the hook and the revision of what waits; a close has no revision. */
struct step {
    enum ask ask;
    int hook, revision; /* 0: every; below MODEL_HOOKS, MODEL_REVISIONS */
    int person;         /* 0: nobody knows; below MODEL_PEOPLE */
};

/* What was answered; NOT_TOLD fits everything. To close one hook is refused (409) while there is a
 * pass for every hook. */
enum said { SAID_NO, SAID_YES, SAID_REFUSED, NOT_TOLD };
struct answer {
    enum said changed; /* of an open or a close: the gate's state, votes included */
    enum said open;    /* whether it lets through */
};

struct rules {
    int quorum; /* 1: whoever opens, opens */
};

typedef uint64_t model_state;
enum { MODEL_CLOSED = 0 };

/* The state after step. False, and the state as it was: the answer is not one the rules allow. */
bool model_apply(const struct rules *rules, const struct step *step, const struct answer *answer,
                 model_state *state);
/* "open for hook 0 revision 1, votes for hook 1 revision 0 (2)" or "closed", in len bytes. */
void model_describe(model_state state, char *text, unsigned long len);

#endif
