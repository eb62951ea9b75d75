#include "object/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "object/schema_tree.h"

static int name_compare(const void *key, const void *row)
{
    return strcmp(key, ((const struct schema_property *)row)->name);
}

const struct schema *schema_field(const struct schema *schema, const char *key)
{
    const struct schema_property *property = NULL;
    if (schema->property_count > 0)
        property = bsearch(key, schema->properties, schema->property_count,
                           sizeof(*schema->properties), name_compare);
    return property ? property->schema : schema->additional;
}

const char *schema_type_name(enum schema_type type)
{
    static const char *const names[] = {
        [SCHEMA_ANY] = "any",         [SCHEMA_OBJECT] = "object",   [SCHEMA_ARRAY] = "array",
        [SCHEMA_STRING] = "string",   [SCHEMA_INTEGER] = "integer", [SCHEMA_NUMBER] = "number",
        [SCHEMA_BOOLEAN] = "boolean",
    };
    return names[type];
}

const char *schema_place_text(struct arena *arena, const struct schema_place *place)
{
    const struct schema_place *chain[2 * SCHEMA_MAX_DEPTH];
    size_t count = 0;
    for (; place && (place->key || place->up) && count < 2 * SCHEMA_MAX_DEPTH; place = place->up)
        chain[count++] = place;
    const char *text = "";
    while (count > 0) {
        const struct schema_place *at = chain[--count];
        if (at->key)
            text = arena_printf(arena, "%s%s%s", text, text[0] ? "." : "", at->key);
        else
            text = arena_printf(arena, "%s[%zu]", text, at->index);
    }
    return text;
}

/* ---- formats ---- */

enum schema_format schema_format_named(const char *name)
{
    if (strcmp(name, "date-time") == 0)
        return SCHEMA_FORMAT_DATE_TIME;
    return strcmp(name, "int32") == 0 ? SCHEMA_FORMAT_INT32 : SCHEMA_FORMAT_NONE;
}

bool schema_format_ok(enum schema_format format, const char *text)
{
    int64_t number;
    return format != SCHEMA_FORMAT_DATE_TIME || clock_parse(text, &number, NULL) == ERR_OK;
}
