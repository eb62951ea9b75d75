/* A quantity's canonical text is the same amount, and its own canonical text. */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/quantity.h"
#include "fuzz.h"

static void check_order(const struct quantity *a, const struct quantity *b)
{
    int forth = quantity_compare(a, b), back = quantity_compare(b, a);
    assert((forth < 0) == (back > 0) && (forth > 0) == (back < 0));
    (void)forth;
    (void)back;
}

static void check_text(struct quantity *q)
{
    char text[QUANTITY_TEXT], again[QUANTITY_TEXT];
    struct quantity back;
    if (q->scale > 900000)
        return; /* the largest exponents that are read become larger when zeros move into them */
    q->source[0] = '\0'; /* the canonical text, not the one that was read */
    enum err err = quantity_parse(quantity_format(q, text), &back, NULL);
    assert(err == ERR_OK && quantity_compare(q, &back) == 0);
    back.source[0] = '\0';
    assert(strcmp(quantity_format(&back, again), text) == 0);
    (void)err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    const char *text = arena_strndup(arena, (const char *)data, size);
    const char *space = strchr(text, ' ');
    struct quantity a, b;
    if (quantity_parse(arena_strndup(arena, text, space ? (size_t)(space - text) : size), &a,
                       NULL) == ERR_OK) {
        check_text(&a);
        if (space && quantity_parse(space + 1, &b, NULL) == ERR_OK)
            check_order(&a, &b);
    }
    arena_free(arena);
    return 0;
}
