/*
 * What the last plan of a Canary was, as text, for those who look into the process. Only the
 * PLANS_KEPT Canaries that acted last are remembered, PLANS_TEXT bytes of each: a cluster of a
 * hundred thousand idle Canaries costs nothing more, and one that works at most a few MB.
 */
#ifndef ENGINE_PLANS_H
#define ENGINE_PLANS_H

#include <stddef.h>
#include <stdint.h>

enum { PLANS_KEPT = 1024, PLANS_TEXT = 1024 };

struct plans;
struct plans *plans_new(void);
void plans_free(struct plans *plans);

/* In place of the Canary's last one. Copied, and cut after PLANS_TEXT bytes. */
void plans_keep(struct plans *plans, const char *namespace_, const char *name, const char *text,
                int64_t now_ms);
void plans_forget(struct plans *plans, const char *namespace_, const char *name);
/* NULL: none is remembered. Borrowed; *at_ms is what plans_keep() was given. */
const char *plans_find(const struct plans *plans, const char *namespace_, const char *name,
                       int64_t *at_ms);
size_t plans_count(const struct plans *plans);
size_t plans_bytes(const struct plans *plans); /* of their texts */

#endif
