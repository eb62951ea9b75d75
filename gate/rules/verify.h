/*
 * `flagger-gate verify`: whether the history in the database is the one that was written, and
 * whether the gates are as it says.
 *
 * Everything is read in one transaction that changes nothing, row by row, beside gates that serve.
 * Every hash is made anew here. What somebody can still do who may write to the database directly:
 * add an entry as the gate would, or rewrite the whole end of the history; an earlier run's `head`,
 * kept elsewhere, proves that the latter was not done (--expect).
 */
#ifndef GATE_VERIFY_H
#define GATE_VERIFY_H

enum verify_status { VERIFY_WHOLE, VERIFY_TAMPERED, VERIFY_UNREAD };

/* argv[0] is "verify". Prints, and returns the exit status: an enum verify_status. */
int verify_main(int argc, char **argv);

#endif
