/*
 * The clusters of Applications, and the Canaries on them, read with the person's own rights: in the
 * cluster of the Applications those to read them and the Secrets with kubeconfigs, on the others
 * those of the kubeconfigs. Everything lives in ctl->arena.
 */
#ifndef CTL_CLUSTERS_H
#define CTL_CLUSTERS_H

#include "ctl/ctl.h"
#include "fleet/select.h"

/* A rollout on one cluster. */
struct clusters_place {
    const char *cluster;
    const char *trouble;        /* why nothing is known, one sentence; NULL: all is */
    struct json_object *canary; /* NULL: it is not there */
};

struct clusters_rollout {
    const struct application_policy *policy;
    const char *mistake; /* of its fleet; NULL: none */
    struct clusters_place *places;
    size_t count;
};

struct clusters_app {
    struct application app; /* of one that cannot be read only the names */
    const char *mistake;    /* why it cannot be read; NULL: it can */
    struct clusters_rollout *rollouts;
    size_t count;
};

/* Reads what is on the clusters of an array of Applications, of all clusters at once. */
enum err clusters_read(struct ctl *ctl, struct json_object *applications, struct clusters_app **out,
                       struct errinfo *ei) MUST_USE;

#endif
