/*
 * The keys of signed links: a file, mounted from a Secret, with one key a line. The first signs,
 * all verify: to rotate, put the new key first, and remove the old one when its links have expired.
 * A key has 32 to 1,024 characters; surrounding blanks are ignored, empty lines and lines that
 * begin with '#' are skipped. The file is read again when it changes; if it has become unreadable
 * or invalid, this is logged and the old keys are kept.
 */
#ifndef GATE_LINK_KEYS_H
#define GATE_LINK_KEYS_H

#include "gate/links/link.h"
#include "net/loop.h"

enum { LINK_KEYS_MAX = 16, LINK_KEY_MAX_LENGTH = 1024 };

struct link_keys;

/* ERR_INVALID with file and line if there is no key, or one that is too short. */
enum err link_keys_new(struct loop *loop, const char *path, struct link_keys **out,
                       struct errinfo *ei) MUST_USE;
/* Stops watching the file; required before the loop can end. The keys are kept. */
void link_keys_stop(struct link_keys *keys);
void link_keys_free(struct link_keys *keys); /* NULL is allowed */

/* At least one. Borrowed until the next loop iteration. */
const struct link_key *link_keys_list(const struct link_keys *keys, int *count);

/* Reads the file now; for tests. */
void link_keys_poll(struct link_keys *keys);

#endif
