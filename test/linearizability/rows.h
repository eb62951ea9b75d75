/*
 * What the database's own history says about the operations that clients recorded: each change that
 * was answered is there, exactly once and under the right name; nothing is there that nobody asked
 * for or that certainly failed; and what was of unknown outcome has happened if it is there, and
 * has not if it is not.
 *
 * The rows come as text, by seq, one a line:
 *
 *   SEQ GATE ACTION WHO ID
 *
 * ACTION is open, approve (one vote under a quorum; the last one is followed by an open of the same
 * ID), close or policy; ID is the reason the change was asked with.
 */
#ifndef LINEAR_ROWS_H
#define LINEAR_ROWS_H

#include <stdio.h>

#include "linearizability/history.h"

/*
 * Resolves what was unknown, and numbers the gates. Returns the number of disagreements, told on
 * out; *n_rows is how many rows there were. A gate whose changes have no ids stays as it was. text
 * is cut up, and must stay.
 */
size_t rows_join(struct arena *arena, char *text, struct history *history, size_t *n_rows,
                 FILE *out);

#endif
