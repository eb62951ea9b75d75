/*
 * `flagger-gate verify`: checks that the history in the database was not changed, and that the
 * gates follow from it.
 *
 * Everything is read in one transaction that changes nothing, row by row, beside gates that serve.
 * Every hash is computed here. Not detected is a new entry by a writer with direct access to the
 * database, nor a rewrite of the whole end of the history; the `head` of an earlier run, kept
 * elsewhere, rules out the latter (--expect).
 */
#ifndef GATE_VERIFY_H
#define GATE_VERIFY_H

enum verify_status { VERIFY_WHOLE, VERIFY_TAMPERED, VERIFY_UNREAD };

/* argv[0] is "verify". Prints, and returns the exit status: an enum verify_status. */
int verify_main(int argc, char **argv);

#endif
