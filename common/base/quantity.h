/* Kubernetes resource quantities: "500m", "1.5Gi", "2e3". */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * apimachinery's resource.Quantity: value * 10^scale exactly, the format of its text, and the
 * properties of apimachinery's own representation that the pod template hash needs.
 */
enum quantity_format { QUANTITY_DECIMAL_SI, QUANTITY_BINARY_SI, QUANTITY_DECIMAL_EXPONENT };
enum { QUANTITY_TEXT = 64 };
struct quantity {
    int64_t value; /* the nearest int64 if big */
    int32_t scale;
    enum quantity_format format;
    bool big;     /* the amount needs more than 63 bits: it is wide * 10^scale */
    bool decimal; /* apimachinery keeps it as an inf.Dec (scale -9 unless zero or capped), not as an
                   * int64 */
    __int128 wide;              /* as read by quantity_parse(), big or not */
    char source[QUANTITY_TEXT]; /* the text itself if apimachinery prints it unchanged, else "" */
};

/* Parses like apimachinery, except that a number without a digit and one with over 38 significant
 * digits are ERR_INVALID. */
enum err quantity_parse(const char *text, struct quantity *out, struct errinfo *ei) MUST_USE;
/* "512Mi" as a whole number, rounded up as Quantity.Value() does; beyond int64 is ERR_INVALID. */
enum err quantity_whole(const char *text, int64_t *out, struct errinfo *ei) MUST_USE;

#endif
