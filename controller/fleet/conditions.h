/* Conditions of a status. */
#ifndef FLEET_CONDITIONS_H
#define FLEET_CONDITIONS_H

#include "base/json.h"

struct condition {
    const char *type, *reason, *message;
    bool is_so;
};

/* Adds it to an array; its time is that of the old status, or NULL, where it was the same. */
void conditions_add(struct json_object *array, const struct condition *condition,
                    struct json_object *old_status, int64_t now_ms);

#endif
