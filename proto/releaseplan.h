/*
 * The ReleasePlan view: a ReleasePlan of flagger.app/v1alpha1 as the rules of the waves read it. It
 * says in which order the clusters of a fleet get a new revision, and what must be so before the
 * next ones do.
 *
 * releaseplan_view() reads a tree once, strictly, into plain structs that live in the arena and
 * borrow strings from the tree. Its status is read elsewhere (fleet/waves_status.h).
 */
#ifndef PROTO_RELEASEPLAN_H
#define PROTO_RELEASEPLAN_H

#include "proto/application.h"

enum {
    RELEASEPLAN_MAX_WAVES = 50,
    RELEASEPLAN_MAX_TIMES = 50,
    RELEASEPLAN_MAX_TRAIN = 20,
    RELEASEPLAN_MINUTES_OF_DAY = 1440
};

/* Who is asked between a wave and the next one: a webhook as the confirm hooks of a Canary. */
struct releaseplan_gate {
    const char *url;
    int64_t timeout_ms;           /* above 0; 10 s */
    struct json_object *metadata; /* object of strings, NULL: none */
};

struct releaseplan_wave {
    const char *name;              /* no two have the same */
    struct json_object *labels;    /* a cluster must have all of them; NULL: every cluster */
    int max_concurrent;            /* let go at once; 0: no limit. Never of the first wave */
    int max_failed;                /* that do not stop the plan */
    int64_t soak_ms;               /* after the wave, before the next one */
    int64_t deadline_ms;           /* of the wave, after which it is told as late; 0: none */
    struct releaseplan_gate *gate; /* after the soak; NULL: none */
};

/* Clusters are let go in these hours only. Minutes of the day, from < until, in the zone. */
struct releaseplan_window {
    bool days[7]; /* Monday is 0 */
    int from, until;
    int offset_min; /* of the zone, to the east of UTC */
};

/* None is let go from ... until ... */
struct releaseplan_freeze {
    int64_t from_ms, until_ms; /* from < until */
    const char *reason;        /* NULL: none */
};

struct releaseplan {
    struct json_object *json; /* the whole object, borrowed */
    const char *name;
    const char *namespace_;             /* "default" when the object names none */
    const char *uid, *resource_version; /* "" when the object has none yet */
    int64_t generation;
    bool deleting;
    /* Either the Canaries of an Application of the same namespace, on its clusters, */
    const char *application;
    /* or those of several Applications, which are released in this order, */
    const char **train;
    int n_train;
    /* or those of a namespace that have the labels (NULL: all), on the clusters of a destination. */
    const char *canaries_namespace;
    struct json_object *canaries_labels;
    struct application_destination destination;
    struct releaseplan_wave *waves; /* at least one */
    int n_waves;
    struct releaseplan_window *windows; /* none: always */
    int n_windows;
    struct releaseplan_freeze *freezes;
    int n_freezes;
    /* budget, on all clusters: releases at once; and of all replicas those whose workload is being
     * released, in percent. 0: no limit */
    int max_concurrent, max_replicas_percent;
    const char *accept; /* a revision whose failures a person takes as they are; NULL: none */
};

/* The annotation that says so. */
#define RELEASEPLAN_ACCEPT "flagger.app/accept-failed"

/*
 * Reads object into *out. ERR_INVALID names the field and what was expected, e.g.
 * "spec.waves[1].name: expected another name than that of waves[0], found \"first\"".
 */
enum err releaseplan_view(struct arena *arena, struct json_object *object, struct releaseplan *out,
                          struct errinfo *ei) MUST_USE;

/* releaseplan_times.c: windows and freezes; for releaseplan_view(). */
void releaseplan_read_times(struct json_reader *r, struct json_object *spec,
                            struct releaseplan *out);
/* A cluster may be let go at this time. Else *until_ms is when that may change, and *why a sentence. */
bool releaseplan_is_open(struct arena *arena, const struct releaseplan *plan, int64_t now_ms,
                         int64_t *until_ms, const char **why);

#endif
