/* Webhooks that decide, and those that only inform. */
#ifndef DECIDE_HOOKS_H
#define DECIDE_HOOKS_H

#include "decide/release/release.h"

/* The analysis has a hook of this type. */
bool hooks_has(const struct release *r, enum hook_type type);
/* The informing hooks at the end of a release. */
void hooks_post_rollout(struct release *r, enum phase phase);

/* The checksum of the revision that this release is about: hooks are asked about it. */
const char *hooks_revision(struct release *r);
/* For checks. GO: every hook of the type agreed (or there is none). STOP: one did not, and *closed
 * is it. */
enum verdict hooks_ask(struct release *r, enum hook_type type, enum phase phase,
                       const char *passed_text, const struct canary_webhook **closed,
                       const struct hook_answer **answer);

#endif
