#include "object/cause.h"

#include <string.h>

#include "base/buf.h"
#include "base/json.h"

enum { VALUE_MAX = 256, TEXT_MAX = 64 * 1024 };

static const char *const reason_names[] = {
    [CAUSE_INVALID] = "FieldValueInvalid",     [CAUSE_TYPE_INVALID] = "FieldValueTypeInvalid",
    [CAUSE_REQUIRED] = "FieldValueRequired",   [CAUSE_NOT_SUPPORTED] = "FieldValueNotSupported",
    [CAUSE_DUPLICATE] = "FieldValueDuplicate", [CAUSE_NOT_FOUND] = "FieldValueNotFound",
    [CAUSE_FORBIDDEN] = "FieldValueForbidden", [CAUSE_TOO_LONG] = "FieldValueTooLong",
    [CAUSE_TOO_MANY] = "FieldValueTooMany",
};

const char *cause_reason_name(enum cause_reason reason)
{
    return reason_names[reason];
}

static void append(struct causes *causes, enum cause_reason reason, const char *field,
                   const char *message)
{
    causes->count++;
    if (causes->count > CAUSE_MAX)
        return;
    struct cause *cause = ARENA_NEW(causes->arena, struct cause);
    *cause = (struct cause){
        .reason = reason,
        .field = field ? arena_strdup(causes->arena, field) : NULL,
        .message = message,
    };
    if (!causes->last)
        causes->last = &causes->first;
    *causes->last = cause;
    causes->last = &cause->next;
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
    if (causes->count > 1)
        buf_puts(&buf, "[");
    for (const struct cause *cause = causes->first; cause; cause = cause->next) {
        if (cause->field && cause->field[0])
            buf_printf(&buf, "%s: ", cause->field);
        buf_printf(&buf, "%s%s", cause->message, cause->next ? ", " : "");
    }
    if (causes->count > CAUSE_MAX)
        buf_printf(&buf, ", and %zu more", causes->count - CAUSE_MAX);
    if (causes->count > 1)
        buf_puts(&buf, "]");
    const char *text = arena_strndup(causes->arena, buf.data, buf.len);
    buf_fini(&buf);
    return text;
}

struct json_object *cause_json(const struct causes *causes)
{
    struct json_object *list = json_own(causes->arena, json_object_new_array());
    for (const struct cause *cause = causes->first; cause; cause = cause->next) {
        struct json_object *row = json_object_new_object();
        json_set_str(row, "reason", cause_reason_name(cause->reason));
        json_set_str(row, "message", cause->message);
        if (cause->field && cause->field[0])
            json_set_str(row, "field", cause->field);
        json_object_array_add(list, row);
    }
    return list;
}
