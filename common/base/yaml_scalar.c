#include "base/yaml_scalar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

enum kind { IS_STRING, IS_NULL, IS_BOOL, IS_INT, IS_FLOAT, IS_NOT_FINITE };

struct scalar {
    enum kind kind;
    bool truth;
    bool negative; /* of an integer */
    uint64_t magnitude;
    double real;
};

static const struct word {
    const char *text;
    enum kind kind;
    bool truth;
} words[] = {
    {"", IS_NULL, false},        {"~", IS_NULL, false},       {"null", IS_NULL, false},
    {"Null", IS_NULL, false},    {"NULL", IS_NULL, false},    {"y", IS_BOOL, true},
    {"Y", IS_BOOL, true},        {"yes", IS_BOOL, true},      {"Yes", IS_BOOL, true},
    {"YES", IS_BOOL, true},      {"true", IS_BOOL, true},     {"True", IS_BOOL, true},
    {"TRUE", IS_BOOL, true},     {"on", IS_BOOL, true},       {"On", IS_BOOL, true},
    {"ON", IS_BOOL, true},       {"n", IS_BOOL, false},       {"N", IS_BOOL, false},
    {"no", IS_BOOL, false},      {"No", IS_BOOL, false},      {"NO", IS_BOOL, false},
    {"false", IS_BOOL, false},   {"False", IS_BOOL, false},   {"FALSE", IS_BOOL, false},
    {"off", IS_BOOL, false},     {"Off", IS_BOOL, false},     {"OFF", IS_BOOL, false},
    {".nan", IS_NOT_FINITE, 0},  {".NaN", IS_NOT_FINITE, 0},  {".NAN", IS_NOT_FINITE, 0},
    {".inf", IS_NOT_FINITE, 0},  {".Inf", IS_NOT_FINITE, 0},  {".INF", IS_NOT_FINITE, 0},
    {"+.inf", IS_NOT_FINITE, 0}, {"+.Inf", IS_NOT_FINITE, 0}, {"+.INF", IS_NOT_FINITE, 0},
    {"-.inf", IS_NOT_FINITE, 0}, {"-.Inf", IS_NOT_FINITE, 0}, {"-.INF", IS_NOT_FINITE, 0},
};

enum { LONGEST_WORD = 5, LONGEST_NUMBER = 400 };

static const struct word *find_word(const char *text, size_t len)
{
    for (size_t i = 0; len <= LONGEST_WORD && i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].text) == len && memcmp(words[i].text, text, len) == 0)
            return &words[i];
    }
    return NULL;
}

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 16;
}

/* After a sign: 0x1f, 0b101, 0o17, 017 or decimal; the whole text. */
static bool read_magnitude(const char *at, uint64_t *out)
{
    unsigned base = 10;
    if (at[0] == '0' && at[1]) {
        char letter = (char)(at[1] | 0x20);
        base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
        at += letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1;
    }
    *out = 0;
    if (!*at)
        return false;
    for (; *at; at++) {
        unsigned digit = digit_value(*at);
        if (digit >= base || __builtin_mul_overflow(*out, base, out) ||
            __builtin_add_overflow(*out, digit, out))
            return false;
    }
    return true;
}

/* With a '+' Go takes no more than an int64, and reads the rest as a float. */
static bool read_integer(const char *text, struct scalar *out)
{
    bool sign = *text == '-' || *text == '+';
    out->negative = *text == '-';
    if (!read_magnitude(text + sign, &out->magnitude))
        return false;
    uint64_t most = out->negative ? (uint64_t)INT64_MAX + 1 : sign ? INT64_MAX : UINT64_MAX;
    return out->magnitude <= most;
}

/* Sign, digits with a point among or around them, exponent: what strtod() takes besides (hex, inf,
 * nan) is no float. */
static bool read_float(const char *text, double *out)
{
    const char *at = text + (*text == '-' || *text == '+');
    size_t whole = strspn(at, "0123456789"), fraction = 0;
    at += whole;
    if (*at == '.') {
        fraction = strspn(++at, "0123456789");
        at += fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '-' || at[1] == '+');
        size_t digits = strspn(at, "0123456789");
        if (digits == 0)
            return false;
        at += digits;
    }
    if (*at)
        return false;
    *out = strtod(text, NULL);
    return isfinite(*out);
}

