/* The state of a Canary: the outcome of a revision, and a summary. Pure functions of the objects.
 */
#ifndef CTL_STATE_H
#define CTL_STATE_H

#include "base/json.h"
#include "ctl/ctl.h"
#include "ctl/output.h"

struct verdict_question {
    struct json_object *canary;
    struct json_object *target;  /* NULL if unknown */
    struct json_object *primary; /* the same */
    const char *live;            /* hash of the target's current revision, NULL if unknown */
    const char *revision; /* revision requested by hash, NULL: by image, or the target's newest */
    const char *image;    /* revision requested by image, NULL: it was not */
};

struct verdict_answer {
    /* CTL_DONE: promoted; CTL_FAILED; CTL_PERSON: it waits for a user; CTL_SUPERSEDED;
     * CTL_TIMED_OUT: it is under way, or has not started. */
    enum ctl_exit outcome;
    const char *revision; /* "" if unknown */
    const char *sentence; /* for users */
};

/* "promoted", "failed", "waiting", "superseded", "progressing". */
const char *verdict_name(enum ctl_exit outcome);
void verdict_of(struct arena *arena, const struct verdict_question *question,
                struct verdict_answer *out);

/* --- the summary of a Canary; texts are borrowed from the object or owned by the arena */

struct glance {
    const char *namespace_, *name;
    const char *phase;    /* "" before the controller has seen it */
    const char *revision; /* the hash that was last analysed, "" if none */
    int weight;           /* share of the canary, in hundredths of a percent */
    bool matches;         /* the share is one of the requests that a step matches */
    int copied;           /* percentage of the requests that a step copies to it; 0 if none */
    int failed_checks, threshold;
    const char *since;  /* when the status was last written; NULL if never */
    const char *reason; /* main reason in one word (decide/waiting.h), "" if all is well */
};
void glance_at(struct arena *arena, struct json_object *canary, struct glance *out);
/* "20%", "matches" or "copy of 50%": the canary's part of the traffic. Owned by the arena. */
const char *glance_share(struct arena *arena, const struct glance *at);

/* Green if all is well, red if a user must act, yellow in between. */
enum print_color glance_color(const char *phase);
/* The condition of this type, NULL if there is none. */
struct json_object *glance_condition(struct json_object *canary, const char *type);
/* The texts of the gates that let a release pass (`release` or an entry of `history` in the
 * status): "promote: Approved by alice: looks good", cleaned, joined by "; "; "" if no gate gave a
 * text. */
const char *glance_approvals(struct arena *arena, struct json_object *release);
/* True if this workload has fewer ready pods of its current revision than it should have; false if
 * it reports neither number. */
bool glance_falls_short(struct json_object *object, int64_t *ready, int64_t *wanted);

#endif
