/* Shared by tests of the Canary view: a valid object, and the same object with a merge patch
 * applied. */
#ifndef PROTO_CANARY_TESTING_H
#define PROTO_CANARY_TESTING_H

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

/* The view of the base object with a merge patch applied, which must be valid. */
static inline struct canary canary_testing_view(struct arena *arena, const char *patch)
{
    struct canary out;
    struct errinfo ei;
    if (canary_view(arena, canary_testing_patched(arena, patch), &out, &ei) != ERR_OK)
        fail_msg("%s: %s", patch, ei.text);
    return out;
}

/* Each patch of this group of mistakes.yaml makes the object invalid, with this message. */
static inline void canary_testing_mistakes(struct arena *arena, const char *group)
{
    struct json_object *file = json_elem(rows_read(arena, "proto/mistakes.yaml"), 0);
    struct json_object *rows = json_at(file, group, NULL);

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *patch = json_at(json_elem(rows, i), "patch", NULL);
        struct canary out;
        struct errinfo ei = {0};
        if (canary_view(arena, json_merge(arena, rows_json(arena, canary_testing_base), patch),
                        &out, &ei) != ERR_INVALID)
            fail_msg("%s: not refused", json_text(arena, patch));
        assert_string_equal(ei.text, json_str_at(json_elem(rows, i), "says", NULL));
    }
}

#endif
