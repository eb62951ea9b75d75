/* The canary has the pods for its share before that grows. */
#ifndef DECIDE_SHARE_H
#define DECIDE_SHARE_H

#include "decide/release/release.h"

/*
 * Asked before a step that gives the canary `percent` of all requests. GO: it has the pods for them,
 * or as many as its scaler allows, or none are asked for. STOP: it waits, or the release was rolled
 * back, for it did not get them within the deadline.
 */
enum verdict share_wait(struct release *r, int percent);
/* A release begins: what an autoscaler has given the primary for all traffic is noted, before it
 * shrinks to its share. */
void share_begin(struct release *r);
/* Plans what the canary was asked for, and puts back what is not asked for any more: least numbers of
 * autoscalers that are not ours, too; that of the primary is held at `primary_floor`. GO or
 * NEED_FACTS. */
enum verdict share_hold(struct release *r, int primary_floor);
/* The Canary goes: what was asked of autoscalers is put back, and the most that the target's allows
 * is known to its kind. GO or NEED_FACTS. */
enum verdict share_put_back(struct release *r);
/* The target's own number, for its kind. */
void share_note_own(struct release *r);

#endif
