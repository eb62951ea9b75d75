/* What is wrong with a Canary beyond its schema: asked of those who will read it and act on it. */
#ifndef LINT_CANARY_H
#define LINT_CANARY_H

#include "lint/document.h"

void canary_check(struct document *document);
/* What is accepted and hardly meant; `canary` is of what is left when mistakes are repaired. */
void canary_warn(struct document *document, const struct canary *canary, struct tick *tick);

#endif
