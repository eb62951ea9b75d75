/* Metrics in Prometheus text, with those of the process itself. */
#include "base/metrics.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/encoding.h"
#include "base/log.h"
#include "base/table.h"

static void put(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s ", name, help, name, type, name);
    buf_real(out, value);
    buf_puts(out, "\n");
}

/* Reads the beginning of a file in /proc; returns false if it is unreadable. */
static bool read_proc(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The number after `skip` blanks. */
static double number_after(const char *text, int skip)
{
    for (; skip > 0 && text; skip--) {
        text = strchr(text, ' ');
        text = text ? text + 1 : NULL;
    }
    return text ? strtod(text, NULL) : 0;
}

static void put_memory(struct buf *out)
{
    char statm[128];
    if (read_proc("/proc/self/statm", statm, sizeof(statm)))
        put(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
            number_after(statm, 1) * (double)sysconf(_SC_PAGESIZE));
}

static void put_cpu(struct buf *out)
{
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
        put(out, "process_cpu_seconds_total", "counter",
            "Total user and system CPU time spent in seconds.",
            (double)used.tv_sec + (double)used.tv_nsec / 1e9);
}

static void put_descriptors(struct buf *out)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return;
    int count = -1; /* the descriptor of this directory does not count */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    put(out, "process_open_fds", "gauge", "Number of open file descriptors.", count);
}

/* Start time of the process, from its ticks since boot and the boot time. */
static void put_start(struct buf *out)
{
    char stat[1024], kernel[16384];
    if (!read_proc("/proc/self/stat", stat, sizeof(stat)) ||
        !read_proc("/proc/stat", kernel, sizeof(kernel)))
        return;
    const char *fields = strrchr(stat, ')'); /* after the program's name, which may contain
                                              * blanks */
    const char *boot = strstr(kernel, "btime ");
    if (fields && boot)
        put(out, "process_start_time_seconds", "gauge",
            "Start time of the process since unix epoch in seconds.",
            number_after(boot, 1) + number_after(fields, 20) / (double)sysconf(_SC_CLK_TCK));
}

static void put_log(struct buf *out)
{
    put(out, "process_log_dropped_lines_total", "counter",
        "Lines of the log that were dropped because nobody read it.", (double)log_queue_dropped());
}

static void write_process(struct buf *out)
{
    put_cpu(out);
    put_descriptors(out);
    put_memory(out);
    put_start(out);
    put_log(out);
}

static const double default_buckets[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 0};

/* Each sample is in its metric's ring, in the order of first use, and in the table. */
struct metrics_sample {
    struct metrics_family *metric;
    struct metrics_sample *next, *prev;
    char *key;
    double value;      /* sum of a histogram */
    uint64_t count;    /* histogram */
    uint64_t *buckets; /* histogram: observations per bucket, not cumulative */
    size_t labels_len;
    char labels[]; /* the values, each with its NUL */
};

static void key_of_sample(const void *item, const char **name, const char **key)
{
    const struct metrics_sample *sample = item;

    *name = sample->metric->name;
    *key = sample->key;
}

static struct {
    struct metrics_family *metrics; /* sorted by name */
    struct table samples;           /* samples by the metric's name and the sample's key */
} registry = {.samples = {.key = key_of_sample}};

static struct metrics_family dropped = {
    .name = "expo_dropped_samples_total",
    .help = "Updates of label sets beyond a metric's maximum, which were dropped.",
    .type = METRICS_COUNTER};

static size_t count_labels(const struct metrics_family *metric)
{
    size_t count = 0;
    while (metric->labels[count])
        count++;
    return count;
}

