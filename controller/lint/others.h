/* What is wrong with MetricTemplates and AlertProviders, of which what they would ask and send is
 * made as the controller makes it, with ReleaseRequests, and with Applications of a fleet. */
#ifndef LINT_OTHERS_H
#define LINT_OTHERS_H

#include "lint/document.h"

void template_check(struct document *document);
/* The query of a template can be rendered, whatever its variables are. */
bool template_query(struct arena *arena, const char *query, struct errinfo *ei);
void provider_check(struct document *document);
void request_check(struct document *document);
bool application_is(const struct document *document);
void application_check(struct document *document);

#endif
