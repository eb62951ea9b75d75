/*
 * Pages behind a signed link, as HTML: its change with one button, the result, or the reason of a
 * refusal. Pure. No script and no external resources; strings from a link or a database are escaped
 * and isolated, so that they cannot change the writing direction of other text.
 */
#ifndef GATE_LINK_PAGE_H
#define GATE_LINK_PAGE_H

#include "gate/links/link.h"

/* The answer of the database (flagger_gate_link of schema.sql) for link_page_done(). */
struct link_result {
    bool changed, open;
    int64_t votes, quorum;
};

/* All owned by the arena. The form posts to the address of the page. */
const char *link_page_confirm(struct arena *arena, const struct link *link);
const char *link_page_done(struct arena *arena, const struct link *link,
                           const struct link_result *result);
/* sentence: reason of the refusal. */
const char *link_page_refused(struct arena *arena, const char *sentence);

/* Security headers of the pages; the last row has no name. */
struct link_page_header {
    const char *name, *value;
};
extern const struct link_page_header link_page_headers[];

#endif
