/* What a tick decides, by the rules of a release (rules.c): facts in, plan out. Pure. */
#ifndef DECIDE_DECIDE_H
#define DECIDE_DECIDE_H

#include "tick/tick.h"

/* NEED_FACTS: fetch tick->needs and call again; otherwise tick->plan is what to do. */
enum verdict decide(struct tick *tick);

/*
 * Tells why the rules would refuse the tick's Canary if it were new: a sentence for each reason
 * that is not due to another one, beginning with the field's path. Nothing is planned. GO, or
 * NEED_FACTS as of decide().
 */
enum verdict accept_judge(struct tick *tick, void (*found)(void *arg, const char *sentence),
                          void *arg);

/*
 * The status patch ({"status": ...}) that refuses a Canary which canary_view() could not read, with
 * the sentence in the condition Accepted=False; NULL when the object says so already, and then no
 * event is due either.
 */
struct json_object *accept_refusal(struct arena *arena, struct json_object *object,
                                   const char *sentence, int64_t now_ms);

/*
 * canary_view() of what the rules are to follow. Where the spec cannot be read, *mistake says why
 * (NULL: it can), and *out is made of the spec that was accepted before it, or of what a deletion
 * needs. ERR_INVALID when there is no such thing either.
 */
enum err accept_view(struct arena *arena, struct json_object *object, struct canary *out,
                     const char **mistake, struct errinfo *ei) MUST_USE;
/*
 * canary_view(), but a Canary that is being deleted need not have an analysis that can be read:
 * *out has none then.
 */
enum err revert_view(struct arena *arena, struct json_object *object, struct canary *out,
                     struct errinfo *ei) MUST_USE;
/*
 * For one that revert_view() could not read: true, and the plan lets it go, when it is being
 * deleted and waits for us. (tick's canary need not be more than its name.)
 */
bool revert_unread(struct tick *tick, struct json_object *object, const char *sentence);

#endif
