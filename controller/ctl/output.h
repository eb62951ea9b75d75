/*
 * Output. For users: colours only on a terminal, lines that fit it, and no control characters,
 * since names and messages may come from anywhere. For programs: JSON, YAML, names.
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

/* One line without control characters and directional marks, owned by the arena; NULL is "". */
const char *print_clean(struct arena *arena, const char *text);
/* Number of columns that it takes: its characters. It must not contain colours. */
int print_width(const char *text);
/* The text, cut to this number of columns with "…" at its end. */
const char *print_cut(struct arena *arena, const char *text, int width);
/* Prints words, wrapped at the terminal's width: the first line comes after `first`, the others
 * after as many blanks; everything is one line if there is no terminal. The text is cleaned. */
void print_wrapped(const struct ctl *ctl, const char *first, const char *text);

/* "3m20s", "5d": how long ago, in at most two units; "?" if it is not a time. Owned by the
 * arena. */
const char *print_age(struct arena *arena, const char *rfc3339, int64_t now_ms);
const char *print_span(struct arena *arena, int64_t ms);
/* "[#####-----]" with this number of cells between the brackets. Owned by the arena. */
const char *print_bar(struct arena *arena, int percent, int cells);

/* JSON with blanks and line ends, or YAML, depending on ctl->output. */
void print_object(const struct ctl *ctl, struct json_object *object);
/* "canary.flagger.app/NAME". */
void print_name(const struct ctl *ctl, const char *kind, const char *name);

/*
 * --- a table in kubectl's format; on a narrow terminal the least important columns are left out,
 * then the widest column is cut
 *
 *   struct columns *columns = columns_new(ctl, (struct columns_head[]){{"NAME"}, {"AGE", 2}, {0}});
 *   columns_put(columns, PRINT_PLAIN, "podinfo");
 *   columns_put(columns, PRINT_DIM, "5m");
 *   columns_print(columns, NULL);
 */

struct columns_head {
    const char *text; /* NULL ends the list */
    int spare;        /* 0: never left out; otherwise the highest is left out first */
};

struct columns;
/* The array of heads is copied, but not their texts. */
struct columns *columns_new(const struct ctl *ctl, const struct columns_head *heads);
/* Sets the next cell, row by row; it is cleaned. NULL is "". */
void columns_put(struct columns *columns, enum print_color color, const char *text);
/* Each line is preceded by the indent; NULL: "", and with a header line. */
void columns_print(struct columns *columns, const char *indent);

/*
 * --- a tree of lines with guides; a line that is too long is wrapped after its guide
 */

struct tree;
struct tree *tree_new(const struct ctl *ctl, const char *text);
/* Adds a line below another one, after those that are already there. "label   text": the texts
 * below one parent are aligned; label NULL if none. The color is the text's. Both are cleaned.
 * Returns the line, to add others below it. */
struct tree *tree_add(struct tree *parent, const char *label, enum print_color color,
                      const char *text);
void tree_print(const struct tree *tree);

/* --- YAML in kubectl's format: keys in order, lists not indented below their key; base/yaml.h
 * reads the same tree from it */

/* Ends with a line feed; owned by the arena. */
const char *yaml_print(struct arena *arena, struct json_object *object);

#endif
