/*
 * Label selectors of Kubernetes, in the syntax of queries: "app=x,tier!=y,env in (a, b),env notin
 * (c),key,!key". A selector belongs to the arena it was parsed with.
 */
#ifndef KUBE_SELECTOR_H
#define KUBE_SELECTOR_H

#include <json-c/json.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

enum { SELECTOR_MAX_TERMS = 64 };

struct selector;

/* Validate the key and the value of a label. */
bool selector_is_key(const char *text);
bool selector_is_value(const char *text);

/* NULL selects nothing, "" everything. ERR_INVALID with the position. */
enum err selector_parse(struct arena *arena, const char *text, const struct selector **out,
                        struct errinfo *ei) MUST_USE;
/* labels: the metadata.labels object, may be NULL. */
bool selector_match(const struct selector *selector, struct json_object *labels);
/* The original text. Borrowed from the selector. */
const char *selector_text(const struct selector *selector);

#endif
