/*
 * The last events of this process, for people who look at the release page: in memory only, so that
 * nobody has to ask the API server for them. An event that is told again is counted. At most
 * TOLD_OF_ONE of one Canary and TOLD_MAX in all, the oldest goes; who says much pushes out nobody
 * else's before his own.
 */
#ifndef ENGINE_TOLD_H
#define ENGINE_TOLD_H

#include "base/json.h"

enum { TOLD_MAX = 1024, TOLD_OF_ONE = 20, TOLD_TEXT = 300 };

struct told;
struct told *told_new(void);
void told_free(struct told *told); /* NULL is allowed */
/* type: Normal or Warning; now_ms: wall clock. Copied; the text is cut. told NULL: nothing. */
void told_add(struct told *told, const char *namespace_, const char *name, const char *type,
              const char *text, int64_t now_ms);
/* [{"at", "type", "text", "count"}], newest first, owned by the arena. */
struct json_object *told_list(const struct told *told, struct arena *arena, const char *namespace_,
                              const char *name);

#endif
