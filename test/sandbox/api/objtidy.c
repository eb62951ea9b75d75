#include "api/objtidy.h"

#include "base/json.h"

/* Bounded by the depth that the parser allows (JSON_MAX_DEPTH). */
static void drop_nulls(struct json_object *obj)
{
    if (json_object_is_type(obj, json_type_array))
        for (size_t i = 0; i < json_len(obj); i++)
            drop_nulls(json_elem(obj, i));
    if (!json_object_is_type(obj, json_type_object))
        return;
    json_object_object_foreach(obj, key, value)
    {
        if (value)
            drop_nulls(value);
        else
            json_object_object_del(obj, key);
    }
}

static bool is_empty(struct json_object *value)
{
    return (json_object_is_type(value, json_type_object) &&
            json_object_object_length(value) == 0) ||
           (json_object_is_type(value, json_type_array) && json_len(value) == 0);
}

/* managedFields is left alone: an empty one asks for it to be cleared. */
static void tidy_metadata(struct json_object *metadata)
{
    static const char *const omitted[] = {"labels", "annotations", "finalizers", "ownerReferences"};
    drop_nulls(metadata);
    for (size_t i = 0; i < sizeof(omitted) / sizeof(omitted[0]); i++)
        if (is_empty(json_at(metadata, omitted[i], NULL)))
            json_object_object_del(metadata, omitted[i]);
}

void objtidy(struct json_object *obj, bool typed)
{
    struct json_object *of_template = json_at(obj, "spec", "template", "metadata", NULL);
    if (typed)
        drop_nulls(obj);
    tidy_metadata(json_at(obj, "metadata", NULL));
    if (typed && json_object_is_type(of_template, json_type_object))
        tidy_metadata(of_template);
}
