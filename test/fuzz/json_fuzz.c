/* What is read as JSON is written, read again and merged without a change; json-c agrees that it is
 * JSON. */
#include <assert.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"

static struct json_object *read_back(struct arena *arena, const char *text)
{
    struct json_object *tree;
    struct errinfo ei;
    enum err err = json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &tree, &ei);
    assert(err == ERR_OK);
    (void)err;
    return tree;
}

static bool has_null(struct json_object *obj)
{
    if (!obj)
        return true;
    if (json_object_is_type(obj, json_type_object)) {
        json_object_object_foreach(obj, key, value)
        {
            (void)key;
            if (has_null(value))
                return true;
        }
    }
    return false;
}

static void check_json_c(const char *data, size_t size)
{
    struct json_tokener *tokener = json_tokener_new_ex(JSON_MAX_DEPTH + 2);
    json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *tree = json_tokener_parse_ex(tokener, data, (int)size);
    enum json_tokener_error error = json_tokener_get_error(tokener);
    assert(error == json_tokener_success || error == json_tokener_continue);
    json_object_put(tree);
    json_tokener_free(tokener);
}

static void check_merge(struct arena *arena, struct json_object *from, struct json_object *to)
{
    struct json_object *patch = json_merge_diff(arena, from, to);
    if (has_null(to))
        return; /* a merge patch cannot say null */
    if (!patch)
        assert(json_same(from, to));
    else
        assert(json_same(json_merge(arena, from, patch), to));
}

FUZZ_TARGET(arena, data, size)
{
    struct json_object *tree;
    struct errinfo ei = {0};
    if (json_parse(arena, (const char *)data, size, JSON_MAX_BYTES, &tree, &ei) == ERR_OK) {
        const char *text = json_text(arena, tree), *sorted = json_text_sorted(arena, tree);
        assert(json_same(tree, read_back(arena, text)));
        assert(strcmp(text, json_text(arena, read_back(arena, text))) == 0);
        assert(strcmp(sorted, json_text_sorted(arena, read_back(arena, sorted))) == 0);
        assert(json_same(tree, json_copy(arena, tree)));
        check_json_c((const char *)data, size);
        check_merge(arena, json_elem(tree, 0), json_elem(tree, 1));
    } else {
        assert(ei.text[0] != '\0');
    }
}
