#include "object/cause.h"

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "object/form.h"

enum { VALUE_MAX = 256, TEXT_MAX = 64 * 1024 };

static const char *const reason_names[] = {
    [CAUSE_INVALID] = "FieldValueInvalid",     [CAUSE_TYPE_INVALID] = "FieldValueTypeInvalid",
    [CAUSE_REQUIRED] = "FieldValueRequired",   [CAUSE_NOT_SUPPORTED] = "FieldValueNotSupported",
    [CAUSE_DUPLICATE] = "FieldValueDuplicate", [CAUSE_NOT_FOUND] = "FieldValueNotFound",
    [CAUSE_FORBIDDEN] = "FieldValueForbidden", [CAUSE_TOO_LONG] = "FieldValueTooLong",
    [CAUSE_TOO_MANY] = "FieldValueTooMany",
};

static void append(struct causes *causes, enum cause_reason reason, const char *field,
                   const char *message)
{
    causes->count++;
    if (!causes->list)
        causes->list = form(causes->arena, "[]");
    if (causes->count <= CAUSE_MAX)
        form_add(causes->list, form(causes->arena, "{reason: %s, message: %s, field: %s}",
                                    reason_names[reason], message, field && *field ? field : NULL));
}

void cause_add_all(struct causes *causes, const struct causes *others)
{
    for (size_t i = 0; i < json_len(others->list); i++)
        if (++causes->count <= CAUSE_MAX) {
            causes->list = causes->list ? causes->list : form(causes->arena, "[]");
            form_add(causes->list, json_elem(others->list, i));
        }
}

void cause_add(struct causes *causes, enum cause_reason reason, const char *field, const char *fmt,
               ...)
{
    va_list args;
    va_start(args, fmt);
    const char *message = arena_vprintf(causes->arena, fmt, args);
    va_end(args);
    append(causes, reason, field, message);
}

const char *cause_value(struct arena *arena, struct json_object *value)
{
    const char *text = json_text(arena, value);
    size_t len = strlen(text);
    if (len <= VALUE_MAX)
        return text;
    len = VALUE_MAX;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    return arena_printf(arena, "%.*s...", (int)len, text);
}

void cause_add_invalid(struct causes *causes, const char *field, struct json_object *value,
                       const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *why = arena_vprintf(causes->arena, fmt, args);
    va_end(args);
    append(causes, CAUSE_INVALID, field,
           arena_printf(causes->arena, "Invalid value: %s: %s", cause_value(causes->arena, value),
                        why));
}

const char *cause_text(const struct causes *causes)
{
    struct buf buf;
    buf_init(&buf, TEXT_MAX);
    for (size_t i = 0; i < json_len(causes->list); i++) {
        struct json_object *cause = json_elem(causes->list, i);
        const char *field = json_str_at(cause, "field", NULL);
        buf_printf(&buf, "%s%s%s%s", i ? ", " : "", field ? field : "", field ? ": " : "",
                   json_str_at(cause, "message", NULL));
    }
    if (causes->count > CAUSE_MAX)
        buf_printf(&buf, ", and %zu more", causes->count - CAUSE_MAX);
    const char *text = arena_printf(causes->arena, causes->count > 1 ? "[%s]" : "%s", buf.data);
    buf_fini(&buf);
    return text;
}
