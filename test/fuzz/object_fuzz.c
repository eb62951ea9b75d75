/*
 * Schemas and patches on arbitrary trees. The input is a JSON array: schema,
 * object, patch. What always holds: an object that was pruned and defaulted is not changed by doing
 * so again; the inputs stay as they were.
 */
#include <assert.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "object/patch.h"
#include "object/schema.h"

static void check_schema(struct arena *arena, const struct schema *schema, struct json_object *obj)
{
    struct json_object *copy = json_copy(arena, obj);
    struct causes causes = {.arena = arena};
    struct schema_paths unknown;
    schema_prune(schema, arena, copy, &unknown);
    const char *pruned = json_text(arena, copy);
    schema_prune(schema, arena, copy, &unknown);
    assert(unknown.count == 0 && strcmp(pruned, json_text(arena, copy)) == 0);
    schema_default(schema, copy);
    (void)schema_validate(schema, copy, &causes);
    assert(strlen(cause_text(&causes)) > 0 || causes.count == 0);
}

static void check_patches(struct arena *arena, struct json_object *obj, struct json_object *patch)
{
    struct json_object *out = NULL;
    static const char *const kinds[] = {"Pod", "Service"};
    (void)!patch_json(arena, obj, patch, &out, NULL);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        (void)!patch_strategic(arena, kinds[i], obj, patch, &out, NULL);
}

FUZZ_TARGET(arena, data, size)
{
    struct json_object *parts = NULL;
    struct schema *schema = NULL;
    if (json_parse(arena, (const char *)data, size, JSON_MAX_BYTES, &parts, NULL) == ERR_OK &&
        json_len(parts) == 3) {
        struct json_object *obj = json_elem(parts, 1), *patch = json_elem(parts, 2);
        const char *before = json_text(arena, parts);
        if (schema_compile(json_elem(parts, 0), &schema, NULL) == ERR_OK)
            check_schema(arena, schema, obj);
        check_patches(arena, obj, patch);
        assert(strcmp(before, json_text(arena, parts)) == 0);
    }
    schema_free(schema);
}
