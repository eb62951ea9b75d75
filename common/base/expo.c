#include "base/expo.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/expo_process.h"
#include "base/table.h"
#include "base/utf8.h"

static const double default_buckets[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 0};

/* Each sample is in its metric's ring, in the order of first use, and in the table. */
struct expo_sample {
    struct expo_metric *metric;
    struct expo_sample *next, *prev;
    char *key;
    double value;      /* a histogram's sum */
    uint64_t count;    /* histogram */
    uint64_t *buckets; /* histogram: observations up to each bound, not cumulative */
    size_t labels_len;
    char labels[]; /* the values, each with its NUL */
};

static void key_of_sample(const void *item, const char **name, const char **key)
{
    const struct expo_sample *sample = item;

    *name = sample->metric->name;
    *key = sample->key;
}

static struct {
    struct expo_metric *metrics; /* by name */
    struct table samples;        /* by the metric's name and the sample's key */
} registry = {.samples = {.key = key_of_sample}};

static struct expo_metric dropped = {
    .name = "expo_dropped_samples_total",
    .help = "Updates of label sets beyond a metric's maximum, which were dropped.",
    .type = EXPO_COUNTER};

static size_t count_labels(const struct expo_metric *metric)
{
    size_t count = 0;
    while (metric->labels[count])
        count++;
    return count;
}

/* The values in one text, in which no two lists of values are the same. */
struct key {
    char *text;
    char room[256]; /* of most */
};

static void key_make(struct key *key, const char *const *values)
{
    enum { END = 1, ESCAPE = 2 };
    size_t size = 1;

    for (size_t i = 0; values[i]; i++)
        size += 2 * strlen(values[i]) + 1;
    key->text = size > sizeof(key->room) ? heap_alloc(size) : key->room;
    char *out = key->text;
    for (size_t i = 0; values[i]; i++) {
        for (const char *at = values[i]; *at; at++) {
            if (*at == END || *at == ESCAPE)
                *out++ = ESCAPE;
            *out++ = *at;
        }
        *out++ = END;
    }
    *out = '\0';
}

static void key_free(struct key *key)
{
    if (key->text != key->room)
        free(key->text);
}

static bool has_labels(const struct expo_sample *sample, const char *const *values)
{
    const char *at = sample->labels;
    for (size_t i = 0; values[i]; i++) {
        if (strcmp(at, values[i]) != 0)
            return false;
        at += strlen(at) + 1;
    }
    return true;
}

static struct expo_sample *find(struct expo_metric *metric, const char *const *values)
{
    size_t given = 0;
    while (values[given])
        given++;
    assert(given == count_labels(metric) && "one value for each label");
    struct key key;
    key_make(&key, values);
    struct expo_sample *sample = table_get(&registry.samples, metric->name, key.text);
    key_free(&key);
    return sample;
}

static void enlist(struct expo_metric *metric)
{
    struct expo_metric **at = &registry.metrics;
    while (*at && strcmp((*at)->name, metric->name) < 0)
        at = &(*at)->next;
    if (*at == metric)
        return;
    assert((!*at || strcmp((*at)->name, metric->name) != 0) && "a metric's name is used once");
    metric->next = *at;
    *at = metric;
}

static size_t count_buckets(const struct expo_metric *metric)
{
    const double *bounds = metric->buckets ? metric->buckets : default_buckets;
    size_t count = 0;
    while (bounds[count] != 0)
        count++;
    return count;
}

static struct expo_sample *sample_new(struct expo_metric *metric, const char *const *values)
{
    size_t len = 0;
    for (size_t i = 0; values[i]; i++)
        len += strlen(values[i]) + 1;
    struct expo_sample *sample = heap_alloc(sizeof(*sample) + len);
    sample->metric = metric;
    struct key key;
    key_make(&key, values);
    sample->key = heap_strdup(key.text);
    key_free(&key);
    for (size_t i = 0; values[i]; i++) {
        size_t size = strlen(values[i]) + 1;
        memcpy(sample->labels + sample->labels_len, values[i], size);
        sample->labels_len += size;
    }
    if (metric->type == EXPO_HISTOGRAM)
        sample->buckets = heap_array(count_buckets(metric), sizeof(*sample->buckets));
    return sample;
}

