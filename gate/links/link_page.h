/*
 * The pages behind a signed link, as HTML: what it will do and one button, what it has done, or why
 * it does nothing. Pure. No script and nothing from elsewhere; everything that comes from a link or
 * a database is escaped, and set apart so that it cannot turn the writing direction of the rest.
 */
#ifndef GATE_LINK_PAGE_H
#define GATE_LINK_PAGE_H

#include "gate/links/link.h"

/* What link_page_done() tells: the answer of the database (flagger_gate_link of schema.sql). */
struct link_result {
    bool changed, open;
    int64_t votes, quorum;
};

/* All owned by the arena. The form posts to the address of the page itself. */
const char *link_page_confirm(struct arena *arena, const struct link *link);
const char *link_page_done(struct arena *arena, const struct link *link,
                           const struct link_result *result);
/* sentence: why nothing happened. */
const char *link_page_refused(struct arena *arena, const char *sentence);

/* What makes the pages harmless; ends with a row without name. */
struct link_page_header {
    const char *name, *value;
};
extern const struct link_page_header link_page_headers[];

#endif
