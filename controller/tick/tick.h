/*
 * A tick: one decision about a Canary, with the time and the options of the controller.
 *
 * The engine makes a tick, gives it the Canary and the time, and calls decide(). A rule asks for
 * facts (need.h) and plans effects (plan.h). An unknown fact is recorded and the rule returns
 * RULE_NEEDS_FACTS. The engine fetches every recorded need, adds the facts (fact.h), resets the
 * plan and calls decide() again from the top, until nothing is missing. A need that cannot be
 * fetched (the API is down) never reaches the rules: the engine ends the tick, reports it, and
 * holds.
 *
 * Everything lives in tick->arena. Nothing here does I/O or reads a clock; trees in facts are
 * never changed: a rule that wants a modified object makes a copy.
 */
#ifndef TICK_TICK_H
#define TICK_TICK_H

#include "kube/resource.h"
#include "proto/canary.h"

struct template_budget; /* metric/template.h */
struct template_kept;
struct channel; /* notify/notify.h */

/*
 * flagger.app/v1beta1 canaries: for effects on the Canary itself, except on its status, which has
 * its own kind of effect.
 */
extern const struct kube_resource tick_canaries;
/*
 * flagger.app/v1alpha1 releaserequests: requests of users about a release, under the Canary's name.
 */
extern const struct kube_resource tick_requests;

/* Options of the controller for the rules. */
struct settings {
    const char *mesh_provider;          /* "istio" */
    const char *metrics_server;         /* "http://prometheus:9090" */
    const char *const *selector_labels; /* NULL-terminated: app, name, app.kubernetes.io/name */
    const char *const *include_label_prefixes; /* NULL-terminated; "*" means all */
    const char *cluster_name;                  /* "" if none */
    /* The lease of this controller, "NAMESPACE/NAME"; NULL if it has none. */
    const char *controller;
    /* Channel for alerts of Canaries without analysis.alerts; NULL if none. */
    const struct channel *alerts;
    const char *canaries_url; /* prefix of NAMESPACE/NAME in the address of a Canary's page; NULL if
                               * none */
    /* Prefix of NGINX annotations; NULL or "": nginx.ingress.kubernetes.io. */
    const char *ingress_prefix;
    const char *ingress_class; /* class of Contour routes; NULL or "": none */
    bool config_tracking;
    bool no_cross_namespace_refs;
    bool group_queries; /* send built-in queries for many workloads at once */
    bool mesh_apart;    /* the mesh has a cluster of its own: objects there have no owner */
    int64_t min_analysis_interval_ms; /* floor of spec.analysis.interval, 10 s */
};

/* The settings of a controller without options, and the defaults of those options. */
extern const struct settings settings_default;
#define SETTINGS_MESH_PROVIDER   "istio"
#define SETTINGS_METRICS_SERVER  "http://prometheus:9090"
#define SETTINGS_SELECTOR_LABELS "app,name,app.kubernetes.io/name"
#define SETTINGS_MIN_INTERVAL    "10s"

enum rule_result {
    RULE_CONTINUE,    /* continue with the next rule */
    RULE_NEEDS_FACTS, /* facts are missing: call again from the top */
    RULE_DONE,        /* the plan is complete, this tick ends */
};

/* An alert of this Canary that this process is sending. */
struct alert_state {
    const char *key;
    bool done;           /* delivered to every channel, or given up */
    const char *trouble; /* why a channel has not accepted it, one sentence; NULL if none */
    const char *const *delivered; /* names of channels that have accepted it, NULL-terminated */
};

/*
 * Another controller that also manages this Canary (decide/takeover.h): the one named in its
 * status, or the previous one, if this process has just replaced it.
 */
enum peer_state {
    PEER_UNKNOWN, /* its lease is not checked yet; the engine calls again once it is */
    PEER_LIVES,
    PEER_GONE, /* its lease is not renewed, or it no longer manages this Canary */
};
struct peer_controller {
    const char *lease; /* "NAMESPACE/NAME"; NULL if there is none */
    enum peer_state state;
    /* Why its lease cannot be read; it counts as alive then. NULL if it can be read. */
    const char *trouble;
    bool told; /* its control of this Canary has been reported */
};

/* A write that the API server has just rejected for a reason other than missing permission. */
struct refused_write {
    const char *resource, *name; /* "services", "podinfo-canary" */
    const char *text; /* the API server's message; NULL if none was rejected, or if reported */
};

/* Limit of the texts of a tick, in bytes; beyond it, rules get no more facts. Objects that rules
 * read are limited by kube/reply.h. */
enum { TICK_MOST = 32 * 1024 * 1024 };

struct tick;
struct need;
/* Adds the fact; does nothing if it cannot be obtained. */
typedef void (*tick_answer_fn)(void *arg, struct tick *tick, const struct need *need);

