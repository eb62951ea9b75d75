/*
 * Who is woken by what: when a canary's rules run again. Pure, so that the explorer walks the same
 * rule as the engine, and no state exists in which the rules would act and nobody calls them.
 *
 * A canary is woken by a change of an object that its last tick asked for, and by a timer when its
 * plan wants one. Two kinds of changes are no news: the echo of what it has read or written itself,
 * and, in a phase of rest, a change of nothing but status when the last plan did not look at any.
 * The Canary's own status is an exception: every rule reads it, and nobody else writes it unless
 * something is wrong.
 */
#ifndef TICK_WAKE_H
#define TICK_WAKE_H

#include "tick/tick.h"

/* What the last run of a canary has left. All zero: it has not run yet. Times are monotonic. */
struct wake {
    enum phase phase; /* after the plan */
    bool reads_status;
    int64_t next_due; /* the next step may run from then on; 0: at once */
    int again_now;    /* AGAIN_NOW in a row */
};

/* Initialized, Succeeded, Failed: no step is due at any time, and change is looked for always. */
bool wake_rests(enum phase phase);

/* Progressing to Finalising: a release is under way. */
bool wake_releases(enum phase phase);

/* A run has carried out its plan. began, now: of the run; `phase`: what the plan made of it. */
void wake_ran(struct wake *wake, const struct plan *plan, enum phase phase, int64_t began,
              int64_t interval_ms);
/* The spec cannot be read, and no rule runs: everything is news. */
void wake_forget(struct wake *wake);
/* After how long the rules run again without any event, -1: not at all. For after wake_ran(). */
int64_t wake_after(const struct wake *wake, const struct plan *plan, int64_t began, int64_t now,
                   int64_t interval_ms);
/* AGAIN_NOW was said too often in a row, and the interval is waited for instead. */
bool wake_is_restless(const struct wake *wake);
/* What struct tick has as `due`. An interval that was shortened counts at once. */
bool wake_is_due(struct wake *wake, enum phase phase, int64_t now, int64_t interval_ms);

/* Only an event runs the rules again. */
bool wake_sleeps(const struct plan *plan);
/* A change of nothing but status is news. */
bool wake_hears_status(const struct wake *wake);

/*
 * What of an object is more than status: equal hashes are a change of nothing but status, or none.
 * `news`: a field of status that counts as more, see struct kube_resource; NULL: none. Never 0.
 */
uint64_t wake_spec_hash(struct json_object *object, const char *news);

enum wake_news {
    WAKE_NEWS,
    WAKE_ECHO,   /* the version that is known already */
    WAKE_PAST,   /* the version before what was written: the watch is late */
    WAKE_STATUS, /* nothing but status, and nobody looks at it: known from now on */
};
/* An object that a canary depends on. Of a version only its mark is known, a number that no other
 * version of the object has; that there is no object has a mark of its own. */
struct wake_change {
    uint64_t known;    /* as last read or written; 0: not read yet */
    uint64_t previous; /* before what was written; 0: not written */
    uint64_t now;      /* never 0 */
    bool status_only;
    bool is_canary; /* it is the Canary itself */
};
enum wake_news wake_news(const struct wake_change *change, bool hears_status);

#endif