static void ring_add(struct expo_metric *metric, struct expo_sample *sample)
{
    struct expo_sample *head = metric->samples;
    if (!head) {
        sample->next = sample->prev = sample;
        metric->samples = sample;
        return;
    }
    sample->next = head;
    sample->prev = head->prev;
    head->prev->next = sample;
    head->prev = sample;
}

/* Found or made; NULL when the metric has too many, which is counted. */
static struct expo_sample *obtain(struct expo_metric *metric, const char *const *values)
{
    struct expo_sample *sample = find(metric, values);
    if (sample)
        return sample;
    enlist(metric);
    if (metric->count >= (metric->max_samples ? metric->max_samples : EXPO_MAX_SAMPLES)) {
        expo_add(&dropped, 1);
        return NULL;
    }
    sample = sample_new(metric, values);
    (void)table_put(&registry.samples, sample);
    ring_add(metric, sample);
    metric->count++;
    return sample;
}

static void sample_free(struct expo_sample *sample)
{
    free(sample->buckets);
    free(sample->key);
    free(sample);
}

void expo_add_(struct expo_metric *metric, double amount, const char *const *values)
{
    assert(metric->type == EXPO_GAUGE || (metric->type == EXPO_COUNTER && amount >= 0));
    struct expo_sample *sample = obtain(metric, values);
    if (sample)
        sample->value += amount;
}

void expo_set_(struct expo_metric *metric, double value, const char *const *values)
{
    assert(metric->type == EXPO_GAUGE);
    struct expo_sample *sample = obtain(metric, values);
    if (sample)
        sample->value = value;
}

void expo_observe_(struct expo_metric *metric, double value, const char *const *values)
{
    assert(metric->type == EXPO_HISTOGRAM);
    struct expo_sample *sample = obtain(metric, values);
    if (!sample)
        return;
    const double *bounds = metric->buckets ? metric->buckets : default_buckets;
    size_t i = 0;
    while (bounds[i] != 0 && !(value <= bounds[i]))
        i++;
    if (bounds[i] != 0)
        sample->buckets[i]++;
    sample->value += value;
    sample->count++;
}

static void forget(struct expo_metric *metric, struct expo_sample *sample)
{
    (void)table_take(&registry.samples, metric->name, sample->key);
    sample->prev->next = sample->next;
    sample->next->prev = sample->prev;
    if (metric->samples == sample)
        metric->samples = sample->next == sample ? NULL : sample->next;
    metric->count--;
    sample_free(sample);
}

void expo_forget_(struct expo_metric *metric, const char *const *values)
{
    struct expo_sample *sample = find(metric, values);
    if (sample)
        forget(metric, sample);
}

void expo_forget_all_(struct expo_metric *metric, const char *const *values)
{
    struct expo_sample *sample = metric->samples;
    for (uint32_t left = metric->count; left > 0; left--) {
        struct expo_sample *next = sample->next;
        if (has_labels(sample, values))
            forget(metric, sample);
        sample = next;
    }
}

double expo_value_(struct expo_metric *metric, const char *const *values)
{
    struct expo_sample *sample = find(metric, values);
    if (!sample)
        return 0;
    return metric->type == EXPO_HISTOGRAM ? (double)sample->count : sample->value;
}

void expo_register(struct expo_metric *metric)
{
    enlist(metric);
    if (!metric->labels[0] && !metric->tell)
        obtain(metric, (const char *const[]){NULL});
}

static void put_number(struct buf *out, double value)
{
    if (isnan(value))
        buf_puts(out, "NaN");
    else if (isinf(value))
        buf_puts(out, value > 0 ? "+Inf" : "-Inf");
    else
        buf_real(out, value);
}

/* Escapes what would end the line or, in a label, the value; bad UTF-8 would make Prometheus refuse
 * everything. */
static void put_escaped(struct buf *out, const char *text, bool label)
{
    size_t len = strlen(text), plain = 0, at = 0;
    while (at < len) {
        unsigned char c = (unsigned char)text[at];
        size_t n = c < 0x80 ? 1 : utf8_sequence(text + at, len - at);
        if (n > 0 && c != '\n' && c != '\\' && !(label && c == '"')) {
            at += n;
            continue;
        }
        buf_add(out, text + plain, at - plain);
        if (n == 0)
            buf_puts(out, "\xef\xbf\xbd");
        else
            buf_add(out, (const char[]){'\\', c == '\n' ? 'n' : (char)c}, 2);
        plain = ++at;
    }
    buf_add(out, text + plain, len - plain);
}

