/* The status of a ReleasePlan as it stands in the object. */
#ifndef FLEET_WAVES_STATUS_H
#define FLEET_WAVES_STATUS_H

#include "fleet/waves.h"

/* What the rules have to remember; what is only told is not read back. Of what nobody could have
 * written nothing is taken: then it is as if it had never been. */
struct waves_status waves_status_read(struct arena *arena, struct json_object *plan);

/* The whole status. old: the one that is there, or NULL, for the times of its conditions. */
struct json_object *waves_status_json(struct arena *arena, const struct releaseplan *plan,
                                      const struct waves_status *status, struct json_object *old,
                                      int64_t now_ms);

#endif
