/*
 * A ReleaseRequest: what a person asks of the release of a Canary, in an object of the Canary's
 * name, so that there is one at a time. It is carried out once: what came of it is written into
 * status.requests with the very status that carries the change; whoever finds it there, by its uid,
 * only deletes the object.
 *
 * Where its CRD is not served, or may not be watched, nobody asks. Whoever may make the object may write any
 * name into it: it counts as it stands only where the admission policy of deploy/people was in force when
 * it was made, and has "(not proven)" behind it otherwise.
 */
#ifndef DECIDE_REQUEST_H
#define DECIDE_REQUEST_H

#include "decide/release/release.h"

struct request {
    struct json_object *object;
    const char *uid;
    const char *action, *revision, *by; /* "" where the object does not say it; by as it is shown */
    const char *why;                    /* "": no reason was given */
};

/* GO: *out is what is asked and not done with yet; NULL: nothing. */
enum verdict request_find(struct release *r, const struct request **out);
/* It was done with before: the plan deletes the object. False: there is no such one. */
bool request_clear(struct release *r);
/* Done, or refused, with a sentence: in status.requests and in an event. The rules run again at
 * once, to delete the object. */
void request_done(struct release *r, const struct request *request, const char *sentence);
void request_refused(struct release *r, const struct request *request, const char *sentence);
/* Where the status cannot remember it: told in an event, and deleted with this plan. */
void request_turn_away(struct release *r, const struct request *request, const char *sentence);
/* "alice: why" */
const char *request_who(struct release *r, const struct request *request);

#endif
