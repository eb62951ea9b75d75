/*
 * The answers to the needs of a tick, for the engine and everything that stands in for it:
 * simulation, shadow, golden cases, model.
 *
 * tick->needs lists what the rules have asked for and is not known. fact_*() answers a need, and
 * the next round of decide() finds it. Facts stay with the tick until they are forgotten, so that
 * nothing is fetched, asked or sent twice in one tick, however many rounds it takes. If a need
 * cannot be answered, the engine ends the tick: rules never see a request that has failed.
 */
#ifndef TICK_FACT_H
#define TICK_FACT_H

#include "tick/need.h"

enum need_kind { NEED_OBJECT, NEED_METRIC, NEED_HOOK };
struct need {
    struct need *next;
    enum need_kind kind;
    const char *key;                      /* unique per fact */
    const struct kube_resource *resource; /* OBJECT */
    const char *namespace_, *name;        /* NULL: a list of all objects */
    /*
     * For a list: "Deployment/podinfo", scaled by its objects, or "Canary/podinfo", their
     * controller; NULL for all.
     */
    const char *scales;
    const char *query;             /* for a list: the query of the request; NULL for all */
    bool surely;                   /* must be read from the API server, whatever the watch shows */
    bool watched;                  /* only as the watch shows it */
    bool last;                     /* in its last state before it was deleted */
    struct metric_question metric; /* METRIC */
    int webhook;                   /* HOOK */
    enum phase phase;
    const char *checksum;
};
/*
 * The tree is borrowed and must live as long as the tick; NULL if it does not exist. For a list,
 * the object with the items.
 */
void fact_object(struct tick *tick, const struct need *need, struct json_object *object);
/* The watch of the object does not show it. */
void fact_unseen(struct tick *tick, const struct need *need);
/* The object does not exist because the API server does not serve its resource. */
void fact_unserved(struct tick *tick, const struct need *need);
/* The object may not be read. The message is copied. */
void fact_denied(struct tick *tick, const struct need *need, const char *sentence);
void fact_metric(struct tick *tick, const struct need *need, struct metric_answer answer);
void fact_hook(struct tick *tick, const struct need *need, struct hook_answer answer);

/* Rules that still lack facts after this number of rounds are faulty. */
enum { TICK_MAX_ROUNDS = 64 };
typedef enum rule_result (*tick_rule_fn)(void *arg, struct tick *tick);
/*
 * Resets the tick, calls the rule and answers its needs, repeatedly until no fact is missing; the
 * plan is that of the last call. Returns the rule's result; RULE_NEEDS_FACTS if no more facts can
 * be obtained.
 */
enum rule_result tick_solve(struct tick *tick, tick_rule_fn rule, tick_answer_fn answer, void *arg);
/* True if a rule has needed the object with this key. */
bool fact_is_used(const struct tick *tick, const char *key);
/* Replaces the fact about an object. */
void fact_replace(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                  const char *name, struct json_object *object);
/*
 * Forgets the facts of one kind: objects after a conflict, while metrics and webhooks stay, so
 * that nothing is sent twice.
 */
void facts_forget(struct tick *tick, enum need_kind kind);

#endif
