/*
 * A cluster in memory for golden cases: objects by name, workload controllers that are done at
 * once, metrics and webhooks that answer what a case tells them to. A tick gathers facts, decides
 * and applies the plan's effects; after each effect the safety rules of a release are checked.
 *
 * Texts that cases give are JSON with single quotes. Everything lives in the world's arena.
 */
#ifndef GOLDEN_WORLD_H
#define GOLDEN_WORLD_H

#include "base/json.h"
#include "decide/decide.h"
#include "notify/notify.h"
#include "tick/wake.h"

/* For settings.alerts; who it is does not matter to the rules. */
extern const struct channel world_receiver;

/* Under a sanitizer, which takes four times as long, a case takes only every so manieth of its many
 * cuts, edits or seeds; the other builds take all. */
#ifdef __SANITIZE_ADDRESS__
enum { WORLD_EVERY = 8 };
#else
enum { WORLD_EVERY = 1 };
#endif

struct world {
    struct arena *arena;
    struct json_object *objects; /* "deployments/podinfo" to object */
    struct json_object *canary;
    struct json_object *metrics; /* question id to value; a string is an error, null is no values */
    const char *closed;          /* names of webhooks that refuse, space-separated */
    const char *open;            /* names of rollback webhooks that agree; the others refuse */
    const char *unasked;         /* names of webhooks that cannot be asked */
    const char *answered;        /* the answer of webhooks that agree */
    struct json_object *asked;   /* webhooks in the order they were asked in the last tick */
    const char *about;           /* the checksum that they were asked about, "" if none was */
    bool remembers;              /* deleted objects as last seen: the process was not restarted */
    struct json_object *last;    /* that, by key */
    bool asks_start;             /* ... one of them whether a release may begin */
    const char *let_in;          /* checksums to which a confirm-rollout agreed, space-separated */
    struct settings settings;
    const char *conflict; /* as in struct tick: how it stands to another Canary */
    bool locked_out;
    /* The lease of another controller, which lives, or is gone; else not known. */
    const char *other;
    bool other_lives, other_gone, other_told, claimed;
    bool queued;
    const char *successor;
    bool drops_percent;   /* the API server knows no requestMirror.percent */
    const char *unserved; /* plurals of resources whose CRD is not installed, space-separated */
    const char *late;     /* ... whose watch has not shown yet that there are any */
    bool flaggers_crd;    /* ... nor any field of the status that Flagger does not have */
    struct json_object *dropped_spec; /* the spec that was to be remembered there; NULL if none */
    int64_t now_ms;
    int64_t stepped_at_ms; /* as in struct tick */
    bool due;
    int versions;
    int effects;      /* writes applied so far */
    int crash_at;     /* the tick is cut off before this write; -1: never */
    bool crash_after; /* ... or behind it, before anything is told */
    bool crashed;     /* in the last tick */
    bool safety_off;  /* the safety rules are not checked */
    bool gone;        /* the Canary was deleted, and what it owned */
    bool in_rounds;   /* turns: the rules get each fact by a round, or what is watched within one */
    enum rule_result (*decides)(void *arg, struct tick *tick); /* NULL: decide() */
    void *decides_arg;
    const char *lost_route; /* one that was collected together with its Services; NULL if none */
    enum requeue requeue;   /* of the last tick */
    const char *query;      /* the last one that a metric server was asked */
    const char *queries;    /* all of the last tick, "metrics[0]: up" one per line */
    const char *at_once;    /* those of them that were asked before any was answered */
    /* Autoscalers of both sides, where an HPA or a ScaledObject is there: */
    int load;     /* pods that all traffic needs; 0: nothing scales */
    int room;     /* no more of the primary's pods get ready; 0: all do */
    int measured; /* the canary's weight (proto/weight.h) as autoscalers know it: a settling late */
    int routed;   /* the canary's weight before the last effect */
    int64_t served_ms; /* when the target last had traffic */
    bool was_down;     /* the target was at zero, or its scaler paused, before the plan */
    const char *told;  /* events, alerts, outcomes of all ticks, one per line */
    /* Alerts that this process has taken over to send, by key, and why they are not delivered: "":
     * not yet; NULL: they are. */
    struct json_object *alerts;
    const char *undelivered;
    const char *delivered; /* the name of a channel that has taken all of them; NULL if none */
    const char *denied;    /* plurals that may not be read */
    const char *refuses;   /* objects of which the API server takes no write, "services/podinfo" */
    struct refused_write refused; /* by it, until the rules have told it; and the last one */
    bool refused_told, refuses_now;
    int64_t refused_since; /* by ticks in a row; 0 if none */
    bool between;          /* the next tick is not due: it tries a write that was done without */
    const char *received;  /* by somebody who acts on each key once: "info: text", one per line */
    const char *seen;      /* the keys */
    bool restarted;        /* it is another process: it knows of none */
    const char *analysed;  /* images whose analysis has begun, space-separated */
    /* For world_turn(), see world_wake.h: */
    struct wake wake;
    struct plan plan;            /* of the last tick; its effects are gone */
    struct json_object *depends; /* keys of what the last tick asked for; NULL: none yet */
    bool performing;             /* what changes is its own work */
    bool woken;
    int64_t timer_at; /* -1: no timer */
};

