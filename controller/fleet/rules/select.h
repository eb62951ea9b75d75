/* Cluster selection (FLEET.md). Pure: objects of the management cluster in, clusters out. */
#ifndef FLEET_SELECT_H
#define FLEET_SELECT_H

#include "kube/config.h"
#include "kube/resource.h"
#include "proto/application.h"

extern const struct kube_resource fleet_applications, fleet_fleets, fleet_attached, fleet_clusters,
    fleet_release_plans;

/* The label of a Secret that holds the kubeconfig of a cluster: its name. Beside it the name of the
 * fleet that it belongs to; without one it belongs to every fleet of its namespace. */
#define FLEET_CLUSTER_LABEL "flagger.app/cluster"
#define FLEET_FLEET_LABEL   "flagger.app/fleet"

/* The name shown for the cluster that the Application lies in; no other cluster has it. */
#define FLEET_HOST "this cluster"

/* Lists of objects in the Application's namespace; NULL if empty. Secrets need only their metadata.
 */
struct fleet_known {
    struct json_object *fleets, *attached, *clusters, *secrets;
};

struct fleet_member {
    const char *name;   /* of the cluster */
    const char *secret; /* with its kubeconfig, in the namespace; NULL if there is a mistake */
    const char *key;    /* key in it; NULL for "value", or else "kubeconfig" */
    struct json_object *labels; /* of the cluster; NULL if none */
    const char *mistake;        /* why it cannot be connected to, one sentence; NULL if it can */
};

struct fleet_choice {
    const char *mistake; /* of the fleet itself, one sentence; NULL if none */
    bool lost; /* there is no such fleet: clusters that have left it cannot be told from others */
    bool host; /* the cluster that the Application lies in, and no other */
    struct fleet_member *members;
    size_t count;
};

/* Members are in the order of the Fleet, then of the Secrets; the first of a name wins. */
void fleet_select(struct arena *arena, const struct application_destination *destination,
                  const struct fleet_known *known, struct fleet_choice *out);

/*
 * Reads the kubeconfig of a member out of its Secret. key: as of struct fleet_member. *text is the
 * kubeconfig, *out its content, both in the arena. ERR_INVALID: one sentence that begins with the
 * Secret and never has any of its content.
 */
enum err fleet_kubeconfig(struct arena *arena, struct json_object *secret, const char *key,
                          const char **text, struct kube_config *out, struct errinfo *ei) MUST_USE;

#endif