/* Copies without the underscores that group digits; false when it is too long for a number or holds
 * a NUL. */
static bool copy_number(const char *text, size_t len, char out[LONGEST_NUMBER + 1])
{
    size_t used = 0;
    if (len > LONGEST_NUMBER)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\0')
            return false;
        if (text[i] != '_' || text[0] == '.')
            out[used++] = text[i];
    }
    out[used] = '\0';
    return true;
}

static struct scalar resolve(const char *text, size_t len)
{
    struct scalar scalar = {.kind = IS_STRING};
    const struct word *word = find_word(text, len);
    if (word) {
        scalar.kind = word->kind;
        scalar.truth = word->truth;
        return scalar;
    }
    char number[LONGEST_NUMBER + 1];
    if (!strchr("0123456789+-.", text[0]) || !copy_number(text, len, number))
        return scalar;
    if (text[0] != '.' && read_integer(number, &scalar))
        scalar.kind = IS_INT;
    else if (read_float(number, &scalar.real))
        scalar.kind = IS_FLOAT;
    return scalar;
}

static struct json_object *new_integer(const struct scalar *scalar)
{
    if (scalar->negative)
        return json_object_new_int64((int64_t)(0 - scalar->magnitude));
    if (scalar->magnitude > INT64_MAX)
        return json_object_new_uint64(scalar->magnitude);
    return json_object_new_int64((int64_t)scalar->magnitude);
}

/* Kubernetes goes through JSON text, in which 1.0 is written 1. */
static struct json_object *new_real(double real)
{
    if (real == trunc(real) && fabs(real) < 0x1p53)
        return json_object_new_int64((int64_t)real);
    return json_object_new_double(real);
}

static struct json_object *new_value(const struct scalar *scalar, const char *text, size_t len)
{
    switch (scalar->kind) {
    case IS_BOOL:
        return json_object_new_boolean(scalar->truth);
    case IS_INT:
        return new_integer(scalar);
    case IS_FLOAT:
        return new_real(scalar->real);
    case IS_NULL:
        return NULL;
    default:
        return json_object_new_string_len(text, (int)len);
    }
}

/* JSON holds text only, so the bytes must be UTF-8. */
static const char *binary(struct arena *arena, const char *text, size_t len,
                          struct json_object **out)
{
    char *data;
    size_t size;
    const char *copy = arena_strndup(arena, text, len);
    if (base64_decode(arena, copy, &data, &size, NULL) != ERR_OK)
        return "base64 behind !!binary";
    if (!utf8_valid(data, size))
        return "base64 of UTF-8 text behind !!binary";
    *out = json_object_new_string_len(data, (int)size);
    return NULL;
}

/* A scalar whose tag names its type. */
static const char *tagged(struct arena *arena, const char *text, size_t len, const char *name,
                          struct json_object **out)
{
    static const struct {
        const char *name;
        enum kind kind;
        const char *expected;
    } types[] = {
        {"null", IS_NULL, "null behind !!null"},
        {"bool", IS_BOOL, "true or false behind !!bool"},
        {"int", IS_INT, "a whole number behind !!int"},
        {"float", IS_FLOAT, "a number behind !!float"},
    };
    if (strcmp(name, "binary") == 0)
        return binary(arena, text, len, out);
    struct scalar scalar = resolve(text, len);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(name, types[i].name) != 0)
            continue;
        if (scalar.kind != types[i].kind && !(types[i].kind == IS_FLOAT && scalar.kind == IS_INT))
            return types[i].expected;
        *out = new_value(&scalar, text, len);
        return NULL;
    }
    *out = json_object_new_string_len(text, (int)len);
    return NULL;
}

const char *yaml_scalar(struct arena *arena, const char *text, size_t len, const char *tag,
                        bool plain, struct json_object **out)
{
    static const char standard[] = "tag:yaml.org,2002:";
    *out = NULL;
    if (tag && strncmp(tag, standard, sizeof(standard) - 1) == 0)
        return tagged(arena, text, len, tag + sizeof(standard) - 1, out);
    struct scalar scalar = {.kind = IS_STRING};
    if (plain && (!tag || !*tag))
        scalar = resolve(text, len);
    if (scalar.kind == IS_NOT_FINITE)
        return "a number that JSON can hold";
    *out = new_value(&scalar, text, len);
    return NULL;
}
