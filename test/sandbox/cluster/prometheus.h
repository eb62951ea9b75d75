/*
 * A real Prometheus that scrapes the pods (those that are processes, unless annotated
 * prometheus.io/scrape: "false"; prometheus.io/port and prometheus.io/path are honoured) and the
 * daemons that were registered. It is started again when it ends; its data stays.
 */
#ifndef CLUSTER_PROMETHEUS_H
#define CLUSTER_PROMETHEUS_H

#include "base/buf.h"
#include "cluster/context.h"

enum err prometheus_new(struct cluster *cluster, struct prometheus **out,
                        struct errinfo *ei) MUST_USE;
void prometheus_stop(struct prometheus *prometheus);
void prometheus_free(struct prometheus *prometheus);        /* after the loop has ended */
bool prometheus_ready(const struct prometheus *prometheus); /* it has answered once */

/* work_fn without object: pods or registered Services have changed; arg is the cluster. */
void prometheus_sync(void *arg, struct arena *arena, const char *ns, const char *name);

/* The configuration file. */
void prometheus_config(struct buf *out, const char *directory, int64_t scrape_ms);
/* The entry of the targets file for a pod, NULL when it is not scraped. Owned by the arena. Pure.
 */
struct json_object *prometheus_target(struct arena *arena, struct json_object *pod);

#endif
