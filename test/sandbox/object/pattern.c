#include "object/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <assert.h>
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

/* What PCRE2 knows and RE2 does not, as far as somebody may write it: look-around and other groups
 * of its own, back references. */
static enum err check_common_ground(const char *text, struct errinfo *ei)
{
    for (const char *p = text; *p; p++) {
        bool plain = strncmp(p, "(?:", 3) == 0 || strncmp(p, "(?P<", 4) == 0 ||
                     (p == text && strncmp(p, "(?i)", 4) == 0);
        bool reference = p[0] == '\\' && isdigit((unsigned char)p[1]);
        if (reference || (p[0] == '(' && (p[1] == '?' || p[1] == '*') && !plain))
            return err_set(ei, ERR_INVALID, "pattern \"%s\", character %zu: not supported", text,
                           (size_t)(p - text) + 1);
        p += p[0] == '\\' && p[1];
    }
    return ERR_OK;
}

enum err pattern_compile(const char *text, enum pattern_unit unit, struct pattern **out,
                         struct errinfo *ei)
{
    if (strlen(text) > PATTERN_MAX_BYTES)
        return err_set(ei, ERR_INVALID, "the pattern is longer than %d bytes", PATTERN_MAX_BYTES);
    enum err err = check_common_ground(text, ei);
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

bool pattern_fits(const char *text, const char *subject)
{
    enum { MAX = 16 };
    static struct known {
        const char *text;
        struct pattern *pattern;
    } known[MAX];
    size_t i = 0;
    while (known[i].text && strcmp(known[i].text, text) != 0)
        i++;
    assert(i < MAX - 1);
    if (!known[i].text) {
        char *whole = heap_printf("^(?:%s)$", text);
        enum err err = pattern_compile(whole, PATTERN_BYTES, &known[i].pattern, NULL);
        assert(err == ERR_OK);
        known[i].text = text;
        free(whole);
    }
    return pattern_match(known[i].pattern, subject, strlen(subject));
}
