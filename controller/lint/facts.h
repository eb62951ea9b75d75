/* The rules ask for objects; the files are all that is known of them. */
#ifndef LINT_FACTS_H
#define LINT_FACTS_H

#include "lint/document.h"

typedef enum verdict facts_question(struct tick *tick,
                                    void (*found)(void *arg, const char *sentence), void *arg);

/* Asks until nothing is missing; what is in no file does not exist. */
void facts_ask(const struct lint *lint, struct tick *tick, facts_question *question,
               void (*found)(void *arg, const char *sentence), void *arg);

#endif
