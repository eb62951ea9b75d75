#include "object/schema.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "object/schema_tree.h"

bool schema_has_rules(const struct schema *schema)
{
    return schema->has_rules;
}

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
    static const struct {
        const char *name;
        enum schema_format format;
    } rows[] = {
        {"date-time", SCHEMA_FORMAT_DATE_TIME}, {"datetime", SCHEMA_FORMAT_DATE_TIME},
        {"date", SCHEMA_FORMAT_DATE},           {"duration", SCHEMA_FORMAT_DURATION},
        {"byte", SCHEMA_FORMAT_BYTE},           {"int32", SCHEMA_FORMAT_INT32},
        {"ipv4", SCHEMA_FORMAT_IPV4},           {"ipv6", SCHEMA_FORMAT_IPV6},
        {"uuid", SCHEMA_FORMAT_UUID},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(name, rows[i].name) == 0)
            return rows[i].format;
    return SCHEMA_FORMAT_NONE;
}

/* text against a mask: 'd' a digit, 'x' a hexadecimal digit, anything else itself. */
static bool fits_mask(const char *text, const char *mask)
{
    for (; *text && *mask; text++, mask++)
        if (*mask == 'd'   ? !isdigit((unsigned char)*text)
            : *mask == 'x' ? !isxdigit((unsigned char)*text)
                           : *text != *mask)
            return false;
    return *text == *mask;
}

static bool is_base64(const char *text)
{
    size_t len = strlen(text), padding = 0;
    while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < len - padding; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '+' && text[i] != '/')
            return false;
    return len % 4 == 0;
}

bool schema_format_ok(enum schema_format format, const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];
    int64_t number;
    switch (format) {
    case SCHEMA_FORMAT_DATE_TIME:
        return clock_parse(text, &number, NULL) == ERR_OK;
    case SCHEMA_FORMAT_DATE:
        return fits_mask(text, "dddd-dd-dd");
    case SCHEMA_FORMAT_DURATION:
        return duration_parse(text, &number, NULL) == ERR_OK;
    case SCHEMA_FORMAT_BYTE:
        return is_base64(text);
    case SCHEMA_FORMAT_IPV4:
        return inet_pton(AF_INET, text, address) == 1;
    case SCHEMA_FORMAT_IPV6:
        return inet_pton(AF_INET6, text, address) == 1;
    case SCHEMA_FORMAT_UUID:
        return fits_mask(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
    case SCHEMA_FORMAT_NONE:
    case SCHEMA_FORMAT_INT32:
        break;
    }
    return true;
}
