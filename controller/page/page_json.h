/* Canaries as JSON for the release page, from the watches. Owned by the arena. */
#ifndef PAGE_PAGE_JSON_H
#define PAGE_PAGE_JSON_H

#include "base/err.h"
#include "base/json.h"
#include "engine/engine.h"
#include "proto/canary.h"
#include "tick/tick.h"

/*
 * Public addresses of the servers that the controller queries by cluster addresses; NULL if
 * unknown. Without a trailing slash.
 */
struct show_links {
    const char *prometheus, *grafana;
};
/*
 * From an option; "" and NULL if unknown. ERR_INVALID if it is no address that a browser opens.
 * Owned by the arena.
 */
enum err show_link_read(struct arena *arena, const char *option, const char *text, const char **out,
                        struct errinfo *ei) MUST_USE;

/*
 * {"canaries": [...], "continue": "namespace/name"}: at most `limit` Canaries after `after` (NULL:
 * from the first), in order of discovery, fewer if reading takes long; continue only if there are
 * more. NULL if `after` is gone.
 */
struct json_object *show_list(const struct engine *engine, struct arena *arena, const char *after,
                              int limit);
/* All details of one; NULL if there is none. */
struct json_object *show_one(const struct engine *engine, const struct settings *settings,
                             const struct show_links *links, struct arena *arena,
                             const char *namespace_, const char *name);

#endif
