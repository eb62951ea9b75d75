#include "kube/version.h"

#include <string.h>

#include "kube/name_set.h"

enum { MAX_DIGITS = 18 }; /* less than the bit */

static const uint64_t NO_NUMBER = UINT64_C(1) << 63;

uint64_t version_mark(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    uint64_t number = 0;

    if (len == 0 || len > MAX_DIGITS || text[0] == '0' || text[strspn(text, "0123456789")])
        return name_hash(NULL, text) | NO_NUMBER;
    for (size_t i = 0; i < len; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    return number;
}

uint64_t version_number(uint64_t mark)
{
    return mark & NO_NUMBER ? 0 : mark;
}
