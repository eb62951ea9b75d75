/*
 * Output. For people: colours on a terminal only, lines that fit it, and no control characters,
 * since names and messages are written by others. For programs: JSON, YAML, names.
 */
#ifndef CTL_OUTPUT_H
#define CTL_OUTPUT_H

#include "base/json.h"
#include "ctl/ctl.h"

enum print_color { PRINT_PLAIN, PRINT_BOLD, PRINT_DIM, PRINT_GREEN, PRINT_YELLOW, PRINT_RED };

/* The sequences that switch the colour on and off; "" without colours. */
const char *print_on(const struct ctl *ctl, enum print_color color);
const char *print_off(const struct ctl *ctl, enum print_color color);
/* The text in this colour, owned by the arena. */
const char *print_in(const struct ctl *ctl, enum print_color color, const char *text);

/* One line without control characters and marks of direction, owned by the arena; NULL is "". */
const char *print_clean(struct arena *arena, const char *text);
/* How many columns it takes: its characters. It must hold no colours. */
int print_width(const char *text);
/* The text, cut to so many columns with "…" at its end. */
const char *print_cut(struct arena *arena, const char *text, int width);
/* Words, wrapped at the terminal's width: the first line stands behind `first`, the others behind
 * as many blanks as that is wide; one line where there is no terminal. It is cleaned. */
void print_wrapped(const struct ctl *ctl, const char *first, const char *text);

/* "3m20s", "5d": how long ago, in two units at most; "?" for what is no time. Owned by the arena.
 */
const char *print_age(struct arena *arena, const char *rfc3339, int64_t now_ms);
const char *print_span(struct arena *arena, int64_t ms);
/* "[#####-----]" with so many cells between the brackets. Owned by the arena. */
const char *print_bar(struct arena *arena, int percent, int cells);

/* JSON with blanks and line ends, or YAML, as ctl->output says. */
void print_object(const struct ctl *ctl, struct json_object *object);
/* "canary.flagger.app/NAME". */
void print_name(const struct ctl *ctl, const char *kind, const char *name);

/*
 * --- a table as kubectl prints one; on a narrow terminal the least important columns are left out,
 * then the widest is cut
 *
 *   struct columns *columns = columns_new(ctl, (struct columns_head[]){{"NAME"}, {"AGE", 2}, {0}});
 *   columns_put(columns, PRINT_PLAIN, "podinfo");
 *   columns_put(columns, PRINT_DIM, "5m");
 *   columns_print(columns, NULL);
 */

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

/*
 * --- a tree of lines with guides; a line that is too long is wrapped behind its guide
 */

struct tree;
struct tree *tree_new(const struct ctl *ctl, const char *text);
/* A line below another one, behind those that are there. "label   text": labels below one parent
 * stand in a column; label NULL if none. The color is the text's. Both are cleaned. Returns the
 * line, to put others below it. */
struct tree *tree_add(struct tree *parent, const char *label, enum print_color color,
                      const char *text);
void tree_print(const struct tree *tree);

/* --- YAML as kubectl prints it: keys in order, lists not indented below their key; base/yaml.h
 * reads it back as the same tree */

/* Ends with a line feed; owned by the arena. */
const char *yaml_print(struct arena *arena, struct json_object *object);

#endif