/* The name with a suffix and, in braces, the labels and a histogram's bound. Of 100,000 Canaries there
 * are 300,000 of them: no formats. */
static void put_series(struct buf *out, const struct expo_metric *metric, const char *const *values,
                       const char *suffix, const double *bound)
{
    buf_puts(out, metric->name);
    buf_puts(out, suffix);
    const char *separator = "{";
    for (size_t i = 0; metric->labels[i]; i++) {
        buf_puts(out, separator);
        buf_puts(out, metric->labels[i]);
        buf_puts(out, "=\"");
        put_escaped(out, values[i], true);
        buf_puts(out, "\"");
        separator = ",";
    }
    if (bound) {
        buf_puts(out, separator);
        buf_puts(out, "le=\"");
        put_number(out, *bound);
        buf_puts(out, "\"");
        separator = ",";
    }
    buf_puts(out, *separator == ',' ? "} " : " ");
}

static void put_value(struct buf *out, const struct expo_metric *metric, const char *const *values,
                      const char *suffix, const double *bound, double value)
{
    put_series(out, metric, values, suffix, bound);
    put_number(out, value);
    buf_puts(out, "\n");
}

static void put_histogram(struct buf *out, const struct expo_sample *sample,
                          const char *const *values)
{
    static const double infinity = INFINITY;
    const struct expo_metric *metric = sample->metric;
    const double *bounds = metric->buckets ? metric->buckets : default_buckets;
    uint64_t total = 0;
    for (size_t i = 0; bounds[i] != 0; i++) {
        total += sample->buckets[i];
        put_value(out, metric, values, "_bucket", &bounds[i], (double)total);
    }
    put_value(out, metric, values, "_bucket", &infinity, (double)sample->count);
    put_value(out, metric, values, "_sum", NULL, sample->value);
    put_value(out, metric, values, "_count", NULL, (double)sample->count);
}

static void put_sample(struct buf *out, const struct expo_sample *sample)
{
    const char *values[EXPO_MAX_LABELS], *value = sample->labels;
    for (size_t i = 0; sample->metric->labels[i]; i++, value += strlen(value) + 1)
        values[i] = value;
    if (sample->metric->type == EXPO_HISTOGRAM)
        put_histogram(out, sample, values);
    else
        put_value(out, sample->metric, values, "", NULL, sample->value);
}

struct expo_telling {
    struct buf *out;
    const struct expo_metric *metric;
};

void expo_tell_(struct expo_telling *telling, double value, const char *const *values)
{
    put_value(telling->out, telling->metric, values, "", NULL, value);
}

static void put_metric(struct buf *out, const struct expo_metric *metric)
{
    static const char *const types[] = {
        [EXPO_COUNTER] = "counter",
        [EXPO_GAUGE] = "gauge",
        [EXPO_HISTOGRAM] = "histogram",
    };
    if (!metric->samples && !metric->tell)
        return;
    buf_printf(out, "# HELP %s ", metric->name);
    put_escaped(out, metric->help, false);
    buf_printf(out, "\n# TYPE %s %s\n", metric->name, types[metric->type]);
    if (metric->tell)
        metric->tell(&(struct expo_telling){.out = out, .metric = metric});
    const struct expo_sample *sample = metric->samples;
    for (uint32_t left = metric->count; left > 0; left--, sample = sample->next)
        put_sample(out, sample);
}

void expo_write(struct buf *out)
{
    expo_register(&dropped);
    for (const struct expo_metric *metric = registry.metrics; metric; metric = metric->next)
        put_metric(out, metric);
    expo_process_write(out);
}

void expo_reset(void)
{
    while (registry.metrics) {
        struct expo_metric *metric = registry.metrics;
        registry.metrics = metric->next;
        if (metric->samples)
            metric->samples->prev->next = NULL;
        while (metric->samples) {
            struct expo_sample *sample = metric->samples;
            metric->samples = sample->next;
            sample_free(sample);
        }
        metric->next = NULL;
        metric->count = 0;
    }
    table_fini(&registry.samples);
    registry.metrics = NULL;
}
