/*
 * The keys of signed links: a file, mounted from a Secret, with one key a line. The first signs,
 * all verify: to rotate, put the new key first, and take the old one away once its links have
 * expired. A key has 32 to 1,024 characters; blanks around it do not count, empty lines and lines
 * that begin with '#' are skipped. The file is read again when it changes; one that has become
 * unreadable or wrong is logged and leaves the keys that were known.
 */
#ifndef GATE_LINK_KEYS_H
#define GATE_LINK_KEYS_H

#include "gate/links/link.h"
#include "net/loop.h"

enum { LINK_KEYS_MAX = 16, LINK_KEY_MAX_LENGTH = 1024 };

struct link_keys;

/* ERR_INVALID when there is no key in it or one that is too short, with file and line. */
enum err link_keys_new(struct loop *loop, const char *path, struct link_keys **out,
                       struct errinfo *ei) MUST_USE;
/* Stops watching the file; before the loop can end. The keys stay known. */
void link_keys_stop(struct link_keys *keys);
void link_keys_free(struct link_keys *keys); /* NULL is allowed */

/* At least one. Borrowed until the loop turns. */
const struct link_key *link_keys_list(const struct link_keys *keys, int *count);

/* Looks at the file now; for tests. */
void link_keys_look(struct link_keys *keys);

#endif
