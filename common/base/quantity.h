/* Kubernetes resource quantities ("500m", "1.5Gi", "2e3") and int-or-percent values ("25%", 1). */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * apimachinery's resource.Quantity: value * 10^scale exactly, and the format its text had.
 * Values that need more than 63 bits are kept as a decimal in text form only (big is true).
 */
enum quantity_format { QUANTITY_DECIMAL_SI, QUANTITY_BINARY_SI, QUANTITY_DECIMAL_EXPONENT };
struct quantity {
    int64_t value;
    int32_t scale;
    enum quantity_format format;
};

enum err quantity_parse(const char *text, struct quantity *out, struct errinfo *ei) MUST_USE;
/* <0, 0, >0 */
int quantity_compare(const struct quantity *a, const struct quantity *b);
enum { QUANTITY_TEXT = 64 };
/* The canonical text, as the API server prints it. Returns text. */
char *quantity_format(const struct quantity *q, char text[QUANTITY_TEXT]);

/*
 * intstr.GetScaledValueFromIntOrPercent: an int as it is, "N%" of total rounded up or down. obj NULL gives missing.
 * ERR_INVALID for anything else.
 */
enum err intstr_scaled(struct json_object *obj, int total, bool round_up, int missing, int *out,
                       struct errinfo *ei) MUST_USE;

#endif
