#include "proto/canary_parts.h"

const char *canary_read_name(struct json_reader *r, struct json_object *obj, const char *key,
                             enum json_need need)
{
    const char *text = json_read_str(r, obj, key, need);
    if (text != NULL && text[0] == '\0') {
        if (need == JSON_REQUIRED)
            json_reader_fail(r, obj, key, "expected a name, found an empty string");
        return NULL;
    }
    return text;
}

struct canary_ref canary_read_ref(struct json_reader *r, struct json_object *parent,
                                  const char *key, enum json_need need)
{
    struct canary_ref ref = {.api_version = "", .kind = ""};
    struct json_object *obj = json_read_obj(r, parent, key, need);
    if (obj == NULL)
        return ref;
    const char *api_version = json_read_str(r, obj, "apiVersion", JSON_OPTIONAL);
    const char *kind = json_read_str(r, obj, "kind", JSON_OPTIONAL);
    ref.name = canary_read_name(r, obj, "name", JSON_REQUIRED);
    ref.namespace_ = canary_read_name(r, obj, "namespace", JSON_OPTIONAL);
    if (api_version != NULL)
        ref.api_version = api_version;
    if (kind != NULL)
        ref.kind = kind;
    return ref;
}

struct json_object *canary_read_map(struct json_reader *r, struct json_object *obj, const char *key)
{
    struct json_object *map = json_read_obj(r, obj, key, JSON_OPTIONAL);
    if (map == NULL)
        return NULL;
    json_object_object_foreach(map, name, value)
    {
        if (!json_object_is_type(value, json_type_string)) {
            json_reader_fail(r, map, name, "expected a string, found %s",
                             json_text(r->arena, value));
            return NULL;
        }
    }
    return map;
}

struct json_object *canary_read_strings(struct json_reader *r, struct json_object *obj,
                                        const char *key)
{
    struct json_object *array = json_read_array(r, obj, key, JSON_OPTIONAL);
    for (size_t i = 0; i < json_len(array); i++) {
        if (!json_object_is_type(json_elem(array, i), json_type_string)) {
            canary_fail_element(r, array, i, "a string");
            return NULL;
        }
    }
    return array;
}

void canary_fail_element(struct json_reader *r, struct json_object *array, size_t index,
                         const char *expected)
{
    /* The reader knows no path of an element that is null, hence the array's. */
    json_reader_fail(r, NULL, NULL, "%s[%zu]: expected %s, found %s",
                     json_reader_path(r, array, NULL), index, expected,
                     json_text(r->arena, json_elem(array, index)));
}

struct json_object *canary_read_element(struct json_reader *r, struct json_object *array,
                                        size_t index)
{
    if (!json_object_is_type(json_elem(array, index), json_type_object)) {
        canary_fail_element(r, array, index, "an object");
        return NULL;
    }
    return json_read_elem(r, array, index);
}

int canary_read_int(struct json_reader *r, struct json_object *obj, const char *key, int min,
                    int max, int missing)
{
    return (int)json_read_int(r, obj, key, min, max, missing);
}
