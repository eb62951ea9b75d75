/*
 * The VirtualService of Istio (router/OBJECTS.md): what its rules say. Matches, rewrites, headers and
 * the like are those of spec.service as they are written there, for Canaries have Istio's words.
 *
 *   istio.c               the router: VirtualService and DestinationRules
 *   common_istio_rule.c   the rules that are wanted, and what live ones say
 *   common_istio_match.c  which requests they take
 */
#ifndef ROUTER_COMMON_ISTIO_H
#define ROUTER_COMMON_ISTIO_H

#include "router/common_route.h"

/* spec.service.appProtocol says TCP: rules without anything of HTTP. */
bool istio_is_tcp(const struct canary *canary);

/* Of a struct route. */
const struct split_format *istio_format(const struct canary *canary);
void istio_read(struct arena *arena, const struct canary *canary, const struct split *split,
                struct weights *out);
/* spec.http and spec.tcp, to be laid over those of the live route; one that has nothing of ours is
 * left alone. weights NULL: everything to the apex Service. */
void istio_wanted_rules(struct tick *tick, const struct weights *weights, const struct split *split,
                        struct json_object *live, struct json_object *spec);

/* NULL, or what Istio cannot match, a sentence with the field's path. */
const char *istio_match_mistake(struct arena *arena, const struct canary *canary);
/* Lists of HTTPMatchRequest, NULL where every request is meant: those of spec.service.match; those
 * of spec.analysis.match, each joined with each of the service's; requests with a cookie, joined as
 * well. An element is ours as a whole. */
struct json_object *istio_matches(struct arena *arena, const struct canary *canary);
struct json_object *istio_test_matches(struct arena *arena, const struct canary *canary);
struct json_object *istio_cookie_matches(struct arena *arena, const struct canary *canary,
                                         const char *cookie);

#endif
