/*
 * The engine manages every Canary of the cluster (or of some namespaces, or with some labels). It
 * does all I/O of a release; decide/ decides.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/cache.h"
#include "engine/context.h"

struct job;

struct engine_options {
    struct loop *loop;
    struct kube_client *kube;
    struct http_client *http;
    const struct settings *settings;
    struct cache_scope scope;
    const char *event_webhook; /* NULL if none */
    const char *otlp_endpoint; /* collector of traces (engine/traces.h); NULL if none */
    const struct trace_headers *otlp_headers; /* headers for the collector; NULL if none */
    int max_runs; /* concurrent runs; those that wait for webhooks or metrics do not count */
    /* Limits of concurrent releases, in total and per namespace; 0 for no limit. */
    int max_releases, max_releases_per_namespace;
    int64_t retry_ceiling_ms;                /* the longest delay after a failed run */
    int64_t list_patience_ms;                /* see engine/context.h; 0: 10 s */
    int64_t peer_probe_ms, peer_patience_ms; /* for leases of peer controllers: kube/lease.h */
    /*
     * Shadow mode: another controller manages the Canaries, and this one compares
     * (shadow/shadow.h). kube must be read-only (kube/kube_client.h).
     */
    bool observe;
    /*
     * Called before every write. NULL: the only replica, always the leader. Otherwise the engine
     * stands by until engine_lead().
     */
    bool (*is_leader)(void *arg);
    void *arg;
};

struct engine;
/* The options' pointers must outlive the engine. Starts watching at once. */
struct engine *engine_new(const struct engine_options *options);
void engine_free(struct engine *engine);
/*
 * Starts no further run and no further write. done is called once, from the loop, when all writes
 * are answered (quiet), or after max_ms even if some are not: those may still be applied. Before
 * the call, the events of these writes are sent, which takes up to 5 s more. done may free the
 * engine.
 */
void engine_stop(struct engine *engine, int64_t max_ms, void (*done)(void *arg, bool quiet),
                 void *arg);
/* Reports that leadership was gained or lost. */
void engine_lead(struct engine *engine, bool leads);
/*
 * True once the Canaries have been listed. Resources that are not installed do not count; their
 * objects are read when a rule needs one.
 */
bool engine_ready(const struct engine *engine);

/* A snapshot for debugging (engine/snapshot.h). */
struct engine_snapshot {
    const struct engine_context *context;
    size_t canaries;
    int running, max_runs;
    int going_on, waiting; /* queued: to continue, and to begin */
    size_t deps;           /* objects that Canaries depend on */
    bool leads, stopping;
    int releases, releases_waiting; /* under way, and waiting for a slot */
};
void engine_snapshot(const struct engine *engine, struct engine_snapshot *out);
/* Returns NULL if there is no such Canary. *place: its position in the queue, from 1; 0: not
 * queued. */
const struct job *engine_find(const struct engine *engine, const char *namespace_, const char *name,
                              int *place);
/*
 * Calls fn for the Canaries in order of discovery, after the given one (NULL: from the first),
 * until fn returns false. Returns false if the given one is gone.
 */
struct engine_after {
    const char *namespace_, *name;
};
bool engine_each(const struct engine *engine, const struct engine_after *after,
                 bool (*fn)(void *arg, const struct job *job), void *arg);

#endif
