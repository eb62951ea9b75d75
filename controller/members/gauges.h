/* The metrics of the fleet. */
#ifndef MEMBERS_GAUGES_H
#define MEMBERS_GAUGES_H

#include "members/members.h"

/* From now on they tell of this daemon; NULL: of none. */
void gauges_watch(const struct members *members);

#endif
