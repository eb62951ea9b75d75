/*
 * The apps that are edited: one for each strategy, with the objects that a person has made for it.
 *
 * Texts are JSON with single quotes. NAME stands for the app, HOOKS for the URL of its webhooks.
 */
#ifndef EDITS_APP_H
#define EDITS_APP_H

#include <stdbool.h>

#include "base/json.h"
#include "kube/resource.h"

#define USER_NAMESPACE "test"
enum { USER_PORT = 8080 }; /* of the apex Services: above 1024, so that root is not needed */

struct app {
    const char *name;
    const char *about;
    const char *canary; /* what its Canary has besides the common fields: a patch */
    const char *labels; /* by which its pods are selected; NULL: app */
    const char *other;  /* of a workload that shares some of them; NULL if there is none */
    int replicas;       /* of its target; 0: one */
    bool gateway;       /* has a route */
    bool insiders;      /* a part of its clients sends the header of the A/B test */
    bool hooks;         /* asks start, check and promote */
    bool configs;       /* reads a ConfigMap and a Secret */
    bool hashed;        /* reads a ConfigMap with another name for each version */
    bool scaler;        /* has a HorizontalPodAutoscaler */
};

extern const struct app apps[];                /* ends with name NULL */
const struct app *app_named(const char *name); /* NULL if there is none */

/* The version that the other workload says in its answers. */
#define APP_STRANGER "stranger"

extern const struct kube_resource user_canaries, user_requests, user_routes, user_endpoints,
    user_pods, user_budgets;

/* A mistake in the text ends the program. Owned by the arena. */
struct json_object *user_json(struct arena *arena, const char *text, const char *name,
                              const char *hooks);
/* What NAME stands for in a text, e.g. "NAME-primary". */
const char *user_name(struct arena *arena, const char *text, const char *name);

/* The base of an app, which `restore` puts back. */
struct json_object *app_canary(struct arena *arena, const struct app *app, const char *hooks);
/* name: the app's, or that of the Deployment beside it. */
struct json_object *app_deployment(struct arena *arena, const struct app *app, const char *name,
                                   const char *version);
/* The workload beside it that shares labels with it. */
struct json_object *app_other(struct arena *arena, const struct app *app);
struct json_object *app_labels(struct arena *arena, const struct app *app, const char *name);
/* The container that runs a version: "v7", "bad8-errors100", "slow9-slow800ms", "stuck10". */
struct json_object *app_container(struct arena *arena, const struct app *app, const char *version);
/* All other objects. */
struct json_object *app_config_map(struct arena *arena, const struct app *app);
/* Of an app whose ConfigMap has another name for each version. */
struct json_object *app_hashed_map(struct arena *arena, const struct app *app, const char *version);
struct json_object *app_secret(struct arena *arena, const struct app *app);
struct json_object *app_scaler(struct arena *arena, const struct app *app);

#endif
