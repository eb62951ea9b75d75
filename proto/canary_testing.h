/* What the tests of the Canary view share: an object that is right, and the same with a merge patch
 * applied. */
#ifndef PROTO_CANARY_TESTING_H
#define PROTO_CANARY_TESTING_H

#include <stdlib.h>
#include <string.h>

#include "proto/canary.h"
#include "test/rows.h"
#include "test/unit.h"

static const char canary_testing_base[] =
    "{'apiVersion':'flagger.app/"
    "v1beta1','kind':'Canary','metadata':{'name':'podinfo','namespace':'test'},'spec':{'targetRef':"
    "{'apiVersion':'apps/"
    "v1','kind':'Deployment','name':'podinfo'},'service':{'port':9898},'analysis':{'interval':'1m',"
    "'threshold':5,'maxWeight':50,'stepWeight':10}}}";

static inline struct json_object *canary_testing_patched(struct arena *arena, const char *patch)
{
    return json_merge(arena, rows_json(arena, canary_testing_base), rows_json(arena, patch));
}

/* The view of the base object with a merge patch applied, which must be accepted. */
static inline struct canary canary_testing_view(struct arena *arena, const char *patch)
{
    struct canary out;
    struct errinfo ei;
    if (canary_view(arena, canary_testing_patched(arena, patch), &out, &ei) != ERR_OK)
        fail_msg("%s: %s", patch, ei.text);
    return out;
}

struct canary_testing_mistake {
    const char *patch;
    const char *message;
};

/* Each patch makes the object wrong, and the message says how. */
static inline void canary_testing_mistakes(const struct canary_testing_mistake *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct arena *arena = arena_new();
        struct canary out;
        struct errinfo ei = {0};
        if (canary_view(arena, canary_testing_patched(arena, cases[i].patch), &out, &ei) !=
            ERR_INVALID)
            fail_msg("%s: not refused", cases[i].patch);
        assert_string_equal(ei.text, cases[i].message);
        arena_free(arena);
    }
}

#endif
