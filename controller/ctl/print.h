/*
 * Text for people: colours that only a terminal gets, lines that fit it, and nothing in them that a
 * terminal would obey: names and messages come from whoever may write objects. Objects for
 * programs: JSON, YAML, names.
 */
#ifndef CTL_PRINT_H
#define CTL_PRINT_H

#include "base/json.h"
#include "ctl/ctl.h"

enum print_color { PRINT_PLAIN, PRINT_BOLD, PRINT_DIM, PRINT_GREEN, PRINT_YELLOW, PRINT_RED };

/* What switches the colour on, and off: "" without colours. */
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
/* Words, wrapped at the terminal's width: the first line stands behind `first`, the others behind as
 * many blanks as that is wide; one line where there is no terminal. It is cleaned. */
void print_wrapped(const struct ctl *ctl, const char *first, const char *text);

/* "3m20s", "5d": how long ago, in two units at most; "?" for what is no time. Owned by the arena. */
const char *print_age(struct arena *arena, const char *rfc3339, int64_t now_ms);
const char *print_span(struct arena *arena, int64_t ms);
/* "[#####-----]" with so many cells between the brackets. Owned by the arena. */
const char *print_bar(struct arena *arena, int percent, int cells);

/* JSON with blanks and line ends, or YAML, as ctl->output says. */
void print_object(const struct ctl *ctl, struct json_object *object);
/* "canary.flagger.app/NAME". */
void print_name(const struct ctl *ctl, const char *kind, const char *name);

#endif
