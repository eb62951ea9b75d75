/*
 * History of releases in the status (decide/STATUS.md): `release` for the current one, `history`
 * for ended ones. For people: rules read only when the analysis began. They are written with a
 * status patch that happens anyway and cost no request. A CRD without these fields drops them; then
 * there is no history.
 *
 * The size is limited: the last steps of a release, the last releases of a Canary, truncated
 * texts, and a total number of bytes.
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

/* The release that this tick ends or replaces was neither promoted nor failed; why: one sentence.
 */
void history_cancel(struct release *r, const char *why);
/* The release is rolled back, or its promotion has failed: the reports in the plan are the reason.
 */
void history_fail(struct release *r);
/*
 * When the analysis that runs began. Without a record of that, of one that another controller has
 * begun, when the status moved last: the next status that moves has the record. False if unknown.
 */
bool history_analysis_began(const struct release *r, int64_t *ms);
/*
 * True if the revision of the target, with its configs, was the primary's until so recently that
 * spec.rollback has it promoted without an analysis; *until: when it was replaced. No release of it
 * has failed since.
 */
bool history_leads_back(const struct release *r, const char **until);
/*
 * Sets both fields as this tick leaves them. After all rules, if a status is written that advances
 * the release.
 */
void history_write(struct release *r);

#endif
