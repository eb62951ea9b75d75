/*
 * A table for people, as kubectl prints one: a head, and columns as wide as they need. Where the
 * terminal is narrower, columns are left out, those that matter least first, and then the widest
 * is cut.
 *
 *     struct columns *columns = columns_new(ctl, (struct columns_head[]){{"NAME"}, {"AGE", 2}, {0}});
 *     columns_put(columns, PRINT_PLAIN, "podinfo");
 *     columns_put(columns, PRINT_DIM, "5m");
 *     columns_print(columns, NULL);
 */
#ifndef CTL_COLUMNS_H
#define CTL_COLUMNS_H

#include "ctl/print.h"

struct columns_head {
    const char *text; /* NULL ends the heads */
    int spare;        /* 0: never left out; of the others the greatest goes first */
};

struct columns;
/* The heads are copied, not their texts. */
struct columns *columns_new(const struct ctl *ctl, const struct columns_head *heads);
/* The next cell, row by row; it is cleaned. NULL is "". */
void columns_put(struct columns *columns, enum print_color color, const char *text);
/* Each line stands behind the indent; NULL: "" and with a line of heads. */
void columns_print(struct columns *columns, const char *indent);

#endif
