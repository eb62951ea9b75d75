/*
 * The other controllers that Canaries of ours are driven by, as their status says
 * (decide/act/driver.h), and whether they live. The lease of each is looked at as long as some
 * Canary holds it, once for all of them.
 */
#ifndef ENGINE_OTHERS_H
#define ENGINE_OTHERS_H

#include "engine/context.h"

/* Annotations of a lease: what part of the cluster its controller looks after. */
#define OTHERS_NAMESPACES "flagger.app/namespaces"
#define OTHERS_SELECTOR   "flagger.app/watch-selector"

struct others;
struct other;

/* seen: after each look at a lease, from the loop; changed: what is known of it is other than
 * before. */
struct others *others_new(struct engine_context *context,
                          void (*seen)(void *arg, const struct other *other, bool changed),
                          void *arg);
void others_free(struct others *others); /* all have been let go */

/* lease: "NAMESPACE/NAME". NULL: it is no such text, and no controller has it. */
struct other *others_hold(struct others *others, const char *lease);
void others_let_go(struct others *others, struct other *other); /* NULL is allowed */

const char *other_lease(const struct other *other);
/* Whether it looks after a Canary of that namespace with these labels, as far as is known. */
bool other_covers(const struct other *other, const char *namespace_, struct json_object *labels);
/* One more Canary is left to it, or with -1 one less. */
void other_left(struct other *other, int delta);
const char *other_trouble(const struct other *other);
enum other_state other_state(const struct other *other);
/* The number of the next look; whether that one has been answered. */
int64_t other_next_look(const struct other *other);
bool other_was_looked_at(const struct other *other, int64_t look);

#endif
