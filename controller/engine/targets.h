/*
 * Which Canaries release which target, so that two of the same target are noticed. Constant time
 * per change, however many Canaries there are.
 */
#ifndef ENGINE_TARGETS_H
#define ENGINE_TARGETS_H

struct targets;

struct targets *targets_new(void);
void targets_free(struct targets *targets);
/*
 * `canary` ("name.namespace") releases `target` ("namespace/kind/name") from now on. Returns
 * another Canary that does already, borrowed until the next call, or NULL. Both texts are copied.
 */
const char *targets_claim(struct targets *targets, const char *target, const char *canary);
/* It does not any more. target may be NULL. */
void targets_release(struct targets *targets, const char *target, const char *canary);

#endif
