/* Objects that a Canary names: one that is not in the files may well be in the cluster, unless there
 * is one whose name is nearly the same. */
#ifndef LINT_NAMES_H
#define LINT_NAMES_H

#include "lint/document.h"

void names_warn(struct document *document, const struct canary *canary);

#endif
