/*
 * List + watch of one resource, as a state machine that never gives up: LISTING (pages of 500) ->
 * WATCHING -> ...
 *
 * Bookmarks are asked for; an ended or broken watch resumes from the last resourceVersion; 410 (as
 * status or as ERROR event) lists again; errors wait with back-off and jitter (0.5 s to 30 s),
 * Retry-After honoured. A watch that brings no byte for its time-out plus a margin is cut and
 * resumed. At most four watches of a client list at once. Each item is read and handed over
 * alone, as a tree that is dropped after the callback: the owner keeps a digest, see
 * kube/store.h.
 */
#ifndef KUBE_WATCH_H
#define KUBE_WATCH_H

#include "kube/client.h"

/* How a watch behaves in time; a field that is 0 has its default. Tests make it quick. */
struct watch_timing {
    int64_t backoff_min_ms; /* 500 */
    int64_t backoff_max_ms; /* 30 s */
    int64_t missing_min_ms; /* between a 404 and the next try, then twice as long each time: 1 s */
    int64_t missing_ms;     /* ... at most: 60 s */
    int64_t margin_ms;      /* beyond the time-out of a watch until it is cut: 30 s */
    int64_t list_ms;        /* time-out of a page: 60 s */
    int timeout_s;          /* of a watch, half of it comes on top by chance: 290 */
    int page;               /* items of a list's page: 500 */
};

enum watch_event {
    WATCH_PUT,    /* the object exists with this content (listed, added or modified) */
    WATCH_GONE,   /* the object was deleted; after a relist also for what vanished meanwhile: only
                     metadata then */
    WATCH_SYNCED, /* a list has been handed over whole; object NULL */
    /* Only of a watch without keys. */
    WATCH_OUTLINE, /* as PUT; the object takes too much memory: only its metadata is known */
    WATCH_LISTING, /* a list begins anew: what it does not bring is gone; object NULL */
    WATCH_FAILED,  /* a list has failed, see watch_trouble(); it is tried again; object NULL */
};

struct watch_spec {
    const struct kube_resource *resource;
    const char *namespace_;     /* NULL: all */
    const char *label_selector; /* NULL: none */
    const char *field_selector;
    bool metadata_only; /* PartialObjectMetadata */
    /* The owner notices itself what a list does not bring any more, and what was made anew under
     * its name: the watch keeps no keys, and tells GONE only of deletions that it sees. */
    bool no_keys;
    /* A 404 of the whole resource (its CRD is not installed) is reported once and retried, at last
     * every minute. */
    struct watch_timing timing;
};

typedef void (*watch_fn)(void *arg, enum watch_event event, struct json_object *object);

struct watch;
/*
 * The spec's strings are copied. fn is never called before watch_new() has returned, nor after
 * watch_free(), which fn itself may call. An object that was deleted and made again between two
 * looks is reported GONE, then PUT.
 */
struct watch *watch_new(struct loop *loop, struct kube_client *client,
                        const struct watch_spec *spec, watch_fn fn, void *arg);
void watch_free(struct watch *watch);
bool watch_synced(const struct watch *watch);
/* All that happened up to this resourceVersion has been told; NULL while a list is needed. */
const char *watch_position(const struct watch *watch);
/* "LIST deployments: text" of the failure it is waiting after, NULL while all is well. */
const char *watch_trouble(const struct watch *watch);

/* How a watch stands now. Texts are borrowed, times are monotonic. */
struct watch_look {
    const char *state;            /* "queued", "listing", "streaming", "waiting" */
    const char *resource_version; /* the last one that was seen, NULL: none */
    const char *trouble;          /* as of watch_trouble() */
    /* When the server was last heard: a page of a list, an event or a bookmark. 0: never. */
    int64_t heard_ms;
    bool synced;
    bool missing; /* the last list was answered 404: the resource is not served */
};
void watch_look(const struct watch *watch, struct watch_look *out);

#endif
