#include "proto/spechash_quantity.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "base/quantity.h"

static const char *const format_names[] = {
    [QUANTITY_DECIMAL_SI] = "DecimalSI",
    [QUANTITY_BINARY_SI] = "BinarySI",
    [QUANTITY_DECIMAL_EXPONENT] = "DecimalExponent",
};

static void put(struct buf *out, int64_t value, int scale, const char *decimal, const char *text,
                const char *format)
{
    buf_printf(out,
               "{i:(resource.int64Amount){value:(int64)%" PRId64 " scale:(resource.Scale)%d} "
               "d:(resource.infDecAmount){Dec:(*inf.Dec)%s} s:(string)%s "
               "Format:(resource.Format)%s}",
               value, scale, decimal, text, format);
}

/* The decimal: its amount in words of 64 bits, the lowest first, and a scale that counts the other
 * way round. */
static void put_decimal(struct buf *out, const struct quantity *q)
{
    unsigned __int128 amount =
        q->wide < 0 ? -(unsigned __int128)q->wide : (unsigned __int128)q->wide;
    uint64_t low = (uint64_t)amount, high = (uint64_t)(amount >> 64);
    char words[64] = "<nil>";
    if (high > 0)
        snprintf(words, sizeof words, "[%" PRIu64 " %" PRIu64 "]", low, high);
    else if (low > 0)
        snprintf(words, sizeof words, "[%" PRIu64 "]", low);
    char decimal[160];
    snprintf(decimal, sizeof decimal,
             "{unscaled:(big.Int){neg:(bool)%s abs:(big.nat)%s} scale:(inf.Scale)%d}",
             q->wide < 0 ? "true" : "false", words, -q->scale);
    put(out, 0, 0, decimal, "", format_names[q->format]);
}

enum err spechash_quantity(struct buf *out, const char *text, struct errinfo *ei)
{
    struct quantity q;
    if (text == NULL) {
        put(out, 0, 0, "<nil>", "", "");
        return ERR_OK;
    }
    enum err err = quantity_parse(text, &q, ei);
    if (err != ERR_OK)
        return err;
    if (q.decimal)
        put_decimal(out, &q);
    else
        put(out, q.value, q.scale, "<nil>", q.source, format_names[q.format]);
    return ERR_OK;
}
