#include "app/native.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RESOLUTION = 3, PER_DOUBLING = 8, MAX_MESSAGE = 64 * 1024, HISTOGRAM = 4 };

void native_observe(struct native_histogram *histogram, double seconds, int status)
{
    int i = 0, at = (int)ceil(log2(fmax(seconds, 1e-9)) * PER_DOUBLING);

    while (i < NATIVE_SERIES - 1 && histogram->series[i].status != status &&
           histogram->series[i].status != 0)
        i++;
    struct native_series *series = &histogram->series[i];
    if (series->status == 0)
        series->status = status;
    series->sum += seconds;
    if (at < NATIVE_LEAST)
        series->zero++;
    else
        series->counts[(at > NATIVE_MOST ? NATIVE_MOST : at) - NATIVE_LEAST]++;
}

/* --- protobuf */

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2 };

static void put_varint(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        (void)buf_add(out, &(char){(char)(value | 0x80)}, 1);
    (void)buf_add(out, &(char){(char)value}, 1);
}

static void put_key(struct buf *out, unsigned field, enum wire wire)
{
    put_varint(out, field << 3 | wire);
}

static void put_number(struct buf *out, unsigned field, uint64_t value)
{
    put_key(out, field, VARINT);
    put_varint(out, value);
}

static uint64_t zigzag(int64_t value)
{
    return value < 0 ? (uint64_t)(-(value + 1)) * 2 + 1 : (uint64_t)value * 2;
}

static void put_double(struct buf *out, unsigned field, double value)
{
    put_key(out, field, FIXED64);
    (void)buf_add(out, (const char *)&value, sizeof(value)); /* little endian, as the machine */
}

static void put_bytes(struct buf *out, unsigned field, const char *bytes, size_t len)
{
    put_key(out, field, BYTES);
    put_varint(out, len);
    (void)buf_add(out, bytes, len);
}

static void put_text(struct buf *out, unsigned field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

/* A message, which is emptied. */
static void put_message(struct buf *out, unsigned field, struct buf *message)
{
    put_bytes(out, field, message->data, message->len);
    buf_fini(message);
}

/* --- messages */

static void put_label(struct buf *out, const char *name, const char *value)
{
    struct buf label;

    buf_init(&label, MAX_MESSAGE);
    put_text(&label, 1, name);
    put_text(&label, 2, value);
    put_message(out, 1, &label);
}

/* A run of buckets that are not empty: how many empty ones are before it, and its length. */
static void put_span(struct buf *out, int offset, int length)
{
    struct buf span;

    buf_init(&span, MAX_MESSAGE);
    put_number(&span, 1, zigzag(offset));
    put_number(&span, 2, (uint64_t)length);
    put_message(out, 12, &span);
}

static void put_buckets(struct buf *out, const struct native_series *series)
{
    int end = 0; /* the index after the last run */
    int64_t before = 0;

    for (int at = NATIVE_LEAST; at <= NATIVE_MOST; at++) {
        int length = 0;
        while (at + length <= NATIVE_MOST && series->counts[at + length - NATIVE_LEAST] > 0)
            length++;
        if (length == 0)
            continue;
        put_span(out, at - end, length);
        end = at + length;
        at = end - 1;
    }
    for (int at = NATIVE_LEAST; at <= NATIVE_MOST; at++) {
        int64_t count = (int64_t)series->counts[at - NATIVE_LEAST];
        if (count == 0)
            continue;
        put_number(out, 13, zigzag(count - before));
        before = count;
    }
}

static void put_series(struct buf *out, const struct native_series *series)
{
    struct buf metric, histogram;
    uint64_t count = series->zero;
    char status[16];

    for (int i = 0; i <= NATIVE_MOST - NATIVE_LEAST; i++)
        count += series->counts[i];
    snprintf(status, sizeof(status), "%d", series->status);
    buf_init(&metric, MAX_MESSAGE);
    buf_init(&histogram, MAX_MESSAGE);
    put_label(&metric, "status", status);
    put_number(&histogram, 1, count);
    put_double(&histogram, 2, series->sum);
    put_number(&histogram, 5, zigzag(RESOLUTION));
    put_double(&histogram, 6, pow(2, (double)(NATIVE_LEAST - 1) / PER_DOUBLING));
    put_number(&histogram, 7, series->zero);
    put_buckets(&histogram, series);
    put_message(&metric, 7, &histogram);
    put_message(out, 4, &metric);
}

void native_write(const struct native_histogram *histogram, struct buf *out)
{
    struct buf family;

    buf_init(&family, MAX_MESSAGE);
    put_text(&family, 1, histogram->name);
    put_text(&family, 2, histogram->help);
    put_number(&family, 3, HISTOGRAM);
    for (int i = 0; i < NATIVE_SERIES && histogram->series[i].status != 0; i++)
        put_series(&family, &histogram->series[i]);
    put_varint(out, family.len);
    (void)buf_add(out, family.data, family.len);
    buf_fini(&family);
}
