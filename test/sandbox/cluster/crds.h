/* CustomResourceDefinitions that are there from the beginning: the gateway's own, and files that
 * the user names. */
#ifndef CLUSTER_CRDS_H
#define CLUSTER_CRDS_H

#include "api/objstore.h"

/* The embedded ones of test/sandbox/crd, where the store has none of that name yet. */
enum err crds_install(struct objstore *store, struct errinfo *ei) MUST_USE;
/* A YAML file or a directory of them (*.yaml, *.yml); replaces those of the same name. */
enum err crds_load(struct objstore *store, const char *path, struct errinfo *ei) MUST_USE;

/* Made by the build from test/sandbox/crd. */
struct crds_file {
    const char *name;
    const char *text;
};
extern const struct crds_file crds_embedded[]; /* ends with name NULL */

#endif
