/*
 * List and watch of one resource, as a state machine that never gives up: LISTING (pages of 500) ->
 * WATCHING -> ...
 *
 * Bookmarks are requested; an ended or broken watch resumes from the last resourceVersion; 410 (as
 * status or as ERROR event) lists again; errors wait with back-off and jitter (0.5 s to 30 s),
 * Retry-After respected. A watch without a byte for its time-out plus a margin is ended and
 * resumed. At most four watches of a client list at once. Each item is parsed alone, as a tree that
 * is dropped after the callback; the owner keeps a digest, see kube/store.h.
 */
#ifndef KUBE_WATCH_H
#define KUBE_WATCH_H

#include "kube/kube_client.h"

/* Time-outs and intervals; 0 for the default. Shorter in tests. */
struct watch_timing {
    int64_t backoff_min_ms; /* 500 */
    int64_t backoff_max_ms; /* 30 s */
    int64_t missing_min_ms; /* wait after a 404, doubled each time: 1 s */
    int64_t missing_ms;     /* maximum of that: 60 s */
    int64_t margin_ms;      /* time after a watch's own time-out until it is ended: 30 s */
    int64_t list_ms;        /* time-out of a page: 60 s */
    int timeout_s;          /* time-out of a watch; up to half of it is added at random: 290 */
    int page;               /* items per page: 500 */
};

enum watch_event {
    WATCH_PUT,    /* the object exists with this content (listed, added or modified) */
    WATCH_GONE,   /* the object was deleted; only metadata if it vanished before a relist */
    WATCH_SYNCED, /* a list is complete; object NULL */
    /* Reported only if no keys are kept (watch_spec.no_keys). */
    WATCH_OUTLINE, /* as PUT, but only metadata: the object takes too much memory */
    WATCH_LISTING, /* a list begins: objects not in it are gone; object NULL */
    WATCH_FAILED,  /* a list has failed, see watch_trouble(), and will be retried; object NULL */
};

struct watch_spec {
    const struct kube_resource *resource;
    const char *namespace_;     /* NULL for all */
    const char *label_selector; /* NULL if none */
    const char *field_selector;
    bool metadata_only; /* PartialObjectMetadata */
    /* The owner itself detects objects missing from a list, and those recreated under their
     * name: no keys are kept, and GONE is reported only for deletions seen in the stream. */
    bool no_keys;
    /* A 404 of the whole resource (its CRD is not installed) is reported once and retried, finally
     * every minute. */
    struct watch_timing timing;
};

typedef void (*watch_fn)(void *arg, enum watch_event event, struct json_object *object);

struct watch;
/*
 * Copies the spec's strings. fn is never called before watch_new() has returned, nor after
 * watch_free(), which fn may call. An object deleted and recreated between two lists is reported
 * GONE, then PUT.
 */
struct watch *watch_new(struct loop *loop, struct kube_client *client,
                        const struct watch_spec *spec, watch_fn fn, void *arg);
void watch_free(struct watch *watch);
bool watch_synced(const struct watch *watch);
/* Everything up to this resourceVersion has been reported; NULL if a list is needed. */
const char *watch_position(const struct watch *watch);
/* The last failure, "LIST deployments: text"; NULL if none. */
const char *watch_trouble(const struct watch *watch);

/* State for /debug. Texts are borrowed, times are monotonic. */
struct watch_snapshot {
    const char *state;            /* "queued", "listing", "streaming", "waiting" */
    const char *resource_version; /* the last one, NULL if none */
    const char *trouble;          /* as of watch_trouble() */
    /* Time of the last page, event or bookmark; 0 if none. */
    int64_t heard_ms;
    bool synced;
    bool missing; /* the last list got 404: the resource is not served */
};
void watch_snapshot(const struct watch *watch, struct watch_snapshot *out);

#endif
