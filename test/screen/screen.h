/* The live table: one line a change, and on a terminal the present line kept up to date. */
#ifndef STORY_SCREEN_H
#define STORY_SCREEN_H

#include "screen/observe.h"
#include "screen/traffic.h"

struct screen {
    const struct observe *observe;
    const struct traffic *traffic;
    const char *version; /* that is being released; NULL if none */
    int64_t began_ms;    /* monotonic */
    bool terminal;       /* colours, and the present line is rewritten */
    bool open_line;      /* the present line has no end yet */
};

/* A heading between releases. */
void screen_title(struct screen *screen, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A remark in the table, e.g. what a person does. */
void screen_note(struct screen *screen, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Something changed: the line as it is now becomes history. */
void screen_step(struct screen *screen);
/* Rewrites the present line; nothing when this is no terminal. */
void screen_refresh(struct screen *screen);

#endif
