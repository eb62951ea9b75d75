/* Safety rules about pods and copies: sizes of sides, numbers that autoscalers own, configs that go. Each
 * says what does not hold; NULL: it holds. */
#ifndef MODEL_NUMBERS_H
#define MODEL_NUMBERS_H

#include "rules.h"

/* No share grows beyond the pods of its side, in a scenario whose sides have sizes. */
const char *numbers_share(struct model *model, const struct cluster *facts,
                          const struct cluster *before, const struct cluster *after);
/* A write of the workload at this place takes no number that an autoscaler owns. */
const char *numbers_replicas(struct model *model, const struct cluster *before,
                             const struct cluster *after, int at);
/* No config is deleted that the primary reads, or that others own. */
const char *numbers_deletion(struct model *model, const struct cluster *before,
                             const struct step *step);

#endif
