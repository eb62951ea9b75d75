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
    const char *live;            /* hash of the revision that the target has, NULL if unknown */
    const char *revision;        /* asked for by its hash, NULL: by image, or the target's newest */
    const char *image;           /* asked for by an image, NULL: not so */
};

struct verdict_answer {
    /* CTL_DONE: promoted; CTL_FAILED; CTL_PERSON: it waits for a person; CTL_SUPERSEDED;
     * CTL_TIMED_OUT: it is under way, or has not begun. */
    enum ctl_exit outcome;
    const char *revision; /* "" if unknown */
    const char *sentence; /* for people */
};

/* "promoted", "failed", "waiting", "superseded", "progressing". */
const char *verdict_name(enum ctl_exit outcome);
void verdict_of(struct arena *arena, const struct verdict_question *question,
                struct verdict_answer *out);

/* --- the summary of a Canary; texts are borrowed from the object or owned by the arena */

struct glance {
    const char *namespace_, *name;
    const char *phase;    /* "" before the controller has seen it */
    const char *revision; /* the hash that was analysed last, "" if none */
    int weight;           /* routed to the canary, in hundredths of a percent */
    bool matches;         /* of the requests that a step matches */
    int copied;           /* percent of the requests that a step copies to it; 0 if none */
    int failed_checks, threshold;
    const char *since;  /* when the status was last written; NULL if never */
    const char *reason; /* one word of what counts most (decide/waiting.h), "" if all is well */
};
void glance_at(struct arena *arena, struct json_object *canary, struct glance *out);
/* "20%", "matches" or "copy of 50%": what the canary has of the traffic. Owned by the arena. */
const char *glance_share(struct arena *arena, const struct glance *at);

/* Green if all is well, red if a person must act, yellow in between. */
enum print_color glance_color(const char *phase);
/* The condition of this type, NULL if there is none. */
struct json_object *glance_condition(struct json_object *canary, const char *type);
/* Answers of the gates that let a release through (`release` or an entry of `history` of the
 * status): "promote: Approved by alice: looks good", cleaned, joined by "; "; "" if no gate gave a
 * text. */
const char *glance_approvals(struct arena *arena, struct json_object *release);
/* True if fewer pods of this workload are ready, of its present revision, than it asks for; false
 * for what says neither. */
bool glance_falls_short(struct json_object *object, int64_t *ready, int64_t *wanted);

#endif
