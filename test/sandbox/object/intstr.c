#include "object/intstr.h"

#include <string.h>

#include "base/utf8.h"

enum { MAX_SHOWN = 60 };

/* "25%" */
static bool read_percent(const char *text, int64_t *percent)
{
    const char *at = text + (*text == '-' || *text == '+');
    size_t len = strspn(at, "0123456789");
    if (len == 0 || len > 9 || strcmp(at + len, "%") != 0)
        return false;
    *percent = 0;
    for (size_t i = 0; i < len; i++)
        *percent = *percent * 10 + (at[i] - '0');
    if (*text == '-')
        *percent = -*percent;
    return true;
}

enum err intstr_scaled(struct json_object *obj, int total, bool round_up, int missing, int *out,
                       struct errinfo *ei)
{
    *out = missing;
    if (!obj)
        return ERR_OK;
    if (json_object_is_type(obj, json_type_int)) {
        int64_t value = json_object_get_int64(obj);
        if (value < INT32_MIN || value > INT32_MAX)
            return err_set(ei, ERR_INVALID, "expected a 32-bit number or a percentage, found %lld",
                           (long long)value);
        *out = (int)value;
        return ERR_OK;
    }
    int64_t percent;
    if (!json_object_is_type(obj, json_type_string) ||
        !read_percent(json_object_get_string(obj), &percent)) {
        const char *text = json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN);
        return err_set(
            ei, ERR_INVALID, "expected a number or a percentage such as \"25%%\", found %.*s",
            (int)(strlen(text) > MAX_SHOWN ? utf8_cut(text, MAX_SHOWN) : strlen(text)), text);
    }
    int64_t hundredths = percent * total;
    int64_t value = hundredths / 100, rest = hundredths % 100;
    if (round_up && rest > 0)
        value++;
    if (!round_up && rest < 0)
        value--;
    if (value < INT32_MIN || value > INT32_MAX)
        return err_set(ei, ERR_INVALID, "%s of %d is more than a 32-bit number",
                       json_object_get_string(obj), total);
    *out = (int)value;
    return ERR_OK;
}
