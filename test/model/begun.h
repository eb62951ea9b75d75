/*
 * Safety rules of how a release begins: beside a primary that is not ready, behind its pre-rollout hooks, in the place of one
 * that has not ended. Each says what does not hold; NULL: it holds.
 */
#ifndef MODEL_BEGUN_H
#define MODEL_BEGUN_H

#include "rules.h"

const char *begun_mend(struct model *model, const struct cluster *facts,
                       const struct cluster *after, const struct step *step);
const char *begun_prepared(struct model *model, const struct cluster *facts,
                           const struct cluster *before, const struct cluster *after,
                           const struct outcome *outcome, const struct ghost *ghost);
bool begun_pinned(struct model *model, const struct cluster *cluster);
const char *begun_finishes(struct model *model, const struct cluster *facts,
                           const struct cluster *before, const struct cluster *after);
/* A write of the target. */
const char *begun_queued(struct model *model, const struct cluster *facts,
                         const struct cluster *before, const struct cluster *after,
                         const struct ghost *ghost);
/* Pods of the target that serve become those of another template. */
const char *begun_baked(struct model *model, const struct cluster *facts,
                        const struct cluster *after);
const char *begun_warm(struct model *model, const struct cluster *cluster);
bool begun_is_early(struct model *model, const struct cluster *facts);
bool begun_replaces(struct model *model, const struct cluster *before, const struct cluster *after);
/* A status was written: the ghost learns what is prepared. */
void begun_note(struct model *model, const struct cluster *after, const struct outcome *outcome,
                struct ghost *ghost);
/* patch: of the status that was written. */
const char *begun_outrun(const struct canary *canary, struct json_object *patch);

#endif
