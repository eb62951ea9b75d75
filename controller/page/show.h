/* Canaries as the release page has them: JSON made from what the watches have brought. Owned by the
 * arena. */
#ifndef PAGE_SHOW_H
#define PAGE_SHOW_H

#include "base/json.h"
#include "engine/engine.h"
#include "page/show_query.h"

/*
 * {"canaries": [...], "continue": "namespace/name"}: at most `limit` after the Canary `after`
 * (NULL: from the first), in the order in which they were found, and fewer where they take long to
 * read; continue only where there are more. NULL: `after` is gone.
 */
struct json_object *show_list(const struct engine *engine, struct arena *arena, const char *after,
                              int limit);
/* All that the page says of one; NULL: there is none. */
struct json_object *show_one(const struct engine *engine, const struct settings *settings,
                             const struct show_links *links, struct arena *arena,
                             const char *namespace_, const char *name);

#endif
