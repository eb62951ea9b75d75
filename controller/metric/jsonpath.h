/*
 * The part of JSONPath (RFC 9535) that selects a single value of a reply: the query of a
 * MetricTemplate of type web. Pure.
 *
 *     $.data.score   {.data.score}   .data.items[0]['p99 ms']   $.rows[-1]
 *     $.status[?(@.type == "Ready")].value
 *
 * The `$` and the braces are optional. A filter compares one member of each element with a string,
 * a number, true or false, and selects the first element that is equal; an element that is not an
 * object never is. Wildcards, slices, `..` and functions would select several values, and are
 * refused.
 */
#ifndef METRIC_JSONPATH_H
#define METRIC_JSONPATH_H

#include "base/json.h"

enum { JSONPATH_MAX_STEPS = 32, JSONPATH_MAX_BYTES = 4096 };

enum jsonpath_kind { JSONPATH_MEMBER, JSONPATH_INDEX, JSONPATH_FILTER };
struct jsonpath_step {
    enum jsonpath_kind kind;
    const char *name;          /* MEMBER: the name; FILTER: name of the member to compare */
    int64_t index;             /* INDEX; counted from the end if negative */
    struct json_object *value; /* FILTER */
    int end;                   /* length of the path in bytes up to the end of this step */
};
struct jsonpath {
    const char *text; /* without surrounding blanks and braces */
    struct jsonpath_step steps[JSONPATH_MAX_STEPS];
    int n_steps;
};

/* Everything lives in the arena. ERR_INVALID: "at character N: expected ..., found ..."; characters
 * of the given text are counted from 1. */
enum err jsonpath_parse(struct arena *arena, const char *text, struct jsonpath *out,
                        struct errinfo *ei) MUST_USE;

struct jsonpath_found {
    struct json_object *value; /* borrowed from root; NULL: the value is null, or there is none */
    const char
        *missing;   /* the path up to the first step without a value; NULL if there is a value */
    size_t matches; /* number of equal elements in the last filter; 0: no filter */
};
struct jsonpath_found jsonpath_find(struct arena *arena, const struct jsonpath *path,
                                    struct json_object *root);

#endif
