/*
 * Writes down what happens in the cluster, in files of a folder, one for each namespace.
 *
 * NAMESPACE.history has every version of every object that matters for traffic, one JSON object a
 * line: {"revision", "kind", "gone", "time", "object"}. The resourceVersion of an object is the
 * revision of the one store behind the API server, also for a deletion. So the lines of several
 * watches, sorted by it, are the history of the cluster as it was, whatever came late: history.h
 * reads them.
 *
 * Calls of webhooks are lines as well, {"canary", "hook", "checksum", "passes"} of the kind Hook, at
 * the last revision that has come.
 *
 * NAMESPACE.canaries has a line for each version of a Canary, for tests that wait for one:
 * "REVISION NAME PHASE WEIGHT FAILEDCHECKS ITERATIONS PROMOTED", where PROMOTED is the status and
 * the reason of that condition ("True/Succeeded"), and "-" stands for what is not there.
 */
#ifndef REAL_RECORDER_H
#define REAL_RECORDER_H

#include "kube/watch.h"

struct recorder;

/* The folder is there; its path is borrowed. A file that cannot be written ends the process. */
struct recorder *recorder_new(struct loop *loop, struct kube_client *kube, const char *folder);
/* What a webhook was asked, and whether it agreed. */
void recorder_hook(struct recorder *recorder, const char *namespace_, struct json_object *call);
void recorder_stop(struct recorder *recorder); /* before the client is freed */
void recorder_free(struct recorder *recorder);

#endif
