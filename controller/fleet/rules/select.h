/*
 * Selection of the clusters of an Application, and of the namespaces in which it may act there
 * (FLEET.md). Pure: objects of the management cluster in, clusters out.
 */
#ifndef FLEET_SELECT_H
#define FLEET_SELECT_H

#include "base/err.h"
#include "base/json.h"
#include "kube/config.h"
#include "kube/resource.h"
#include "proto/application.h"

extern const struct kube_resource fleet_applications, fleet_fleets, fleet_attached, fleet_clusters,
    fleet_release_plans;

/* The label of a Secret that holds the kubeconfig of a cluster; its value is the cluster's name.
 * The second label has the name of the fleet to which the cluster belongs; a cluster without it
 * belongs to every fleet of its namespace. */
#define FLEET_CLUSTER_LABEL "flagger.app/cluster"
#define FLEET_FLEET_LABEL   "flagger.app/fleet"

/* The name shown for the cluster that contains the Application; no other cluster has it. */
#define FLEET_HOST "this cluster"

/* Lists of objects in the Application's namespace; NULL if empty. Of Secrets only the metadata is
 * needed. */
struct fleet_known {
    struct json_object *fleets, *attached, *clusters, *secrets;
};

struct fleet_member {
    const char *name;   /* name of the cluster */
    const char *secret; /* Secret with its kubeconfig, in the namespace; NULL if `mistake` is set */
    const char *key;    /* key in the Secret; NULL for "value", or else "kubeconfig" */
    struct json_object *labels; /* labels of the cluster; NULL if none */
    const char *mistake;        /* why it cannot be connected to, one sentence; NULL if it can */
};

struct fleet_choice {
    const char *mistake; /* mistake in the fleet itself, one sentence; NULL if none */
    bool lost; /* there is no such fleet, so clusters that have left it cannot be told apart */
    bool host; /* only the cluster that contains the Application */
    struct fleet_member *members;
    size_t count;
};

/* Members are in the order of the Fleet, followed by that of the Secrets; the first of several with
 * the same name is used. */
void fleet_select(struct arena *arena, const struct application_destination *destination,
                  const struct fleet_known *known, struct fleet_choice *out);

/*
 * Reads the kubeconfig of a member from its Secret. key: as in struct fleet_member. *text is the
 * kubeconfig, *out its content, both in the arena. ERR_INVALID: one sentence that begins with the
 * Secret's name and never quotes its content.
 */
enum err fleet_kubeconfig(struct arena *arena, struct json_object *secret, const char *key,
                          const char **text, struct kube_config *out, struct errinfo *ei) MUST_USE;

/*
 * --- Namespaces of a member cluster in which an Application or a ReleasePlan may act: the
 * namespace with the same name; a namespace whose annotation below names the Application's
 * namespace; and those that an option of the fleet lists. Never the system's.
 */

/* Names of namespaces of the management cluster, separated by commas. */
#define GRANTS_NOTE "flagger.app/applications"

struct grants {
    const char *const *pairs;  /* "FROM:IN", each a name or *; NULL-terminated */
    const char *const *closed; /* besides kube-system and the like; NULL-terminated */
};
/* Grants all namespaces except the system's. */
extern const struct grants grants_any;

/* The texts of two options: pairs, and names, each separated by commas; NULL is none. ERR_INVALID
 * is one sentence that begins with what is wrong. *out borrows only from the arena. */
enum err grants_read(struct arena *arena, const char *pairs, const char *closed, struct grants *out,
                     struct errinfo *ei) MUST_USE;

/* True if the answer does not depend on the Namespace `in`. */
bool grants_is_settled(const struct grants *grants, const char *from, const char *in);
/* One sentence that begins with `field`; NULL if it may act there. namespace_: the Namespace object
 * on the member; NULL if there is none. */
const char *grants_refusal(struct arena *arena, const struct grants *grants, const char *field,
                           const char *from, const char *in, struct json_object *namespace_);
/* True if neither an option nor an annotation can grant it. */
bool grants_is_closed(const struct grants *grants, const char *in);

#endif
