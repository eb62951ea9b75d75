/*
 * The part of JSONPath (RFC 9535) that selects one value of an answer: the query of a MetricTemplate
 * of type web. Pure.
 *
 *     $.data.score   {.data.score}   .data.items[0]['p99 ms']   $.rows[-1]
 *     $.status[?(@.type == "Ready")].value
 *
 * The `$` and the braces may be missing. A filter compares one member of each element with a string,
 * a number, true or false, and selects the first element that is equal; elements that are no
 * objects are none. Wildcards, slices, `..` and functions would select several values, and are
 * refused.
 */
#ifndef METRIC_JSONPATH_H
#define METRIC_JSONPATH_H

#include "base/json.h"

enum { JSONPATH_MAX_STEPS = 32, JSONPATH_MAX_BYTES = 4096 };

enum jsonpath_kind { JSONPATH_MEMBER, JSONPATH_INDEX, JSONPATH_FILTER };
struct jsonpath_step {
    enum jsonpath_kind kind;
    const char *name;          /* MEMBER; FILTER: of the member that is compared */
    int64_t index;             /* INDEX; from the end if negative */
    struct json_object *value; /* FILTER */
    int end;                   /* bytes of the path up to and with this step */
};
struct jsonpath {
    const char *text; /* without blanks and braces around it */
    struct jsonpath_step steps[JSONPATH_MAX_STEPS];
    int n_steps;
};

/* Everything lives in the arena. ERR_INVALID: "at character N: expected ..., found ...", counted from
 * 1 in the given text. */
enum err jsonpath_parse(struct arena *arena, const char *text, struct jsonpath *out,
                        struct errinfo *ei) MUST_USE;

struct jsonpath_found {
    struct json_object *value; /* borrowed from root; NULL: null, or nothing there */
    const char *missing; /* the beginning of the path that leads nowhere; NULL if it is there */
    size_t matches;      /* elements of the last filter that are equal; 0: no filter */
};
struct jsonpath_found jsonpath_find(struct arena *arena, const struct jsonpath *path,
                                    struct json_object *root);

#endif
