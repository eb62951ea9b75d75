/*
 * What the watches of one member cluster have brought: of each Canary what the rules of the waves and
 * a status need, as a few fields, and, of it and of what an Application needs around it, the object
 * itself packed. Of what nobody asks for only that it exists.
 *
 * A kind is watched from stock_need() on. Of Deployments, MetricTemplates and Ingresses only those
 * with our label are watched (fleet/fleet.h): what is not there may still exist, and is read.
 */
#ifndef MEMBERS_STOCK_H
#define MEMBERS_STOCK_H

#include "kube/store.h"
#include "members/context.h"
#include "proto/phase.h"

/* What is remembered of an object. */
struct stock_seen {
    struct digest digest;
    uint64_t content; /* hash of all but its status and bookkeeping metadata */
    uint64_t mark;    /* stock_mark() of what it is marked with; 0: with nothing */
};

struct stock_canary {
    struct stock_seen seen;
    enum phase phase;
    int weight, failed_checks, iterations;
    bool suspended, deleting;
    /* "" if none; all lie in `texts`. */
    const char *applied, *promoted, *transition, *held_by, *manager;
    char *texts;
    uint64_t *labels; /* name_hash() of each key and value */
    int n_labels;
};

struct stock;
struct stock_owner {
    /* before NULL: new; after NULL: gone. Of Canaries both are struct stock_canary. It may not free
     * the stock. */
    void (*changed)(void *arg, const struct kube_resource *resource,
                    const struct stock_seen *before, const struct stock_seen *after);
    /* Is the object itself to be kept? Not asked of Canaries. */
    bool (*wants)(void *arg, const struct kube_resource *resource, const char *namespace_,
                  const char *name);
    /* A kind has been listed, or could not be. */
    void (*settled)(void *arg);
    void *arg;
};

/* Begins to watch the Canaries. */
struct stock *stock_new(struct members_context *context, struct kube_client *kube,
                        const struct stock_owner *owner);
void stock_free(struct stock *stock);
void stock_need(struct stock *stock, const struct kube_resource *resource);

/* The object, owned by the arena, or NULL where it certainly does not exist. False: it must be read. */
bool stock_look(const struct stock *stock, struct arena *arena,
                const struct kube_resource *resource, const char *namespace_, const char *name,
                struct json_object **out);
/* What a read or a write has brought; changed() is called if it is news. */
void stock_learn(struct stock *stock, const struct kube_resource *resource,
                 struct json_object *object);
void stock_learn_gone(struct stock *stock, const struct kube_resource *resource,
                      const char *namespace_, const char *name, const char *uid);

/* NULL: there is none. Both borrowed until the loop turns. */
const struct stock_canary *stock_canary(const struct stock *stock, const char *namespace_,
                                        const char *name);
/* Each Canary in turn, in no order; index begins with 0. NULL: that was the last. */
const struct stock_canary *stock_next(const struct stock *stock, size_t *index);
bool stock_has_label(const struct stock_canary *canary, const char *key, const char *value);

uint64_t stock_mark(const char *mark);
/* Calls fn for each object that has the mark, of the kinds that are watched. */
void stock_marked(const struct stock *stock, uint64_t mark,
                  void (*fn)(void *arg, const struct kube_resource *resource,
                             const struct digest *digest),
                  void *arg);

bool stock_synced(const struct stock *stock);  /* the Canaries have been listed */
bool stock_settled(const struct stock *stock); /* no kind is being listed for the first time */
/* Why the Canaries are not known as they are now; NULL: they are. missing: their CRD is not there. */
const char *stock_trouble(const struct stock *stock, bool *missing);
int64_t stock_heard_ms(const struct stock *stock); /* monotonic; 0: never */
size_t stock_canaries(const struct stock *stock);

#endif