/* podinfo in namespace test, of the kind that targetRef says, HTTPRoute gateway, stepWeight 10 to
 * 50, threshold 2. `patch` changes the Canary. */
struct world *world_new(const char *patch);
void world_free(struct world *world);
/* The same cluster once more, to go on from here in several ways. It borrows the texts of `from`,
 * which must outlive it. */
struct world *world_copy(const struct world *from);
struct json_object *world_json(struct world *world, const char *quoted);
void world_patch_canary(struct world *world, const char *patch);
/* Changes an object, as a person or another controller would. NULL patch deletes it. */
void world_patch(struct world *world, const char *key, const char *patch);
void world_put(struct world *world, const char *key, const char *object);
struct json_object *world_get(struct world *world, const char *key);
/* kubectl delete: the Canary goes at once, or when its last finalizer does. */
void world_delete(struct world *world);
void world_push(struct world *world, const char *image); /* a new revision of the target */

/* One tick with all of its plan (or up to the crash). Returns what was planned, as plan_print(). */
const char *world_tick(struct world *world);
/* The same, but only if the engine would: something has woken the canary, or its time has come.
 * "asleep\n" otherwise. */
const char *world_turn(struct world *world);
/* Every workload reaches the state it can: an image with "stuck" never gets ready and runs into its
 * deadline, one with "slow" is not ready yet. */
void world_settle(struct world *world);
/* A tick; then an interval passes, unless the plan wants to be followed at once, and the workloads
 * settle. True: nothing was done, and nothing is to be done; then no time passes. */
bool world_step(struct world *world);
/* Steps until nothing is to be done. Fails the test after 60. */
void world_run(struct world *world);
void world_initialise(struct world *world);

const char *world_phase(struct world *world);
/* Fails the test where the status is none that other tools can read (test/health.h). */
void world_check_status(struct world *world);
int world_status_int(struct world *world, const char *key);
/* of the revision that the status speaks of, as webhooks are told it */
const char *world_checksum(struct world *world);
/* "90/10" of the HTTPRoute */
const char *world_weights(struct world *world);
/* "deployments/podinfo-primary", of the target's kind */
const char *world_key(struct world *world, const char *name);
const char *world_image(struct world *world, const char *name);
/* Its rules, one a line: "x=insider: 0/100", "all: 80/20, podinfo-canary gives c=...". */
const char *world_routes(struct world *world);
/* The whole state without versions and times: equal texts are equal clusters. */
const char *world_state(struct world *world);

/* Ticks until the phase is `until` ("": until nothing is left to do). Returns the events of every
 * tick, and below them the rules of the route where they have changed. */
const char *world_story(struct world *world, const char *until);

/* Ticks and compares the plan. */
#define expect_tick(world, text) expect_tick_at((world), (text), __FILE__, __LINE__)
void expect_tick_at(struct world *world, const char *text, const char *file, int line);

#endif
