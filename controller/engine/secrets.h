/*
 * Cache of the Secrets from which webhooks take headers and certificates: read when first needed,
 * and again only when the watch, which carries metadata only, shows another version. Holds the
 * last SECRETS_MAX.
 */
#ifndef ENGINE_SECRETS_H
#define ENGINE_SECRETS_H

#include "engine/cache.h"

enum { SECRETS_MAX = 64 };

struct secrets;
struct secrets *secrets_new(struct engine_context *context);
void secrets_free(struct secrets *secrets); /* no read may be under way */

/*
 * True if current: *tree is the Secret, borrowed until the next call, or NULL if it does not
 * exist. False: call secrets_read().
 */
bool secrets_cached(struct secrets *secrets, const char *namespace_, const char *name,
                    struct json_object **tree);

/* True if the Secret is cached: its changes are of interest. */
bool secrets_keep(const struct secrets *secrets, const char *namespace_, const char *name);

/* Reads and caches it. done: as for object_read_start(). */
struct secret_read;
struct secret_read *secrets_read(struct secrets *secrets, const char *namespace_, const char *name,
                                 read_done_fn done, void *arg);
void secret_read_free(struct secret_read *read); /* NULL is allowed */

#endif
