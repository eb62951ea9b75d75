/*
 * The clusters of Applications and the Canaries on them, read with the person's own rights: in the
 * management cluster to read Applications and the Secrets with kubeconfigs, on members those of the
 * kubeconfigs. Everything lives in ctl->arena.
 */
#ifndef CTL_CLUSTERS_H
#define CTL_CLUSTERS_H

#include "ctl/ctl.h"
#include "fleet/rules/select.h"

/* A rollout on one cluster. */
struct clusters_place {
    const char *cluster;
    const char *trouble;        /* why nothing is known, one sentence; NULL if it is known */
    struct json_object *canary; /* NULL if it is not there */
};

struct clusters_rollout {
    const struct application_policy *policy;
    const char *mistake; /* of its fleet; NULL if none */
    struct clusters_place *places;
    size_t count;
};

struct clusters_app {
    struct application app; /* of an invalid one only the names */
    const char *mistake;    /* why it cannot be read; NULL if it can */
    struct clusters_rollout *rollouts;
    size_t count;
};

/* Reads the state on the clusters of an array of Applications, from all clusters at once. */
enum err clusters_read(struct ctl *ctl, struct json_object *applications, struct clusters_app **out,
                       struct errinfo *ei) MUST_USE;

#endif
