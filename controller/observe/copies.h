/* Objects as plans leave them: what the rules want done is done on copies, and the tick knows them
 * from then on. Pure. */
#ifndef OBSERVE_COPIES_H
#define OBSERVE_COPIES_H

#include "tick/tick.h"

struct copy {
    struct copy *next;
    const struct kube_resource *resource;
    const char *namespace_, *name;
    struct json_object *base,
        *now; /* as it was read, and as it would be; NULL: it does not exist */
};

/* All of it lives in the arena. */
struct copies {
    struct arena *arena;
    struct json_object *canary; /* the Canary, as the plans leave it */
    struct copy *first;
};

/* NULL: nobody has written or put it. */
struct copy *copies_find(const struct copies *copies, const struct kube_resource *resource,
                         const char *namespace_, const char *name);
/* The object is so from now on; NULL: it does not exist. */
void copies_put(struct copies *copies, const struct kube_resource *resource, const char *namespace_,
                const char *name, struct json_object *object);
/* Does what the tick's plan says. True: something was written. */
bool copies_carry_out(struct copies *copies, struct tick *tick);

#endif
