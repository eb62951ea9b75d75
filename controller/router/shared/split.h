/*
 * The weights in a route. All meshes have rules, each with backends that have a name and a weight;
 * only the keys differ. Read here for every router; objects are borrowed.
 */
#ifndef ROUTER_SHARED_SPLIT_H
#define ROUTER_SHARED_SPLIT_H

#include "router/router.h"

enum { SPLIT_KEYS = 4 };

struct split_format {
    /* Keys to the list of rules, or to the only rule; "0" is the first of a list. */
    const char *rules[SPLIT_KEYS];
    const char *backends[SPLIT_KEYS]; /* ... from a rule to its list of backends */
    const char *name[SPLIT_KEYS];     /* ... from a backend to its name */
    int missing;                      /* weight of a backend without one */
    /* The split is the first rule with both sides, not the last; the last one is for all other
     * requests. */
    bool first;
    bool may_leave_out; /* a rule with only the primary as backend gives the canary weight 0 */
    bool leaves_either; /* a rule with only the canary as backend gives it weight 100 */
};

/* The names of the two backends. A final '*' matches any rest: names of some meshes end in a port,
 * which the spec may have changed. */
struct split_sides {
    const char *primary, *canary;
};
/* True if the text matches the name. */
bool split_is_name(const char *name, const char *text);

/* The rules of a live route, NULL if missing. */
struct split {
    struct json_object *sticky[2]; /* before the split */
    struct json_object *split;     /* has both sides as backends */
    struct json_object *rest;      /* of an A/B test: all other requests */
    struct json_object *primary;   /* the backends of the split */
    struct json_object *canary;
};

/* Finds the split of a route (may be NULL). */
struct split split_find(const struct split_format *format, const struct split_sides *sides,
                        struct json_object *route);
/* The first backend of a rule with this name, NULL if there is none. */
struct json_object *split_backend(const struct split_format *format, struct json_object *rule,
                                  const char *name);
/* Route `from` with each backend of `to` that it lacks by name, added to its first rule without a
 * share; NULL if there is none to add, or no rule. */
struct json_object *split_introduced(struct arena *arena, const struct split_format *format,
                                     struct json_object *from, struct json_object *to);
/* True if `from` has weighted backends and none of them is in `to`. */
bool split_is_elsewhere(const struct split_format *format, struct json_object *from,
                        struct json_object *to);
/* Sets primary and canary; weights of others may add up to any total, of which each is its part. All to the primary
 * if the route is unusable. Sets nothing else. */
void split_weights(const struct split_format *format, const struct split *split,
                   struct weights *out);

#endif
