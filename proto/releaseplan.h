/*
 * The ReleasePlan view: a ReleasePlan of flagger.app/v1alpha1 for the rules of waves. It contains
 * the order in which clusters of a fleet get a new revision, and the conditions for each next wave.
 *
 * releaseplan_view() reads a tree once, strictly, into plain structs that live in the arena and
 * borrow strings from the tree. Its status is read elsewhere (fleet/rules/waves.h).
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

/* A gate between waves: a webhook, like the confirm hooks of a Canary. */
struct releaseplan_gate {
    const char *url;
    int64_t timeout_ms;           /* above 0; default 10 s */
    struct json_object *metadata; /* object of strings, NULL if none */
};

struct releaseplan_wave {
    const char *name;           /* unique within the plan */
    struct json_object *labels; /* labels that a cluster must have; NULL: every cluster */
    int max_concurrent; /* clusters released at once; 0 for no limit. Never set for the first wave */
    int max_failed;     /* number of failed clusters that do not stop the plan */
    int64_t soak_ms;    /* wait after the wave, before the next one */
    int64_t deadline_ms; /* for the wave, which is reported as late afterwards; 0 if none */
    struct releaseplan_gate *gate; /* after the soak time; NULL if none */
};

/* Hours in which clusters may be released: minutes of the day, from < until, in the time zone. */
struct releaseplan_window {
    bool days[7]; /* Monday is 0 */
    int from, until;
    int offset_min; /* offset of the time zone, east of UTC */
};

/* A period in which nothing is released. */
struct releaseplan_freeze {
    int64_t from_ms, until_ms; /* from < until */
    const char *reason;        /* NULL if none */
};

struct releaseplan {
    struct json_object *json; /* the whole object, borrowed */
    const char *name;
    const char *namespace_;             /* "default" if missing */
    const char *uid, *resource_version; /* "" if not created yet */
    int64_t generation;
    bool deleting;
    /* Either the Canaries of an Application in the same namespace, on its clusters, */
    const char *application;
    /* or those of several Applications, released in this order, */
    const char **train;
    int n_train;
    /* or the Canaries of a namespace with these labels (NULL for all), on the clusters of a
     * destination. */
    const char *canaries_namespace;
    struct json_object *canaries_labels;
    struct application_destination destination;
    struct releaseplan_wave *waves; /* at least one */
    int n_waves;
    struct releaseplan_window *windows; /* none: always open */
    int n_windows;
    struct releaseplan_freeze *freezes;
    int n_freezes;
    /* Budget over all clusters: concurrent releases, and the percentage of all replicas that may be
     * in workloads being released. 0 for no limit */
    int max_concurrent, max_replicas_percent;
    const char *accept; /* a revision whose failures a user has accepted; NULL if none */
};

/* The annotation for it. */
#define RELEASEPLAN_ACCEPT "flagger.app/accept-failed"

/*
 * Reads object into *out. ERR_INVALID names the field and the expected value, e.g.
 * "spec.waves[1].name: expected another name than that of waves[0], found \"first\"".
 */
enum err releaseplan_view(struct arena *arena, struct json_object *object, struct releaseplan *out,
                          struct errinfo *ei) MUST_USE;

/* True if a cluster may be released now. Otherwise *until_ms is the time of the next possible
 * change, and *why a sentence. */
bool releaseplan_is_open(struct arena *arena, const struct releaseplan *plan, int64_t now_ms,
                         int64_t *until_ms, const char **why);

#endif
