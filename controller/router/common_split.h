/*
 * Where a route says how requests are split. All meshes have it alike: rules, each with backends
 * that have a name and a weight; only the keys differ. Read here, for every router; objects are
 * borrowed.
 */
#ifndef ROUTER_COMMON_SPLIT_H
#define ROUTER_COMMON_SPLIT_H

#include "router/router.h"

enum { SPLIT_KEYS = 4 };

struct split_format {
    /* Keys that lead to the list of rules, or to the only rule; "0" is the first of a list. */
    const char *rules[SPLIT_KEYS];
    const char *backends[SPLIT_KEYS]; /* ... from a rule to its list of backends */
    const char *name[SPLIT_KEYS];     /* ... from a backend to its name */
    int missing;                      /* what a backend without a weight has */
    bool
        first; /* the split is the first rule with both sides, not the last, and the last one is for
                 * everybody else */
    bool may_leave_out; /* a rule whose only backend is the primary gives the canary nothing */
    bool leaves_either; /* ... and one whose only backend is the canary gives it everything */
};

/* The names of the two backends. One that ends in '*' stands for all that begin so: the name of some
 * meshes has a port at its end, which the spec may have changed. */
struct split_sides {
    const char *primary, *canary;
};
/* The text is such a name. */
bool split_is_name(const char *name, const char *text);

/* The rules of a live route, NULL where there is none. */
struct split {
    struct json_object *sticky[2]; /* those before the split */
    struct json_object *split;     /* has both sides as backends */
    struct json_object *rest;      /* of an A/B test: everybody else */
    struct json_object *primary;   /* the backends of the split */
    struct json_object *canary;
};

/* What a route (may be NULL) splits. */
struct split split_find(const struct split_format *format, const struct split_sides *sides,
                        struct json_object *route);
/* The first backend of a rule that has this name, NULL if none has. */
struct json_object *split_backend(const struct split_format *format, struct json_object *rule,
                                  const char *name);
/* Route `from` with each backend of `to` that it has none of the name of, as a further one of its first
 * rule, without a share; NULL: there is none to add, or nothing to which to add it. */
struct json_object *split_introduced(struct arena *arena, const struct split_format *format,
                                     struct json_object *from, struct json_object *to);
/* Those that have a share in `from`, of which there are some, have names that `to` has not. */
bool split_is_elsewhere(const struct split_format *format, struct json_object *from,
                        struct json_object *to);
/* primary and canary in percent: other people's numbers need not add up to 100. All to the primary
 * when the route says nothing usable. Nothing else is set. */
void split_weights(const struct split_format *format, const struct split *split,
                   struct weights *out);

#endif
