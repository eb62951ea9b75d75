/*
 * What a workload and its primary tell about a status that another version of Flagger left, whose
 * hashes say nothing (decide/takeover.c).
 */
#ifndef TARGET_COMMON_PAST_H
#define TARGET_COMMON_PAST_H

#include "target/common_workload.h"

/* As target.primary_hash and target.untouched_since. */
const char *past_primary_hash(struct tick *tick, const struct workload *kind,
                              const struct target_info *info);
bool past_untouched_since(struct tick *tick, const struct target_info *info, int64_t ms);

#endif
