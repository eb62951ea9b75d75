/*
 * Namespaces of a member cluster that an Application or a ReleasePlan may act in: the namespace of
 * the same name; a namespace whose annotation below names the Application's namespace; and those
 * that an option of the fleet lists. Never the system's. Pure.
 */
#ifndef FLEET_GRANTS_H
#define FLEET_GRANTS_H

#include "base/err.h"
#include "base/json.h"

/* Names of namespaces of the management cluster, with commas between them. */
#define GRANTS_NOTE "flagger.app/applications"

struct grants {
    const char *const *pairs;  /* "FROM:IN", each a name or *; NULL-ended */
    const char *const *closed; /* beside kube-system and its like; NULL-ended */
};
/* All but those of the system. */
extern const struct grants grants_any;

/* The texts of two options: pairs and names with commas between them; NULL is none. ERR_INVALID is
 * one sentence that begins with what is wrong. *out borrows nothing but the arena. */
enum err grants_read(struct arena *arena, const char *pairs, const char *closed, struct grants *out,
                     struct errinfo *ei) MUST_USE;

/* True if the answer does not depend on the Namespace `in`. */
bool grants_is_settled(const struct grants *grants, const char *from, const char *in);
/* One sentence that begins with `field`; NULL if it may act there. namespace_: the object on the
 * member; NULL if there is none. */
const char *grants_refusal(struct arena *arena, const struct grants *grants, const char *field,
                           const char *from, const char *in, struct json_object *namespace_);
/* No option and no annotation opens it. */
bool grants_is_closed(const struct grants *grants, const char *in);

#endif
