/* An Application as it was last read; counted, so that a run keeps what it has begun with. */
#ifndef MEMBERS_VIEW_H
#define MEMBERS_VIEW_H

#include "proto/application.h"

struct view {
    int uses;
    struct arena *arena;
    struct application app;
};

/* ERR_INVALID: it cannot be read, and info says where. *out has one use. The tree is copied. */
enum err view_new(struct json_object *tree, struct view **out, struct errinfo *ei) MUST_USE;
void view_drop(struct view *view); /* NULL is allowed */

#endif
