/*
 * What tools that know nothing of releases make of a Canary's status, in own words: the health check of Argo CD,
 * which compares the weight with numbers and looks the phase up, and the rules of kstatus (Flux, kpt), which read
 * observedGeneration and conditions of any kind of object. Neither asks whether a field is there.
 */
#ifndef TEST_HEALTH_H
#define TEST_HEALTH_H

#include "base/json.h"

/* The first of them that the status breaks; NULL if none, or without a status. */
const char *health_fault(struct json_object *canary);

#endif
