/*
 * A tree of lines for people, with guides: what belongs to what. A line is wrapped where the
 * terminal is narrower, behind its guide.
 */
#ifndef CTL_TREE_H
#define CTL_TREE_H

#include "ctl/print.h"

struct tree;
struct tree *tree_new(const struct ctl *ctl, const char *text);
/* A line below another one, behind those that are there. "label   text": labels below one parent
 * stand in a column; label NULL: none. The color is the text's. Both are cleaned. Returns the line, to
 * put others below it. */
struct tree *tree_add(struct tree *parent, const char *label, enum print_color color,
                      const char *text);
void tree_print(const struct tree *tree);

#endif
