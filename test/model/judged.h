/*
 * What the safety rules say of the judge: of its looks, its alarms, and the steps that wait for it.
 */
#ifndef MODEL_JUDGED_H
#define MODEL_JUDGED_H

#include "rules.h"

/* The judge is a reason to fail. */
bool judged_fail(struct model *model, const struct cluster *facts, const struct outcome *outcome,
                 const struct ghost *ghost);
/* A release waits for requests for ever, as onInconclusive says. It does not stand still: what comes
 * round again are its looks. */
bool judged_wait(struct model *model, const struct cluster *cluster);
/* The rule that a tick other than a rollback breaks; NULL if none. */
const char *judged_decided(struct model *model, const struct cluster *facts,
                           const struct outcome *outcome);
/* The rule that a write breaks; from a status the ghost learns the facts known from then on. */
const char *judged_step(struct model *model, const struct cluster *facts,
                        const struct cluster *before, const struct cluster *after,
                        const struct outcome *outcome, const struct step *step,
                        struct ghost *ghost);

#endif
