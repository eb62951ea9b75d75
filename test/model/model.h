/*
 * A scenario while it is explored: its objects, what can happen to them, and how they look to the
 * safety rules.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "kind.h"
#include "pool.h"
#include "scenario.h"

/* The places that the safety rules look at. ROLE_ROUTE only exists where the router makes one. */
enum role {
    ROLE_CANARY,
    ROLE_TARGET,
    ROLE_PRIMARY,
    ROLE_APEX,
    ROLE_ROUTE,
    ROLE_CONFIG,
    ROLE_CONFIG_COPY,
    ROLE_COPY, /* the Service of the canary */
    ROLE_SCALER_COPY,
    ROLE_RIVAL,    /* another Canary, which only its owner changes */
    ROLE_FLAGS,    /* what the controller was started with */
    ROLE_REFUSALS, /* what the API server refuses for good */
    ROLES
};

/* What of a version the safety rules read, found out once. Which fields say something depends on
 * the object. */
struct look {
    bool known;
    /* workload */
    bool ready, stuck, at_zero;
    bool answers;    /* some pods of it, perhaps of the revision before */
    int8_t revision; /* also of configs, and of a Service that is a copy of the target */
    /* route */
    bool splits; /* a rule has both backends; the last one counts, those before it hold clients */
    bool rest;   /* what that rule does not match goes to the primary */
    bool canary_serves; /* by any rule */
    bool alone;         /* neither the primary nor the canary is named */
    bool adds_up, mirrored, settled;
    int16_t canary_weight; /* proto/weight.h */
    /* Service */
    bool selects_primary;
    bool labelled; /* route, too: as spec.service.apex.labels asks */
    /* Canary */
    bool refused; /* its spec asks for what this version does not do, has no step, or is no spec */
    bool says;    /* its status has phase and weight */
    const char *fault; /* of its status (test/health.h); NULL if none */
};

/* Events: target and primary in each health, then the gateway, then time, at last until the next
 * look of the judge, then what a scenario has. */
enum { EVENT_GATEWAY = 6, EVENT_MINUTES, EVENT_DAYS, EVENT_LOOK, EVENT_DEEDS, MAX_EVENTS = 40 };

struct event {
    const char *what;
    int place; /* -1: all */
    /* Changes a copy; false: does not apply. */
    bool (*change)(struct arena *arena, struct json_object *tree, const struct event *event);
    const struct kind *kind;
    int number; /* a revision, or a health */
    const char *patch;
    bool deletes, makes;
};

struct model {
    const struct scenario *scenario;
    const struct kind *kind;
    struct objects *objects;
    struct ticks *ticks;
    int place[ROLES];
    struct event events[MAX_EVENTS];
    int n_events;
    struct look *looks[SLOTS]; /* by version */
    uint32_t n_looks[SLOTS];
    uint64_t *hashes[SLOTS]; /* by version: of what is more than status; 0 if not known yet */
    uint32_t n_hashes[SLOTS];
    struct pool happened; /* event and version to version */
    struct pool clusters;
};

struct model *model_new(const struct scenario *scenario);
void model_free(struct model *model);
/* The cluster in which the Canary has not been seen yet, all workloads settled. */
struct cluster model_start(struct model *model);

const struct look *model_look(struct model *model, const struct cluster *cluster, enum role role);
const struct look *model_look_at(struct model *model, const struct cluster *cluster, int place);
const struct canary *model_canary(struct model *model, const struct cluster *cluster);
bool model_is_absent(const struct model *model, const struct cluster *cluster, enum role role);
/* Configs count as a part of the revision: 4 for each other config. */
int model_revision(struct model *model, const struct cluster *cluster);
int model_primary_revision(struct model *model, const struct cluster *cluster);
/* The other Canary is there and has this target, by its spec. */
bool model_has_rival(struct model *model, const struct cluster *cluster);
/* The object of which the API server refuses each write ("services/podinfo"); NULL if none. */
const char *model_refused(struct model *model, const struct cluster *cluster);
/* The engine: a write was refused; a plan was done, or held. */
void model_meet(struct model *model, struct cluster *cluster);
void model_planned(struct model *model, struct cluster *cluster, bool held);
/* Percent of the traffic that the route gives the canary; 0 where there is no route. */
int model_weight(struct model *model, const struct cluster *cluster);

/* False: nothing changes. */
bool model_happen(struct model *model, int event, struct cluster *cluster);
/* Brings target and primary to a health, and lets the gateway take over. */
void model_settle(struct model *model, struct cluster *cluster, enum health target,
                  enum health primary);

/* Time goes on as far as it must to change anything. */
bool model_wait(struct model *model, struct cluster *cluster);

/* Something has changed an object, or several: one of them is among the `places` (a bit each), and
 * it is news. Time that passes changes nothing. */
bool model_is_news(struct model *model, const struct cluster *before, const struct cluster *after,
                   uint32_t places, bool hears_status);

/* One line about a cluster; owned by the arena. */
const char *model_tell(struct model *model, struct arena *arena, const struct cluster *cluster);

#endif
