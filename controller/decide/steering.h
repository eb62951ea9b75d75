/*
 * Requests of users about a release (decide/RULES.md): their record in the status, and their
 * objects.
 *
 * Recorded: paused, analysis ended, analysed again. A person's pause belongs to the Canary and
 * lasts until a person ends it; a gate's pause and the other requests are about one revision and
 * end with its release.
 */
#ifndef DECIDE_STEERING_H
#define DECIDE_STEERING_H

#include "decide/release.h"

/*
 * The revision being released, or to be released: the revision of the status while analysing or
 * promoting, otherwise that of the target. "" if there is none at the moment.
 */
const char *steering_revision(const struct release *r);

/* State at the beginning of the tick; all but the first concern that revision. */
bool steering_is_paused(const struct release *r);
bool steering_is_at_gate(const struct release *r);        /* paused by its spec, not by a person */
bool steering_is_analysed_again(const struct release *r); /* although it has failed */
bool steering_ends_analysis(const struct release *r);     /* promoted without further analysis */
/* True if deadlines of unready sides are suspended: the release is paused, or was recently. */
bool steering_stops_clock(const struct release *r);

/* These record a request. */
void steering_pause(struct release *r, const char *by, const char *why);
/* The spec asks for a pause; `gate` is its path. The pause belongs to the release and ends with
 * it. */
void steering_pause_at_gate(struct release *r, const char *gate, const char *why);
void steering_resume(struct release *r);
void steering_analyse_again(struct release *r);
void steering_end_analysis(struct release *r);
/* A person has ended the pause. */
void steering_end_pause(struct release *r);
/* The release has ended or restarts: forgets the requests about its revision. */
void steering_forget(struct release *r);
/* Forgets requests about other revisions; a pause applies to the current one. */
void steering_forget_others(struct release *r);

/*
 * A ReleaseRequest: an action that a user requests for the release of a Canary. The object has the
 * Canary's name, so that there is one request at a time. It is carried out once: the result goes
 * into status.requests with the status that carries the change; a process that finds its uid there
 * only deletes the object.
 *
 * Without its CRD, or the permission to watch it, there are no requests. Any user who may create
 * the object may write any name into it: the name counts only if the admission policy of
 * deploy/people was in force at creation; otherwise "(not proven)" is appended.
 */

struct request {
    struct json_object *object;
    const char *uid;
    const char *action, *revision, *by; /* "" if missing; by: in the form that is shown */
    const char *why;                    /* "" if no reason was given */
};

/* CONTINUE: *out is a request that was not carried out yet; NULL if there is none. */
enum rule_result request_find(struct release *r, const struct request **out);
/* Plans to delete the object if the request was carried out before. False if there is no
 * request. */
bool request_clear(struct release *r);
/*
 * The request was carried out, or refused with a sentence: records that in status.requests and in
 * an event. The rules run again at once, to delete the object.
 */
void request_done(struct release *r, const struct request *request, const char *sentence);
void request_refused(struct release *r, const struct request *request, const char *sentence);
/* If the status cannot record the request: reports it in an event, and deletes it with this
 * plan. */
void request_turn_away(struct release *r, const struct request *request, const char *sentence);
/* "alice: why" */
const char *request_who(struct release *r, const struct request *request);

#endif
