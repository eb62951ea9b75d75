#include "router/common_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { MAX_TEXT = 256 }; /* of a message of PCRE2; it cuts longer ones */

const char *regex_mistake(struct arena *arena, const char *pattern)
{
    int number;
    PCRE2_SIZE at;
    PCRE2_UCHAR text[MAX_TEXT] = "";
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &number, &at, NULL);

    if (code) {
        pcre2_code_free(code);
        return NULL;
    }
    (void)pcre2_get_error_message(number, text, sizeof(text));
    return arena_printf(arena, "%s at character %zu", (const char *)text, (size_t)at + 1);
}
