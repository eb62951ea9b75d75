/*
 * History of releases in the status (decide/STATUS.md): `release` for the current one, `history`
 * for ended ones. For users: the rules read only the beginning of the analysis. They are written
 * with a status patch that is written anyway, and cost no request. A CRD without these fields drops
 * them; then there is no history.
 *
 * The size is limited: the last steps of a release, the last releases of a Canary, truncated texts,
 * and a total number of bytes.
 */
#ifndef DECIDE_HISTORY_H
#define DECIDE_HISTORY_H

#include "decide/release.h"

enum {
    HISTORY_RELEASES = 10,
    HISTORY_STEPS = 20,
    HISTORY_CHECKS = 10, /* per step */
    HISTORY_HOOKS = 10,
    HISTORY_TEXT = 300, /* bytes of a sentence */
    HISTORY_RELEASE_MAX =
        6 * 1024, /* bytes of one release as JSON; beyond that its first steps are dropped */
    HISTORY_MAX =
        16 * 1024 -
        1, /* in total: beyond that the oldest lose steps, then samples, then are dropped */
};

/* The release that this tick ends or replaces was neither promoted nor has it failed; why: one
 * sentence.
 */
void history_cancel(struct release *r, const char *why);
/* The release is rolled back, or its promotion has failed: the reports in the plan are the reason.
 */
void history_fail(struct release *r);
/*
 * The beginning of the running analysis. If it is not recorded, because another controller began
 * it: the last time when the status moved; the next moving status records it. False if unknown.
 */
bool history_analysis_began(const struct release *r, int64_t *ms);
/*
 * True if the revision of the target, with its configs, was the primary's until so recently that
 * spec.rollback promotes it without an analysis, and no release of it has failed since. *until: the
 * time when it was replaced.
 */
bool history_leads_back(const struct release *r, const char **until);
/*
 * Sets both fields as this tick leaves them. After all rules, if a status is written that advances
 * the release.
 */
void history_write(struct release *r);

#endif