struct tick {
    struct arena *arena;
    int64_t now_ms; /* wall clock */
    /* When the wall clock was last set (tick_since()); 0: not since this process started. */
    int64_t stepped_at_ms;
    /* The view that the rules follow: `live`, or the spec accepted before (tick_follow()). */
    const struct canary *canary;
    const struct canary *live; /* as read */
    /* Why the spec cannot be read; `live` then has the previously accepted one. NULL if it can. */
    const char *mistake;
    /*
     * The reason why this Canary must wait for another one with the same target or Services; NULL
     * if it need not wait. locked_out: everything that it was accepted with belongs to other
     * Canaries.
     */
    const char *conflict;
    bool locked_out;
    /*
     * Another Canary, "name.namespace", that keeps the target when this one is deleted; NULL if
     * none.
     */
    const char *successor;
    /* Other Canaries have reached the limit of concurrent releases: no further release begins. */
    bool queued;
    struct peer_controller peer;
    /*
     * This process has written its name into the status. If it is missing, Flagger's CRD has
     * dropped it.
     */
    bool claimed;
    const struct alert_state *alerts;
    int n_alerts;
    /* The text of the provider of the last metric query, private to tick.c. */
    struct json_object *asked_provider;
    const char *asked_text;
    const struct settings *settings;
    const char *provider; /* canary->provider or the settings' */
    /*
     * True if an analysis interval has passed since a plan of this Canary last set `stepped`, if
     * none has done so yet in this process, and always in idle phases (Initialized, Succeeded,
     * Failed). Watch events run the rules at any time: detection and repair always run; gates,
     * checks, weight steps, traffic shifts and repeated events only when due, so that their cadence
     * is the interval.
     */
    bool due;
    struct fact *facts;
    struct need *needs;
    /* Provides facts within a round if they are already known; NULL: each waits for the next
     * round. */
    tick_answer_fn answer;
    void *answer_arg;
    struct plan *plan;
    /* Remaining budget for templates in this round; NULL if none was rendered yet. */
    struct template_budget *budget;
    struct template_kept *templates; /* parsed templates; NULL: not cached */
    const char *kind;                /* canary->target.kind, for event texts */
    const char *broken;              /* see tick_broken(); NULL if no invariant is broken */
    /*
     * The API server's message when a rule needed an object in this round that the controller may
     * not read, or when the last run could not write for the same reason; NULL if neither. The rest
     * of the plan is then void (decide/refused_write.h).
     */
    const char *denied, *unwritable;
    /*
     * The ports that routes lead to in place of those of spec.service, which a Service cannot get
     * yet: of both sides, with its targetPort (NULL if it has none), and of the apex. 0: those of
     * the spec. Of this round.
     */
    int route_port, apex_port;
    struct json_object *route_target_port;
    struct refused_write refused_write; /* from the end of the last run (decide/refused_write.h) */
};

/* canary and settings must outlive the tick; the plan starts empty. Lives in the arena. */
struct tick *tick_new(struct arena *arena, const struct canary *canary,
                      const struct settings *settings, int64_t now_ms, bool due);
/* Replaces the Canary by a newly read one; the facts stay. */
void tick_see(struct tick *tick, const struct canary *canary);
/* Clears needs and plan, keeps facts, and follows `live` again: before each further decide(). */
void tick_reset(struct tick *tick);
/* The port of the Services of both sides that routes lead to. */
int tick_route_port(const struct tick *tick);
/* The pods' port of the same: a number, or the port's number where it has a name or is not given. */
int64_t tick_route_target_port(const struct tick *tick);
/* The port of the apex Service that clients call. */
int tick_apex_port(const struct tick *tick);
/* Makes the tick follow this view of the same Canary, which must outlive it. */
void tick_follow(struct tick *tick, const struct canary *canary);
/*
 * Reports a broken invariant. Rules have no assert(): one bad state must not end the process for
 * all Canaries. The plan is not applied; the engine reports it as an error of this Canary and
 * retries later. The first message is kept. Returns RULE_DONE.
 */
enum rule_result tick_broken(struct tick *tick, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * The interval of a Canary: analysis.interval, at least the minimum of the settings; the minimum
 * itself during deletion, since a user is waiting.
 */
int64_t tick_canary_interval_ms(const struct canary *canary, const struct settings *settings);
int64_t tick_interval_ms(const struct tick *tick);
/*
 * The effective start of a wait that an object dates at since_ms: not before the wall clock was
 * last set, which makes recent times look old. For a time more than a minute in the future: the
 * time at which the clock was set, or otherwise now. So a wait gets its full time after a step of
 * the clock, and no more.
 */
int64_t tick_since(const struct tick *tick, int64_t since_ms);
/* True if the time is more than a minute in the future: a wrong clock wrote it. */
bool tick_is_ahead(const struct tick *tick, int64_t ms);
/* The Canary's progress deadline. */
int64_t tick_deadline_ms(const struct tick *tick);
/* True if the progress deadline has passed since then. */
bool tick_deadline_passed(const struct tick *tick, int64_t since_ms);
/* True if a wait since then, as tick_since() counts it, is longer than the progress deadline. */
bool tick_is_overdue(const struct tick *tick, int64_t since_ms);
/*
 * True if the wall clock was set less than a progress deadline ago: other controllers with the same
 * clock may have seen their deadlines pass.
 */
bool tick_was_stepped(const struct tick *tick);

#endif
