/* Which clusters a policy means (FLEET.md). Pure: objects of the management cluster in, clusters
 * out. */
#ifndef FLEET_SELECT_H
#define FLEET_SELECT_H

#include "kube/resource.h"
#include "proto/application.h"

extern const struct kube_resource fleet_applications, fleet_fleets, fleet_attached, fleet_clusters,
    fleet_release_plans;

/* The label of a Secret that holds the kubeconfig of a cluster: its name. Beside it the name of the
 * fleet that it belongs to; without one it belongs to every fleet of its namespace. */
#define FLEET_CLUSTER_LABEL "flagger.app/cluster"
#define FLEET_FLEET_LABEL   "flagger.app/fleet"

/* The one that the Application lies in, where it has to be called something: no cluster has the name. */
#define FLEET_HOST "this cluster"

/* Lists of what is in the namespace of the Application; NULL is none. Of Secrets the metadata is
 * enough. */
struct fleet_known {
    struct json_object *fleets, *attached, *clusters, *secrets;
};

struct fleet_member {
    const char *name;           /* of the cluster */
    const char *secret;         /* that holds its kubeconfig, in the namespace; NULL: see mistake */
    const char *key;            /* in it; NULL: "value", or else "kubeconfig" */
    struct json_object *labels; /* of the cluster; NULL: none */
    const char *mistake;        /* why nobody can connect, one sentence; NULL: somebody can */
};

struct fleet_choice {
    const char *mistake; /* of the fleet itself, one sentence; NULL: none */
    bool
        lost; /* there is no such fleet, so that nobody knows which clusters are not of it any more */
    bool host; /* the cluster that the Application lies in, and no other */
    struct fleet_member *members;
    size_t count;
};

/* In the order of the Fleet, then of the Secrets; a cluster of the same name counts once. */
void fleet_select(struct arena *arena, const struct application_destination *destination,
                  const struct fleet_known *known, struct fleet_choice *out);

#endif
