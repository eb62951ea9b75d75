/*
 * A cluster without machines, on top of the object store: Deployments and DaemonSets make pods,
 * pods run, Services forward, a gateway serves HTTPRoutes, Prometheus scrapes.
 *
 * Pods whose image is named demo-app, or by an option, are real processes on loopback addresses of
 * their own; all others are simulated: they get ready after a moment, or as annotations of the pod say:
 *   sandbox.flagger.app/ready-after: 3s      sandbox.flagger.app/never-ready: "true"
 *   sandbox.flagger.app/crash: "true"        starts, fails, and is restarted with growing pauses
 *
 * Everything ends when the loop drains: processes first get TERM, then KILL.
 */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include "api/objstore.h"
#include "base/buf.h"
#include "net/loop.h"

struct podrun; /* podspec.h */

struct cluster_options {
    const char *app;           /* path of flagger-demo-app */
    const struct podrun *runs; /* programs that run pods with other images, or NULL; kept */
    const char *directory;     /* for files of the gateway and Prometheus; must exist */
    const char *hosts;         /* hosts file to keep, or NULL */
    int nodes;                 /* 0: 1 */
    bool no_services;          /* Services are stored, and nobody forwards */
    int gateway_port;          /* further port on 127.0.0.1; 0 if none, -1: no gateway at all */
    int prometheus_port;       /* on 127.0.0.1; 0: no Prometheus */
};

struct cluster;

/* ERR_CONFLICT when no addresses are left on this machine. options' texts are kept. */
enum err cluster_new(struct loop *loop, struct objstore *store,
                     const struct cluster_options *options, struct cluster **out,
                     struct errinfo *ei) MUST_USE;
void cluster_free(struct cluster *cluster); /* after the loop has ended */

/*
 * A Service that leads to a daemon of this machine: "NAME.NS=ADDRESS:PORT", with another port than
 * 80 for clients "NAME.NS:PORT=ADDRESS:PORT". Makes the namespace; replaces what was there.
 */
enum err cluster_register(struct cluster *cluster, const char *text, struct errinfo *ei) MUST_USE;
struct registration {
    const char *name, *ns, *address;
    int port;    /* that clients use, 80 if not given */
    int to_port; /* that the daemon listens on */
};

/* Texts live in the arena. ERR_INVALID says what was expected. */
enum err register_parse(struct arena *arena, const char *text, struct registration *out,
                        struct errinfo *ei) MUST_USE;

/* Where the gateway listens besides its port on 127.0.0.1; "" if there is none. */
const char *cluster_gateway_address(const struct cluster *cluster);
/* The first thing that keeps it from being ready (the gateway or Prometheus is not up), or NULL. */
const char *cluster_trouble(const struct cluster *cluster);

/* For api_on_pod_log(); arg is the cluster. */
void cluster_pod_log(void *arg, const char *ns, const char *pod, struct buf *out);

#endif
