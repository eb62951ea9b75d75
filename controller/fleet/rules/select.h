/*
 * Selection of the clusters of an Application, and of the namespaces there that it may act in
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

/*
 * --- Namespaces of a member cluster that an Application or a ReleasePlan may act in: the namespace
 * of the same name; a namespace whose annotation below names the Application's namespace; and those
 * that an option of the fleet lists. Never the system's.
 */

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
