/*
 * The Secrets that webhooks take headers and certificates from: read when one is first needed, and
 * again only when the watch, which carries metadata only, says that its version is another. The
 * last SECRETS_MAX are kept.
 */
#ifndef ENGINE_SECRETS_H
#define ENGINE_SECRETS_H

#include "engine/read_one.h"

enum { SECRETS_MAX = 64 };

struct secrets;
struct secrets *secrets_new(struct engine_context *context);
void secrets_free(struct secrets *secrets); /* no read may be under way */

/* True: it is known as it is now; *tree is the Secret, borrowed until the next call, or NULL when
 * there is none. False: read it with secrets_read(). */
bool secrets_look(struct secrets *secrets, const char *namespace_, const char *name,
                  struct json_object **tree);

/* One of those that are kept: its changes are of interest. */
bool secrets_keep(const struct secrets *secrets, const char *namespace_, const char *name);

/* Reads it and keeps it. done as of read_one_start(). */
struct secret_read;
struct secret_read *secrets_read(struct secrets *secrets, const char *namespace_, const char *name,
                                 read_done_fn done, void *arg);
void secret_read_free(struct secret_read *read); /* NULL is allowed */

#endif
