#include "proto/spechash_quantity.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Limits of apimachinery's short form: an int64 and a power of ten not below nano. */
enum { SHORT_DIGITS = 18, NANO = -9, MAX_DIGITS = 38 };

/* What the suffix means: a power of ten or of two. */
struct suffix {
    const char *text;
    int base;
    int exponent;
};

static const struct suffix suffixes[] = {
    {"", 10, 0},   {"n", 10, -9}, {"u", 10, -6}, {"m", 10, -3}, {"k", 10, 3},  {"M", 10, 6},
    {"G", 10, 9},  {"T", 10, 12}, {"P", 10, 15}, {"E", 10, 18}, {"Ki", 2, 10}, {"Mi", 2, 20},
    {"Gi", 2, 30}, {"Ti", 2, 40}, {"Pi", 2, 50}, {"Ei", 2, 60},
};

struct parsed {
    bool negative;
    bool exponential; /* 1e3 */
    int base, exponent;
    char digits[MAX_DIGITS + 1]; /* of the numerator without leading zeros (at least "0"), then the
                                    denominator */
    int n_digits;
    int n_numerator;
};

static bool add_digit(struct parsed *p, char digit)
{
    if (p->n_digits == MAX_DIGITS)
        return false;
    p->digits[p->n_digits++] = digit;
    return true;
}

static bool scan_exponent(const char *text, int *out)
{
    bool negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    int value = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (!isdigit((unsigned char)*text) || value > 1000)
            return false;
        value = value * 10 + (*text - '0');
    }
    *out = negative ? -value : value;
    return true;
}

static bool scan_suffix(struct parsed *p, const char *text)
{
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (strcmp(suffixes[i].text, text) == 0) {
            p->base = suffixes[i].base;
            p->exponent = suffixes[i].exponent;
            return true;
        }
    }
    p->base = 10;
    p->exponential = true;
    return (*text == 'e' || *text == 'E') && scan_exponent(text + 1, &p->exponent);
}

static bool scan(struct parsed *p, const char *text)
{
    p->negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    if (!isdigit((unsigned char)*text) && *text != '.')
        return false;
    while (*text == '0')
        text++;
    for (; isdigit((unsigned char)*text); text++) {
        if (!add_digit(p, *text))
            return false;
    }
    if (p->n_digits == 0)
        add_digit(p, '0');
    p->n_numerator = p->n_digits;
    if (*text == '.') {
        for (text++; isdigit((unsigned char)*text); text++) {
            if (!add_digit(p, *text))
                return false;
        }
    }
    return scan_suffix(p, text);
}

static void put(struct buf *out, int64_t value, int scale, const char *decimal, const char *text,
                const char *format)
{
    buf_printf(out,
               "{i:(resource.int64Amount){value:(int64)%" PRId64 " scale:(resource.Scale)%d} "
               "d:(resource.infDecAmount){Dec:(*inf.Dec)%s} s:(string)%s "
               "Format:(resource.Format)%s}",
               value, scale, decimal, text, format);
}

static bool ends_with_000(const struct parsed *p)
{
    return p->n_digits >= 3 && memcmp(p->digits + p->n_digits - 3, "000", 3) == 0;
}

/* The int64 form. False where apimachinery takes the long one. */
static bool put_short(struct buf *out, const struct parsed *p, const char *text, const char *format)
{
    bool binary = p->base == 2;
    int decimals = p->n_digits - p->n_numerator;
    int scale = (binary ? 0 : p->exponent) - decimals;
    /* A power of two of exponent e has about e * 0.3 decimal digits. */
    int room = binary ? 15 - p->n_numerator - p->exponent * 3 / 10 - 1 : SHORT_DIGITS - p->n_digits;
    if ((binary && decimals > 0) || room < 0 || scale < NANO)
        return false;

    int64_t digits = 0;
    for (int i = 0; i < p->n_digits; i++)
        digits = digits * 10 + (p->digits[i] - '0');
    int64_t value = binary ? digits << p->exponent : digits;
    /* apimachinery keeps the text where it takes it for the canonical one. */
    bool canonical =
        binary ? (digits & 7) != 0 : scale % 3 == 0 && !ends_with_000(p) && p->digits[0] != '0';
    put(out, p->negative ? -value : value, scale, "<nil>", canonical ? text : "", format);
    return true;
}

/* amount * 10^power, or / 10^-power rounded up. False when it does not fit. */
static bool scale_up(unsigned __int128 *amount, int power)
{
    for (; power > 0; power--) {
        if (__builtin_mul_overflow(*amount, (unsigned __int128)10, amount))
            return false;
    }
    bool rest = false;
    for (; power < 0 && *amount > 0; power++) {
        rest = rest || *amount % 10 != 0;
        *amount /= 10;
    }
    if (rest)
        (*amount)++;
    return true;
}

/* The form with a big decimal, rounded up to nano as apimachinery does. */
static bool put_long(struct buf *out, const struct parsed *p, const char *format)
{
    unsigned __int128 amount = 0;
    for (int i = 0; i < p->n_digits; i++)
        amount = amount * 10 + (unsigned)(p->digits[i] - '0');
    int scale = p->n_digits - p->n_numerator;
    if (p->base == 10) {
        scale -= p->exponent;
    } else if (__builtin_mul_overflow(amount, (unsigned __int128)1 << p->exponent, &amount)) {
        return false;
    }
    if (amount != 0) {
        if (!scale_up(&amount, -NANO - scale))
            return false;
        scale = -NANO;
    }

    const unsigned __int128 one = 1000000000;
    if (p->base == 2 && amount > INT64_MAX * one) {
        amount = INT64_MAX;
        scale = 0;
    } else if (p->base == 2 && amount > 0 && amount < one) {
        format = "DecimalSI";
    }

    uint64_t low = (uint64_t)amount, high = (uint64_t)(amount >> 64);
    char words[64] = "<nil>";
    if (high > 0)
        snprintf(words, sizeof words, "[%" PRIu64 " %" PRIu64 "]", low, high);
    else if (low > 0)
        snprintf(words, sizeof words, "[%" PRIu64 "]", low);
    char decimal[160];
    snprintf(decimal, sizeof decimal,
             "{unscaled:(big.Int){neg:(bool)%s abs:(big.nat)%s} scale:(inf.Scale)%d}",
             p->negative && amount > 0 ? "true" : "false", words, scale);
    put(out, 0, 0, decimal, "", format);
    return true;
}

enum err spechash_quantity(struct buf *out, const char *text, struct errinfo *ei)
{
    if (text == NULL) {
        put(out, 0, 0, "<nil>", "", "");
        return ERR_OK;
    }
    if (strcmp(text, "0") == 0) {
        put(out, 0, 0, "<nil>", "0", "DecimalSI");
        return ERR_OK;
    }
    struct parsed parsed = {0};
    if (!scan(&parsed, text))
        return err_set(ei, ERR_INVALID, "expected a quantity such as 500m or 1Gi, found \"%.64s\"",
                       text);
    const char *format = parsed.exponential  ? "DecimalExponent"
                         : parsed.base == 10 ? "DecimalSI"
                                             : "BinarySI";
    if (!put_short(out, &parsed, text, format) && !put_long(out, &parsed, format))
        return err_set(ei, ERR_INVALID, "expected a quantity of fewer digits, found \"%.64s\"",
                       text);
    return ERR_OK;
}
