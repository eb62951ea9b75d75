#include "object/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { MATCH_STEPS = 1000000 };

struct pattern {
    pcre2_code *code;
    pcre2_match_context *limits;
};

/* Reads a pattern only as far as the two languages part; PCRE2 finds all other mistakes. */
struct reader {
    const char *text, *p;
    struct errinfo *ei;
};

static enum err fail(struct reader *r, const char *why)
{
    return err_set(r->ei, ERR_INVALID, "pattern \"%s\", character %zu: %s", r->text,
                   (size_t)(r->p - r->text) + 1, why);
}

/* At a backslash. Letters and digits after it mean something only if known has them. */
static enum err read_escape(struct reader *r, const char *known)
{
    char c = r->p[1];
    if (!c || (unsigned char)c >= 0x80 || (isalnum((unsigned char)c) && !strchr(known, c)))
        return fail(r, "this escape is not supported");
    bool digits =
        r->p[2] == '{' || (isxdigit((unsigned char)r->p[2]) && isxdigit((unsigned char)r->p[3]));
    if (c == 'x' && !digits)
        return fail(r, "\\x needs two hexadecimal digits, or some in braces");
    r->p += 2;
    r->p += c == 'x' && *r->p == '{' ? strcspn(r->p, "}") : 0;
    return ERR_OK;
}

/* At "[". */
static enum err read_class(struct reader *r)
{
    r->p += r->p[1] == '^' ? 2 : 1;
    for (bool first = true; *r->p && (first || *r->p != ']'); first = false) {
        const char *named = r->p[0] == '[' && r->p[1] == ':' ? strstr(r->p, ":]") : NULL;
        if (*r->p == '\\') {
            enum err err = read_escape(r, "afnrtdDwWsSx");
            if (err)
                return err;
        } else {
            r->p = named ? named + 2 : r->p + 1;
        }
    }
    r->p += *r->p == ']';
    return ERR_OK;
}

/* At "(". */
static enum err read_group(struct reader *r)
{
    if (r->p[1] == '*' || r->p[1] == '+')
        return fail(r, "there is nothing to repeat");
    if (r->p[1] == '?' && r->p[2] != ':' && strncmp(r->p, "(?P<", 4) != 0)
        return fail(r, "this kind of group is not supported");
    r->p += r->p[1] == '?' ? 3 : 1;
    return ERR_OK;
}

/* The length of the quantifier at p, without the "?" that makes it lazy; 0 when it is none. */
static size_t quantifier(const char *p)
{
    if (*p != '{')
        return *p && strchr("*+?", *p) ? 1 : 0;
    size_t least = strspn(p + 1, "0123456789");
    size_t most = least && p[1 + least] == ',' ? 1 + strspn(p + 2 + least, "0123456789") : 0;
    return least && p[1 + least + most] == '}' ? 2 + least + most : 0;
}

static enum err read_quantifier(struct reader *r, bool repeatable)
{
    size_t len = quantifier(r->p);
    if (len == 0)
        return ERR_OK;
    if (!repeatable)
        return fail(r, "there is nothing to repeat");
    for (const char *p = r->p + 1; len > 1 && *p != '}'; p++) {
        char *end = (char *)p;
        if (strtol(p, &end, 10) > PATTERN_MAX_REPEAT)
            return fail(r, "the repeat is too large");
        p = end > p ? end - 1 : p;
    }
    r->p += len;
    r->p += *r->p == '?';
    return quantifier(r->p) ? fail(r, "there is nothing to repeat") : ERR_OK;
}

static enum err check_common_ground(struct reader *r)
{
    r->p += strncmp(r->p, "(?i)", 4) == 0 ? 4 : 0;
    if (quantifier(r->p))
        return fail(r, "there is nothing to repeat");
    while (*r->p) {
        bool repeatable = !strchr("(|^$", *r->p) && !(*r->p == '\\' && strchr("bBAz", r->p[1]));
        enum err err = ERR_OK;
        if (*r->p == '\\')
            err = read_escape(r, "afnrtbBAzdDwWsSx");
        else if (*r->p == '[')
            err = read_class(r);
        else if (*r->p == '(')
            err = read_group(r);
        else
            r->p++;
        if (!err)
            err = read_quantifier(r, repeatable);
        if (err)
            return err;
    }
    return ERR_OK;
}

enum err pattern_compile(const char *text, enum pattern_unit unit, struct pattern **out,
                         struct errinfo *ei)
{
    if (strlen(text) > PATTERN_MAX_BYTES)
        return err_set(ei, ERR_INVALID, "the pattern is longer than %d bytes", PATTERN_MAX_BYTES);
    struct reader reader = {.text = text, .p = text, .ei = ei};
    enum err err = check_common_ground(&reader);
    if (err)
        return err;

    int number = 0;
    PCRE2_SIZE at = 0;
    pcre2_code *code = pcre2_compile(
        (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
        PCRE2_DOLLAR_ENDONLY | (unit == PATTERN_CHARACTERS ? PCRE2_UTF : 0), &number, &at, NULL);
    /* HAProxy takes no expression that cannot be made machine code, either. */
    if (code)
        number = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    if (!code || (number != 0 && number != PCRE2_ERROR_JIT_BADOPTION)) {
        PCRE2_UCHAR why[160];
        pcre2_get_error_message(number, why, sizeof(why));
        pcre2_code_free(code);
        return err_set(ei, ERR_INVALID, "pattern \"%s\", character %zu: %s", text, at + 1,
                       (const char *)why);
    }
    struct pattern *pattern = heap_alloc(sizeof(*pattern));
    *pattern = (struct pattern){.code = code, .limits = pcre2_match_context_create(NULL)};
    pcre2_set_match_limit(pattern->limits, MATCH_STEPS);
    *out = pattern;
    return ERR_OK;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_match_context_free(pattern->limits);
    pcre2_code_free(pattern->code);
    free(pattern);
}

bool pattern_match(const struct pattern *pattern, const char *text, size_t len)
{
    pcre2_match_data *found = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    int rc = pcre2_match(pattern->code, (PCRE2_SPTR)text, len, 0, 0, found, pattern->limits);
    pcre2_match_data_free(found);
    return rc >= 0;
}
