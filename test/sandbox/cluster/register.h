/* The text of a registration: "NAME.NS=ADDRESS:PORT" or "NAME.NS:PORT=ADDRESS:PORT". Pure. */
#ifndef CLUSTER_REGISTER_H
#define CLUSTER_REGISTER_H

#include "base/arena.h"
#include "base/err.h"

struct registration {
    const char *name, *ns, *address;
    int port;    /* that clients use, 80 if not given */
    int to_port; /* that the daemon listens on */
};

/* Texts live in the arena. ERR_INVALID says what was expected. */
enum err register_parse(struct arena *arena, const char *text, struct registration *out,
                        struct errinfo *ei) MUST_USE;

#endif
