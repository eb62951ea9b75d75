/*
 * Is a gate's history linearizable: is there one order of its operations, each at one moment
 * between its beginning and its end, in which every answer is the one that the rules (model.h)
 * give? Then clients of many replicas saw nothing but one gate. It follows, among others, that no
 * check that began after a close had answered said open unless an open lies between or overlaps,
 * that no answered open was forgotten, and that no quorum was reached by less people than it takes.
 *
 * An operation of unknown outcome may be in that order once, anywhere between its beginning and the
 * next barrier, or not at all.
 *
 * The method is that of Wing and Gong with Lowe's just-in-time rule: the events are walked in the
 * order of time, with the set of all explanations so far (a state, and which of the operations
 * under way have already had their moment); an operation gets its moment no earlier than some
 * answer needs it. Explanations that can do no more than another one are dropped. The walk is
 * complete: if it finds no explanation, there is none.
 *
 * A numbered gate (rows.h) must be explained by one order only: its changes had their moments in
 * the order that its own history in the database says. That is a stronger claim, as nothing is of
 * unknown outcome then.
 */
#ifndef LINEAR_ORDER_H
#define LINEAR_ORDER_H

#include <stdio.h>

#include "linearizability/history.h"

struct order_result {
    size_t violations; /* answers that no order explains */
    size_t gave_up;    /* answers before which there were too many explanations to follow */
    size_t widest;     /* most explanations at once */
};

/* The first ten violations are told on out, with what was under way. */
struct order_result order_check(const struct gate *gate, const int64_t *barriers, size_t n_barriers,
                                FILE *out);

#endif
