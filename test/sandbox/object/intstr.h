/* Int-or-percent values of a rollout's limits: 1, "25%". */
#ifndef OBJECT_INTSTR_H
#define OBJECT_INTSTR_H

#include <json-c/json.h>
#include <stdbool.h>

#include "base/err.h"

/*
 * intstr.GetScaledValueFromIntOrPercent: an int as it is, "N%" of total rounded up or down. obj
 * NULL gives missing. ERR_INVALID for anything else.
 */
enum err intstr_scaled(struct json_object *obj, int total, bool round_up, int missing, int *out,
                       struct errinfo *ei) MUST_USE;

#endif
