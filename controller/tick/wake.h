/*
 * Wake-ups: the times at which a Canary's rules run again. Pure, so that the explorer uses the same
 * rule as the engine, and shows that no state exists in which the rules would act but are not
 * called.
 *
 * A Canary is woken by a change of an object that its last tick needed, and by a timer if its plan
 * wants one. Two kinds of changes do not wake it: echoes of its own reads and writes, and, in an
 * idle phase, a change of nothing but the status if the last plan read none. The Canary's own
 * status is an exception: every rule reads it, and only this controller should write it.
 */
#ifndef TICK_WAKE_H
#define TICK_WAKE_H

#include "tick/plan.h"
#include "tick/tick.h"

/* State left by the last run of a Canary. All zero: it has not run yet. Times are monotonic. */
struct wake {
    enum phase phase; /* after the plan */
    bool reads_status;
    int64_t next_due; /* the earliest time of the next step; 0: at once */
    int requeues_now; /* AGAIN_NOW in a row */
};

/* Initialized, Succeeded, Failed: no step is due, and changes are always detected. */
bool wake_rests(enum phase phase);

/* Progressing to Finalising: a release is under way. */
bool wake_releases(enum phase phase);

/* A run has applied its plan. began, now: of the run; `phase`: set by the plan. */
void wake_ran(struct wake *wake, const struct plan *plan, enum phase phase, int64_t began,
              int64_t interval_ms);
/* The spec cannot be read and no rule runs: every change wakes the Canary. */
void wake_forget(struct wake *wake);
/* Delay until the rules run again without an event; -1: they do not. After wake_ran(). */
int64_t wake_after(const struct wake *wake, const struct plan *plan, int64_t began, int64_t now,
                   int64_t interval_ms);
/* True if AGAIN_NOW was repeated too often, so that the next run waits for the interval. */
bool wake_is_restless(const struct wake *wake);
/* The `due` of struct tick. A shortened interval counts at once. */
bool wake_is_due(struct wake *wake, enum phase phase, int64_t now, int64_t interval_ms);

/* True if only an event runs the rules again. */
bool wake_sleeps(const struct plan *plan);
/* True if a change of nothing but status wakes the Canary. */
bool wake_hears_status(const struct wake *wake);

/*
 * Hash of everything in an object except its status: equal hashes mean that at most the status has
 * changed. `news`: a field of status that counts as well, see struct kube_resource; NULL if none.
 * Never 0.
 */
uint64_t wake_spec_hash(struct json_object *object, const char *news);

enum wake_news {
    WAKE_NEWS,
    WAKE_ECHO,   /* the known version */
    WAKE_PAST,   /* the version before our write: the watch is late */
    WAKE_STATUS, /* only status, which no rule reads: now the known version */
};
/*
 * An object that a Canary depends on. Versions are marks, numbers that differ between versions;
 * absence has a mark of its own.
 */
struct wake_change {
    uint64_t known;    /* as last read or written; 0 if not read yet */
    uint64_t previous; /* before our write; 0 if not written */
    uint64_t now;      /* never 0 */
    bool status_only;
    bool is_canary; /* the Canary itself */
};
enum wake_news wake_news(const struct wake_change *change, bool hears_status);

#endif
