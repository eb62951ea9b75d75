/*
 * Label and field selectors, parsed from a query parameter or from a LabelSelector object. A
 * selector belongs to the arena it was parsed with. NULL or empty text selects everything.
 */
#ifndef OBJECT_SELECTOR_H
#define OBJECT_SELECTOR_H

#include <json-c/json.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

enum { SELECTOR_MAX_TERMS = 64 };

struct selector;

/* Whether text is a key, or a value, of a label. */
bool selector_is_key(const char *text);
bool selector_is_value(const char *text);

/* "app=x,tier!=y,env in (a, b),env notin (c),key,!key". ERR_INVALID says where. */
enum err selector_parse_labels(struct arena *arena, const char *text, const struct selector **out,
                               struct errinfo *ei) MUST_USE;
/* {matchLabels, matchExpressions} of a workload. NULL or JSON null selects nothing, {} everything.
 */
enum err selector_from_object(struct arena *arena, struct json_object *obj,
                              const struct selector **out, struct errinfo *ei) MUST_USE;
/* A Service's plain map {key: value}. NULL or {} selects nothing. */
enum err selector_from_map(struct arena *arena, struct json_object *map,
                           const struct selector **out, struct errinfo *ei) MUST_USE;
/* labels: the metadata.labels object, may be NULL. */
bool selector_match_labels(const struct selector *selector, struct json_object *labels);
/* As it is written in a query. Borrowed from the selector. */
const char *selector_text(const struct selector *selector);

/*
 * "metadata.name=x,status.phase!=Running" for objects of kind ("Pod"; any other name for custom
 * kinds). ERR_INVALID for a field that nobody selects by.
 */
enum err selector_parse_fields(struct arena *arena, const char *kind, const char *text,
                               const struct selector **out, struct errinfo *ei) MUST_USE;
bool selector_match_fields(const struct selector *selector, struct json_object *obj);
/* The value when the selector asks for field=value, or NULL: lets a list by metadata.name become
 * one look-up. */
const char *selector_wanted(const struct selector *selector, const char *field);

#endif
