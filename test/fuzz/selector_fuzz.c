/* Selectors and JSONPaths: a label selector's text reads as the same selector. */
#include <assert.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "object/meta.h"
#include "object/selector.h"

static const char object[] =
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"},\"a\":\"1\",\"b\":[{\"c\":\"x\"},2,null]}";

static void check_labels(struct arena *arena, const char *text, struct json_object *obj)
{
    const struct selector *selector = NULL, *again = NULL;
    struct errinfo ei = {0};
    if (selector_parse(arena, text, &selector, &ei)) {
        assert(ei.text[0]);
        return;
    }
    enum err err = selector_parse(arena, selector_text(selector), &again, NULL);
    assert(err == ERR_OK);
    assert(selector_match(selector, obj) == selector_match(again, obj));
    (void)err;
}

FUZZ_TARGET(arena, data, size)
{
    struct json_object *obj = NULL;
    const struct fields *fields = NULL;
    const char *text = arena_strndup(arena, (const char *)data, size);
    enum err err = json_parse(arena, object, strlen(object), JSON_MAX_BYTES, &obj, NULL);
    assert(err == ERR_OK);
    (void)err;
    check_labels(arena, text, obj);
    if (fields_parse(arena, "Pod", text, &fields, NULL) == ERR_OK)
        (void)fields_match(fields, obj);
    (void)jsonpath_first(arena, obj, text);
}
