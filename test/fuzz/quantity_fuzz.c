/* A text is a quantity in both readings of it or in none, but for one that is too large. */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/quantity.h"
#include "fuzz.h"

FUZZ_TARGET(arena, data, size)
{
    const char *text = arena_strndup(arena, (const char *)data, size);
    struct errinfo ei = {0};
    struct quantity q;
    int64_t whole;
    enum err err = quantity_parse(text, &q, NULL);
    enum err again = quantity_whole(text, &whole, &ei);

    assert(err == ERR_OK ? again == ERR_OK || strstr(ei.text, "too large") : again == err);
    (void)err, (void)again;
}
