#include "proto/application_parts.h"

#include <string.h>

#include "proto/canary_parts.h"

const char *application_read_name(struct json_reader *r, struct json_object *obj, const char *key,
                                  enum json_need need, size_t max)
{
    const char *text = canary_read_name(r, obj, key, need);
    if (text == NULL)
        return NULL;
    size_t len = strlen(text);
    bool fits = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == len &&
                strchr("-.", text[0]) == NULL && strchr("-.", text[len - 1]) == NULL;
    if (!fits)
        json_reader_fail(r, obj, key,
                         "expected a name of lower case letters, digits, '-' and '.', found "
                         "\"%.80s\"",
                         text);
    else if (len > max)
        json_reader_fail(r, obj, key, "expected at most %zu characters, found %zu", max, len);
    return text;
}