/* Label values as one text, unambiguously. */
struct key {
    char *text;
    char room[256]; /* large enough for most keys */
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

static bool has_labels(const struct metrics_sample *sample, const char *const *values)
{
    const char *at = sample->labels;
    for (size_t i = 0; values[i]; i++) {
        if (strcmp(at, values[i]) != 0)
            return false;
        at += strlen(at) + 1;
    }
    return true;
}

static struct metrics_sample *find(struct metrics_family *metric, const char *const *values)
{
    size_t given = 0;
    while (values[given])
        given++;
    assert(given == count_labels(metric) && "one value for each label");
    struct key key;
    key_make(&key, values);
    struct metrics_sample *sample = table_get(&registry.samples, metric->name, key.text);
    key_free(&key);
    return sample;
}

static void enlist(struct metrics_family *metric)
{
    struct metrics_family **at = &registry.metrics;
    while (*at && strcmp((*at)->name, metric->name) < 0)
        at = &(*at)->next;
    if (*at == metric)
        return;
    assert((!*at || strcmp((*at)->name, metric->name) != 0) && "a metric's name is used once");
    metric->next = *at;
    *at = metric;
}

static size_t count_buckets(const struct metrics_family *metric)
{
    const double *bounds = metric->buckets ? metric->buckets : default_buckets;
    size_t count = 0;
    while (bounds[count] != 0)
        count++;
    return count;
}

static struct metrics_sample *sample_new(struct metrics_family *metric, const char *const *values)
{
    size_t len = 0;
    for (size_t i = 0; values[i]; i++)
        len += strlen(values[i]) + 1;
    struct metrics_sample *sample = heap_alloc(sizeof(*sample) + len);
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
    if (metric->type == METRICS_HISTOGRAM)
        sample->buckets = heap_array(count_buckets(metric), sizeof(*sample->buckets));
    return sample;
}

static void ring_add(struct metrics_family *metric, struct metrics_sample *sample)
{
    struct metrics_sample *head = metric->samples;
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

/* Finds or creates a sample; NULL if the metric has too many, which is counted. */
static struct metrics_sample *obtain(struct metrics_family *metric, const char *const *values)
{
    struct metrics_sample *sample = find(metric, values);
    if (sample)
        return sample;
    enlist(metric);
    if (metric->count >= (metric->max_samples ? metric->max_samples : METRICS_MAX_SAMPLES)) {
        metrics_add(&dropped, 1);
        return NULL;
    }
    sample = sample_new(metric, values);
    (void)table_put(&registry.samples, sample);
    ring_add(metric, sample);
    metric->count++;
    return sample;
}

static void sample_free(struct metrics_sample *sample)
{
    free(sample->buckets);
    free(sample->key);
    free(sample);
}

void metrics_add_(struct metrics_family *metric, double amount, const char *const *values)
{
    assert(metric->type == METRICS_GAUGE || (metric->type == METRICS_COUNTER && amount >= 0));
    struct metrics_sample *sample = obtain(metric, values);
    if (sample)
        sample->value += amount;
}

void metrics_set_(struct metrics_family *metric, double value, const char *const *values)
{
    assert(metric->type == METRICS_GAUGE);
    struct metrics_sample *sample = obtain(metric, values);
    if (sample)
        sample->value = value;
}

void metrics_observe_(struct metrics_family *metric, double value, const char *const *values)
{
    assert(metric->type == METRICS_HISTOGRAM);
    struct metrics_sample *sample = obtain(metric, values);
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

static void forget(struct metrics_family *metric, struct metrics_sample *sample)
{
    (void)table_take(&registry.samples, metric->name, sample->key);
    sample->prev->next = sample->next;
    sample->next->prev = sample->prev;
    if (metric->samples == sample)
        metric->samples = sample->next == sample ? NULL : sample->next;
    metric->count--;
    sample_free(sample);
}

void metrics_forget_(struct metrics_family *metric, const char *const *values)
{
    struct metrics_sample *sample = find(metric, values);
    if (sample)
        forget(metric, sample);
}

void metrics_forget_all_(struct metrics_family *metric, const char *const *values)
{
    struct metrics_sample *sample = metric->samples;
    for (uint32_t left = metric->count; left > 0; left--) {
        struct metrics_sample *next = sample->next;
        if (has_labels(sample, values))
            forget(metric, sample);
        sample = next;
    }
}

double metrics_value_(struct metrics_family *metric, const char *const *values)
{
    struct metrics_sample *sample = find(metric, values);
    if (!sample)
        return 0;
    return metric->type == METRICS_HISTOGRAM ? (double)sample->count : sample->value;
}

void metrics_register(struct metrics_family *metric)
{
    enlist(metric);
    if (!metric->labels[0] && !metric->report)
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

/* Escapes line breaks and, in a label, quotes; replaces bad UTF-8, which would make Prometheus
 * reject the whole text. */
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

/* Writes the name with a suffix, the labels and a histogram's bound, without printf: 100,000
 * Canaries have 300,000 samples. */
static void put_series(struct buf *out, const struct metrics_family *metric,
                       const char *const *values, const char *suffix, const double *bound)
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

static void put_value(struct buf *out, const struct metrics_family *metric,
                      const char *const *values, const char *suffix, const double *bound,
                      double value)
{
    put_series(out, metric, values, suffix, bound);
    put_number(out, value);
    buf_puts(out, "\n");
}

static void put_histogram(struct buf *out, const struct metrics_sample *sample,
                          const char *const *values)
{
    static const double infinity = INFINITY;
    const struct metrics_family *metric = sample->metric;
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

static void put_sample(struct buf *out, const struct metrics_sample *sample)
{
    const char *values[METRICS_MAX_LABELS], *value = sample->labels;
    for (size_t i = 0; sample->metric->labels[i]; i++, value += strlen(value) + 1)
        values[i] = value;
    if (sample->metric->type == METRICS_HISTOGRAM)
        put_histogram(out, sample, values);
    else
        put_value(out, sample->metric, values, "", NULL, sample->value);
}

struct metrics_writer {
    struct buf *out;
    const struct metrics_family *metric;
};

void metrics_report_(struct metrics_writer *writer, double value, const char *const *values)
{
    put_value(writer->out, writer->metric, values, "", NULL, value);
}

static void put_metric(struct buf *out, const struct metrics_family *metric)
{
    static const char *const types[] = {
        [METRICS_COUNTER] = "counter",
        [METRICS_GAUGE] = "gauge",
        [METRICS_HISTOGRAM] = "histogram",
    };
    if (!metric->samples && !metric->report)
        return;
    buf_printf(out, "# HELP %s ", metric->name);
    put_escaped(out, metric->help, false);
    buf_printf(out, "\n# TYPE %s %s\n", metric->name, types[metric->type]);
    if (metric->report)
        metric->report(&(struct metrics_writer){.out = out, .metric = metric});
    const struct metrics_sample *sample = metric->samples;
    for (uint32_t left = metric->count; left > 0; left--, sample = sample->next)
        put_sample(out, sample);
}

void metrics_write(struct buf *out)
{
    metrics_register(&dropped);
    for (const struct metrics_family *metric = registry.metrics; metric; metric = metric->next)
        put_metric(out, metric);
    write_process(out);
}

void metrics_reset(void)
{
    while (registry.metrics) {
        struct metrics_family *metric = registry.metrics;
        registry.metrics = metric->next;
        if (metric->samples)
            metric->samples->prev->next = NULL;
        while (metric->samples) {
            struct metrics_sample *sample = metric->samples;
            metric->samples = sample->next;
            sample_free(sample);
        }
        metric->next = NULL;
        metric->count = 0;
    }
    table_fini(&registry.samples);
    registry.metrics = NULL;
}
