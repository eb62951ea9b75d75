/* Decides one tick by the rules of a release (rules.c): facts in, plan out. Pure. */
#ifndef DECIDE_DECIDE_H
#define DECIDE_DECIDE_H

#include "tick/tick.h"

/* NEEDS_FACTS: fetch tick->needs and call again; otherwise tick->plan holds the effects. */
enum rule_result decide(struct tick *tick);

/*
 * Calls `found` for each reason for which the rules would refuse the tick's Canary if it were new:
 * one sentence each, starting with the path of the field, without consequential errors. Plans
 * nothing. CONTINUE, or NEEDS_FACTS as for decide().
 */
enum rule_result accept_judge(struct tick *tick, void (*found)(void *arg, const char *sentence),
                              void *arg);

/*
 * The status patch ({"status": ...}) that refuses a Canary which canary_view() could not read, with
 * the message in the condition Accepted=False; NULL if the object already says so; then no event is
 * due.
 */
struct json_object *accept_refusal(struct arena *arena, struct json_object *object,
                                   const char *sentence, int64_t now_ms);

/*
 * canary_view() of the spec that the rules follow. If the live spec cannot be read, *mistake says
 * why (otherwise NULL), and *out is made from the previously accepted spec, or of the parts that a
 * deletion needs. ERR_INVALID if there is neither.
 */
enum err accept_view(struct arena *arena, struct json_object *object, struct canary *out,
                     const char **mistake, struct errinfo *ei) MUST_USE;
/*
 * Like canary_view(), but a Canary being deleted may have an unreadable analysis: *out then has
 * none.
 */
enum err revert_view(struct arena *arena, struct json_object *object, struct canary *out,
                     struct errinfo *ei) MUST_USE;
/*
 * For a Canary that revert_view() could not read: if it is being deleted and waits for our
 * finalizer, plans to release it and returns true. (The tick's canary may be only its name.)
 */
bool revert_unread(struct tick *tick, struct json_object *object, const char *sentence);

#endif
