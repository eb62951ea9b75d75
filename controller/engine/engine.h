/*
 * The engine: looks after every Canary of the cluster (or of some namespaces, or with some labels). All I/O of a rollout
 * happens here; what to do is decided in decide/.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/context.h"
#include "engine/watchset.h"

struct job;

struct engine_options {
    struct loop *loop;
    struct kube_client *kube;
    struct http_client *http;
    const struct settings *settings;
    struct watchset_scope scope;
    const char *event_webhook; /* NULL: none */
    int max_runs; /* ticks at work at once; those that wait for webhooks or metrics do not count */
    /* Releases under way at once, in all and in each namespace; 0: as many as there are. */
    int max_releases, max_releases_per_namespace;
    int64_t retry_ceiling_ms;                 /* the longest wait after a failed tick */
    int64_t list_patience_ms;                 /* see engine/context.h; 0: 10 s */
    int64_t other_look_ms, other_patience_ms; /* of the leases of others: kube/lease_look.h */
    /* Another controller looks after the Canaries; this one compares (observe/observer.h). kube must
     * only read (kube/client.h). */
    bool observe;
    /* Asked before every write; NULL: the only replica, always the leader. Otherwise the engine
     * stands by until engine_lead(). */
    bool (*is_leader)(void *arg);
    void *arg;
};

struct engine;
/* The options' pointers must outlive the engine. Begins to watch at once. */
struct engine *engine_new(const struct engine_options *options);
void engine_free(struct engine *engine);
/*
 * No run and no write begins any more. done is called once, from the loop, when every write that
 * was sent has been answered (quiet), or after max_ms although some have not: those may still be
 * applied. It may free the engine.
 */
void engine_stop(struct engine *engine, int64_t max_ms, void (*done)(void *arg, bool quiet),
                 void *arg);
/* Leadership was gained or lost. */
void engine_lead(struct engine *engine, bool leads);
/* True when the Canaries have been listed: the controller knows what there is to do. Resources that
 * are not installed do not count, objects of them are read when a rule asks. */
bool engine_ready(const struct engine *engine);

/* A snapshot of the engine, for people who look into it (engine/look.h). */
struct engine_look {
    const struct engine_context *context;
    size_t canaries;
    int running, max_runs;
    int going_on, waiting; /* queued: with answers of webhooks or metrics, and to begin */
    size_t deps;           /* objects that Canaries depend on */
    bool leads, stopping;
    int releases, releases_waiting; /* under way, and for their turn */
};
void engine_look(const struct engine *engine, struct engine_look *out);
/* NULL: there is none. *place: in the queue, from 1; 0: it stands in none. */
const struct job *engine_find(const struct engine *engine, const char *namespace_, const char *name,
                              int *place);
/*
 * Calls fn for the Canaries in the order in which they were found, after that one (NULL: from the
 * first), until it returns false. False: that one is gone.
 */
struct engine_after {
    const char *namespace_, *name;
};
bool engine_each(const struct engine *engine, const struct engine_after *after,
                 bool (*fn)(void *arg, const struct job *job), void *arg);

#endif
