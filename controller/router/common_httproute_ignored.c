/*
 * What spec.service asks for and a route has no word for. It has no effect, as with Flagger, which
 * says so of `allowOrigins` alone and in its log; here the author of the Canary is told
 * (decide/ignored.c).
 */
#include "router/common_httproute.h"
#include "router/common_ignored.h"

/* Nothing is lost by what is not named here: the name of a match, and what belongs to other meshes
 * alone (Istio's gateways and delegation, App Mesh's backends). */
static const char *const of_match[] = {
    "withoutHeaders", "authority",       "scheme", "ignoreUriCase", "port", "gateways",
    "sourceLabels",   "sourceNamespace", NULL};
static const char *const of_service[] = {"retries", "trafficPolicy", NULL};
/* Words that an old version and a GRPCRoute do not have, and those that only the latter lacks. */
static const char *const of_rich[] = {"timeout", "backendTimeout", "corsPolicy", NULL};
static const char *const of_http[] = {"rewrite", NULL};
static const char *const patterns[] = {"prefix", "regex", NULL};

const char *httproute_ignored(struct arena *arena, const struct canary *canary,
                              const struct httproute_version *version)
{
    struct json_object *service = canary->service.json;
    struct ignored list = {.arena = arena,
                           .text = ignored_of_service(arena, canary, of_service, of_match)};

    if (version->rich)
        ignored_add_each(&list, json_at(service, "corsPolicy", "allowOrigins", NULL),
                         "spec.service.corsPolicy.allowOrigins", patterns);
    else
        ignored_add(&list, service, "spec.service", of_rich);
    if (version->calls)
        ignored_add(&list, service, "spec.service", of_http);
    return list.text;
}
