/* One Canary with all that belongs to it, for people. */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include "ctl/facts.h"

/* As a tree on ctl->out. waits: why it stands, one sentence; NULL: it does not. */
void show_tree(const struct ctl *ctl, const struct facts *facts, const char *waits);
/* The same for programs, owned by the arena: names, numbers and sentences, of each part what the
 * tree shows. */
struct json_object *show_data(const struct ctl *ctl, const struct facts *facts);

#endif
