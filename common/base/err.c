#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/encoding.h"

const char *err_name(enum err err)
{
    static const char *const names[] = {
#define ERR(name, text) [ERR_##name] = text,
#include "base/err.def"
#undef ERR
    };
    if ((size_t)err >= sizeof(names) / sizeof(names[0]))
        return "unknown error";
    return names[err];
}

/*
 * The arguments may point into ei->text, so the new text is made in another buffer. Bytes that are
 * not UTF-8, such as a character cut by "%.40s", become question marks.
 */
static void put_text(struct errinfo *ei, const char *text)
{
    size_t len = strlen(text);
    size_t used = 0;

    for (size_t i = 0, size; i < len && used + 1 < sizeof(ei->text); i += size) {
        size = utf8_sequence(text + i, len - i);
        bool whole = size > 0;
        size = whole ? size : 1;
        if (used + size >= sizeof(ei->text))
            break;
        memcpy(ei->text + used, whole ? text + i : "?", size);
        used += size;
    }
    ei->text[used] = '\0';
}

enum err err_set(struct errinfo *ei, enum err err, const char *fmt, ...)
{
    if (!ei)
        return err;
    char text[sizeof(ei->text) + 4];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    put_text(ei, text);
    ei->status = 0;
    ei->retry_after_ms = 0;
    return err;
}

enum err err_wrap(struct errinfo *ei, enum err err, const char *fmt, ...)
{
    if (!ei)
        return err;
    char text[2 * sizeof(ei->text) + 4];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(text, sizeof(ei->text), fmt, args);
    va_end(args);
    size_t used = len < 0 ? 0 : (size_t)len;
    if (used >= sizeof(ei->text))
        used = utf8_cut(text, sizeof(ei->text) - 1);
    snprintf(text + used, sizeof(text) - used, ": %s", ei->text);
    put_text(ei, text);
    return err;
}
