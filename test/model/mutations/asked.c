/* What people ask of a release, carried out wrongly. */
#include "mutations/mutation.h"
#include "tick/need.h"

static bool clears_nothing(struct release *r)
{
    (void)r;
    return false;
}
MUTATION("a request that is done with is not deleted", "asked to promote or roll back",
         .acts.request_clear = clears_nothing)

/* Of a request, whatever is released. */
static const char *revision_of_request(const struct release *r)
{
    struct json_object *object = NULL;
    const char *asked = NULL;

    if (need_object_if_watched(r->tick, &tick_requests, r->canary->namespace_, r->canary->name,
                               &object))
        asked = json_str_at(object, "spec", "revision", NULL);
    return asked ? asked : real_steering_revision(r);
}
MUTATION("a request is carried out whatever revision it is about", "asked to promote or roll back",
         .rule = steer_carry_out, .acts.steering_revision = revision_of_request)

MUTATION("a request for the promotion does not ask the gate", "asked to promote or roll back",
         .rule = steer_promote, .acts.gates_confirm_promotion = mutation_nothing)

MUTATION("a release that is paused takes its steps", "asked to pause and resume",
         .rule = steer_hold, .ask = mutation_nothing)

/* --- gates of steps */

static void pause_nothing(struct release *r, const char *gate, const char *why)
{
    (void)r;
    (void)gate;
    (void)why;
}
MUTATION("a gate of a step pauses nothing", "steps with a gate",
         .acts.steering_pause_at_gate = pause_nothing)

static bool never_at_gate(const struct release *r)
{
    (void)r;
    return false;
}
MUTATION("the pause of a gate outlives its release", "steps with a gate",
         .acts.steering_is_at_gate = never_at_gate)
