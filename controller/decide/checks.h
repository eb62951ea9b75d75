/*
 * Failed checks, and the questions that can fail: webhooks and metrics without an answer.
 *
 * The message of the last failed check is sent as an event and kept in the condition ChecksPassed,
 * so that a later rollback can give the reason. It stays until the checks pass or the next
 * analysis begins.
 */
#ifndef DECIDE_CHECKS_H
#define DECIDE_CHECKS_H

#include "decide/release.h"

/* reason: that of the condition, such as "OutOfRange". Returns DONE. */
enum rule_result checks_failed(struct release *r, const char *reason, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
void checks_passed(struct release *r);
/* The message of the last failed check; "" if none. */
const char *checks_why(const struct release *r);

/* Webhooks that decide, and webhooks that only receive information. */

/* True if the analysis has a hook of this type. */
bool hooks_has(const struct release *r, enum hook_type type);
/* The informing hooks at the end of a release. */
void hooks_post_rollout(struct release *r, enum phase phase);

/* The checksum of the revision of this release, for hooks. */
const char *hooks_revision(struct release *r);
/* CONTINUE: every hook of the type agreed, or none exists. DONE: *closed did not agree. */
enum rule_result hooks_ask(struct release *r, enum hook_type type, enum phase phase,
                           const char *passed_text, const struct canary_webhook **closed,
                           const struct hook_answer **answer);

/* Metric servers without an answer. */

/*
 * sentence: describes the missing answer; reason: that of the condition. CONTINUE: nothing is
 * counted. DONE: a check failed.
 */
enum rule_result metrics_unmeasured(struct release *r, enum canary_policy policy,
                                    const char *reason, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* A load test has no figures yet: the step waits. Returns CONTINUE. */
enum rule_result metrics_load_runs(struct release *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void metrics_measured(struct release *r); /* all metrics have answered: ends a hold */

#endif
