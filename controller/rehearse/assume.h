/* What a Canary needs and nobody has given: made up as simply as it can be. */
#ifndef REHEARSE_ASSUME_H
#define REHEARSE_ASSUME_H

#include "tick/tick.h"

/* An object that the Canary names, owned by the arena; NULL: it does not exist until it is made. */
struct json_object *assumed_object(struct arena *arena, const struct canary *canary,
                                   const struct kube_resource *resource, const char *namespace_,
                                   const char *name);
/* What each check wants to hear. */
struct metric_answer assumed_metric(const struct tick *tick,
                                    const struct metric_question *question);
/* It asks for a count of the judge, which is looked at all the time. */
bool assumed_is_count(const struct metric_question *question);

#endif
