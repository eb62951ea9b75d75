#include "loadtester/load/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

enum { MAX_COLUMNS = 64 };
static const int64_t MAX_REQUESTS = 1000000000000; /* of one pod */

struct results_format {
    const char *name;
    const char *begins; /* the expected first line, for errors */
    bool whole;         /* one JSON text instead of lines */
    /* A line without its end, or the whole text. ERR_INVALID: the log is not of this format. */
    enum err (*read)(struct results *results, const char *line, size_t len);
    const char *(*missing)(const struct results *results); /* called at the end; NULL: complete */
};

struct results {
    const struct results_format *format;
    struct buf text; /* the current line, or the whole text */
    struct load_counts counts;
    struct errinfo info;
    enum err err;
    int64_t lines;
    int columns[3]; /* columns of a CSV, from the header line; -1 if missing */
    bool has_header, has_result;
    double k6_requests; /* requests counted by http_reqs */
};

void load_counts_merge(struct load_counts *into, const struct load_counts *from)
{
    into->requests += from->requests;
    into->failures += from->failures;
    histogram_merge(&into->times, &from->times);
}

/* --- numbers */

static bool read_number(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out) && *out >= 0;
}

static bool number_at(struct json_object *value, double *out)
{
    if (!json_object_is_type(value, json_type_int) && !json_object_is_type(value, json_type_double))
        return false;
    *out = json_object_get_double(value);
    return isfinite(*out) && *out >= 0;
}

static enum err bad_line(struct results *results, const char *expected)
{
    return err_set(&results->info, ERR_INVALID, "line %lld of its log: expected %s",
                   (long long)results->lines, expected);
}

/* --- CSV: fields without commas, or in quotes */

/* Splits the line, which it changes. Returns the number of fields, at most `max`. */
static int split(char *line, char **fields, int max)
{
    int n = 0;

    while (n < max) {
        bool quoted = *line == '"';
        char *at = line += quoted, *to = line;
        fields[n++] = line;
        for (; *at && (quoted || *at != ','); at++) {
            if (quoted && *at == '"' && at[1] != '"')
                break;
            at += quoted && *at == '"';
            *to++ = *at;
        }
        at += quoted && *at == '"';
        bool more = *at == ',';
        *to = '\0';
        if (!more)
            return n;
        line = at + 1;
    }
    return n;
}

static void find_columns(struct results *results, char **fields, int n, const char *const names[3])
{
    for (int c = 0; c < 3; c++) {
        results->columns[c] = -1;
        for (int i = 0; names[c] && i < n; i++) {
            if (strcmp(fields[i], names[c]) == 0)
                results->columns[c] = i;
        }
    }
}

static const char *field(const struct results *results, char **fields, int n, int column)
{
    int at = results->columns[column];

    return at >= 0 && at < n ? fields[at] : "";
}

/* The first line of a table names its columns. expected: for errors. */
static enum err read_header(struct results *results, char *fields[], int n,
                            const char *const names[3], const char *expected)
{
    find_columns(results, fields, n, names);
    results->has_header = results->columns[0] >= 0 && results->columns[1] >= 0;
    return results->has_header ? ERR_OK : bad_line(results, expected);
}

/* hey -o csv: "response-time,...,status-code,offset", in seconds, a line for each answer. */
static enum err read_hey(struct results *results, const char *line, size_t len)
{
    static const char *const names[3] = {"response-time", "status-code", NULL};
    char *copy = heap_strdup(line), *fields[MAX_COLUMNS];
    int n = split(copy, fields, MAX_COLUMNS);
    double seconds, status;
    enum err err = ERR_OK;

    (void)len;
    if (!results->has_header) {
        err = read_header(results, fields, n, names,
                          "the header of hey -o csv (response-time,...,status-code)");
    } else if (read_number(field(results, fields, n, 0), &seconds) &&
               read_number(field(results, fields, n, 1), &status)) {
        results->counts.requests++;
        results->counts.failures += !(status >= 200 && status < 400);
        histogram_add(&results->counts.times, seconds, 1);
    } else {
        err = bad_line(results, "a line of hey -o csv with a time and a status code");
    }
    free(copy);
    return err;
}

/* JMeter: "timeStamp,elapsed,label,...,success", in milliseconds. */
static enum err read_jtl(struct results *results, const char *line, size_t len)
{
    static const char *const names[3] = {"elapsed", "success", NULL};
    char *copy = heap_strdup(line), *fields[MAX_COLUMNS];
    int n = split(copy, fields, MAX_COLUMNS);
    double ms;
    enum err err = ERR_OK;

    (void)len;
    if (!results->has_header) {
        err = read_header(results, fields, n, names,
                          "the header of a JTL file (timeStamp,elapsed,...,success)");
    } else {
        const char *success = field(results, fields, n, 1);
        bool good = strcmp(success, "true") == 0;
        if (read_number(field(results, fields, n, 0), &ms) &&
            (good || strcmp(success, "false") == 0)) {
            results->counts.requests++;
            results->counts.failures += !good;
            histogram_add(&results->counts.times, ms / 1000, 1);
        } else {
            err = bad_line(results, "a line of a JTL file with elapsed and success");
        }
    }
    free(copy);
    return err;
}

static const char *no_header(const struct results *results)
{
    return results->has_header ? NULL : "it has no header line";
}

/* --- JSON lines */

static struct json_object *parse(struct arena *arena, const char *text, size_t len)
{
    struct json_object *tree = NULL;
    struct errinfo ignored;

    return json_parse(arena, text, len, RESULTS_MAX_JSON, &tree, &ignored) == ERR_OK ? tree : NULL;
}

/* k6 run --out json=-: {"type":"Metric"|"Point","metric":NAME,"data":{"value":N}}, times in ms. */
static enum err read_k6_point(struct results *results, struct json_object *tree)
{
    const char *type = json_str_at(tree, "type", NULL), *metric = json_str_at(tree, "metric", NULL);
    double value;

    if (!type || !metric)
        return bad_line(results, "a line of k6 run --out json with type and metric");
    if (strcmp(type, "Metric") == 0)
        results->has_header = true;
    if (strcmp(type, "Point") != 0)
        return ERR_OK;
    if (!results->has_header)
        return bad_line(results, "the lines of k6 run --out json from their beginning (Metric)");
    if (!number_at(json_at(tree, "data", "value", NULL), &value))
        return ERR_OK; /* a metric of the user's script may be negative */
    if (strcmp(metric, "http_req_duration") == 0) {
        results->counts.requests++;
        histogram_add(&results->counts.times, value / 1000, 1);
    } else if (strcmp(metric, "http_req_failed") == 0) {
        results->counts.failures += value > 0;
    } else if (strcmp(metric, "http_reqs") == 0) {
        results->k6_requests += value;
    }
    return ERR_OK;
}

/* The program's own lines, such as its banner and its warnings, are mixed with the points. */
static enum err read_k6(struct results *results, const char *line, size_t len)
{
    struct arena *arena = arena_new();
    struct json_object *tree = *line == '{' ? parse(arena, line, len) : NULL;
    enum err err = ERR_OK;

    if (tree)
        err = read_k6_point(results, tree);
    else if (strncmp(line, "{\"", 2) == 0)
        err = bad_line(results, "a whole JSON object");
    arena_free(arena);
    return err;
}

static const char *no_points(const struct results *results)
{
    if (!results->has_header)
        return "it has no line of k6 run --out json";
    return results->k6_requests > (double)results->counts.requests
               ? "it has fewer points of http_req_duration than of http_reqs"
               : NULL;
}

/* {"requests":N,"failures":N,"buckets":[[UPPER_SECONDS,COUNT],...]}: the last such line counts. */
static enum err read_own(struct results *results, struct json_object *tree)
{
    struct json_object *buckets = json_at(tree, "buckets", NULL);
    int64_t requests = json_int_at(tree, -1, "requests", NULL);
    int64_t failures = json_int_at(tree, -1, "failures", NULL), sum = 0;
    struct load_counts counts = {.requests = requests, .failures = failures};

    if (results->has_result)
        return bad_line(results, "one line with requests, failures and buckets, found a second");
    if (requests < 0 || requests > MAX_REQUESTS || failures < 0 || failures > requests ||
        !json_object_is_type(buckets, json_type_array))
        return bad_line(results, "requests, failures (at most requests) and buckets");
    for (size_t i = 0; i < json_len(buckets); i++) {
        struct json_object *pair = json_elem(buckets, i);
        double upper;
        int64_t count;
        if (json_len(pair) != 2 || !number_at(json_elem(pair, 0), &upper) ||
            !json_to_int(json_elem(pair, 1), &count) || count < 0 || count > requests - sum)
            return bad_line(results, "buckets as [UPPER_SECONDS,COUNT], of requests in all");
        histogram_add(&counts.times, upper, count);
        sum += count;
    }
    results->counts = counts;
    results->has_result = true;
    return ERR_OK;
}

static enum err read_histogram(struct results *results, const char *line, size_t len)
{
    struct arena *arena = arena_new();
    struct json_object *tree = *line == '{' ? parse(arena, line, len) : NULL;
    enum err err = ERR_OK;

    if (tree && json_at(tree, "requests", NULL) && json_at(tree, "buckets", NULL))
        err = read_own(results, tree);
    arena_free(arena);
    return err;
}

static const char *no_result(const struct results *results)
{
    return results->has_result ? NULL : "it has no line with requests, failures and buckets";
}

/* --- ghz -O json: {"count":N,"details":[{"latency":NS,"error":"","status":"OK"}]} */

static enum err read_details(struct results *results, struct json_object *tree)
{
    struct json_object *details = json_at(tree, "details", NULL);
    int64_t count = json_int_at(tree, -1, "count", NULL);

    if (count < 0 || !json_object_is_type(details, json_type_array))
        return err_set(&results->info, ERR_INVALID,
                       "its log: expected the output of ghz -O json, with count and details");
    if ((int64_t)json_len(details) != count)
        return err_set(&results->info, ERR_INVALID,
                       "its log: expected %lld details of ghz, one a request, found %zu",
                       (long long)count, json_len(details));
    for (size_t i = 0; i < json_len(details); i++) {
        struct json_object *one = json_elem(details, i);
        const char *status = json_str_at(one, "status", NULL);
        double ns;
        if (!status || !number_at(json_at(one, "latency", NULL), &ns))
            return err_set(&results->info, ERR_INVALID,
                           "its log: details[%zu]: expected latency and status", i);
        results->counts.requests++;
        results->counts.failures += strcmp(status, "OK") != 0;
        histogram_add(&results->counts.times, ns / 1e9, 1);
    }
    results->has_result = true;
    return ERR_OK;
}

static enum err read_ghz(struct results *results, const char *text, size_t len)
{
    struct arena *arena = arena_new();
    struct json_object *tree = NULL;
    struct errinfo why = {0};
    enum err err = json_parse(arena, text, len, RESULTS_MAX_JSON, &tree, &why);

    err = err == ERR_OK ? read_details(results, tree)
                        : err_set(&results->info, ERR_INVALID, "its log: %s", why.text);
    arena_free(arena);
    return err;
}

/* --- formats and lines */

static const struct results_format formats[] = {
    {.name = "hey-csv", .read = read_hey, .missing = no_header},
    {.name = "ghz-json", .read = read_ghz, .missing = no_result, .whole = true},
    {.name = "k6-json", .read = read_k6, .missing = no_points},
    {.name = "jtl", .read = read_jtl, .missing = no_header},
    {.name = "histogram", .read = read_histogram, .missing = no_result},
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

const struct results_format *results_format_find(const char *name)
{
    for (int i = 0; i < FORMATS; i++) {
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    return NULL;
}

const char *results_format_names(struct arena *arena)
{
    const char *names = formats[0].name;

    for (int i = 1; i < FORMATS; i++)
        names =
            arena_printf(arena, "%s%s%s", names, i == FORMATS - 1 ? " or " : ", ", formats[i].name);
    return names;
}

struct results *results_new(const struct results_format *format)
{
    struct results *results = heap_alloc(sizeof(*results));

    *results = (struct results){.format = format, .columns = {-1, -1, -1}};
    buf_init(&results->text, format->whole ? RESULTS_MAX_JSON : RESULTS_LINE);
    return results;
}

void results_free(struct results *results)
{
    if (!results)
        return;
    buf_fini(&results->text);
    free(results);
}

static void take_line(struct results *results)
{
    size_t len = results->text.len;

    results->lines++;
    if (len > 0 && results->text.data[len - 1] == '\r')
        results->text.data[--len] = '\0';
    if (results->text.truncated || memchr(results->text.data, '\0', len))
        results->err = bad_line(results, "a line of text of at most 64 KiB");
    else if (len > 0)
        results->err = results->format->read(results, results->text.data, len);
    buf_clear(&results->text);
}

bool results_add(struct results *results, const char *data, size_t len)
{
    while (len > 0 && results->err == ERR_OK) {
        const char *end = results->format->whole ? NULL : memchr(data, '\n', len);
        size_t part = end ? (size_t)(end - data) : len;
        (void)buf_add(&results->text, data, part);
        if (end)
            take_line(results);
        else if (results->format->whole && results->text.truncated)
            results->err =
                err_set(&results->info, ERR_INVALID, "its log: expected at most %d MiB of JSON",
                        RESULTS_MAX_JSON / 1024 / 1024);
        part += end != NULL;
        data += part;
        len -= part;
    }
    return results->err == ERR_OK;
}

enum err results_end(struct results *results, struct load_counts *out, struct errinfo *ei)
{
    if (results->err == ERR_OK && results->text.len > 0 && results->format->whole)
        results->err = results->format->read(results, results->text.data, results->text.len);
    else if (results->err == ERR_OK && results->text.len > 0)
        take_line(results);
    if (results->err != ERR_OK)
        return err_set(ei, results->err, "%s", results->info.text);
    const char *missing = results->format->missing(results);
    if (missing)
        return err_set(ei, ERR_INVALID, "its log is no %s: %s", results->format->name, missing);
    *out = results->counts;
    return ERR_OK;
}

/* --- histograms */

static const double FIRST_S = 1e-6;

int histogram_bucket(double seconds)
{
    if (!(seconds > FIRST_S))
        return 0;
    double place = ceil(log(seconds / FIRST_S) / log(HISTOGRAM_WIDTH));
    return place < HISTOGRAM_BUCKETS - 1 ? (int)place : HISTOGRAM_BUCKETS - 1;
}

static double upper_bound(int bucket)
{
    return FIRST_S * pow(HISTOGRAM_WIDTH, bucket);
}

void histogram_add(struct histogram *histogram, double seconds, int64_t count)
{
    double value = seconds > 0 ? seconds : 0;

    if (count <= 0)
        return;
    if (histogram->total == 0 || value < histogram->min_s)
        histogram->min_s = value;
    if (histogram->total == 0 || value > histogram->max_s)
        histogram->max_s = value;
    histogram->counts[histogram_bucket(value)] += count;
    histogram->total += count;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (from->total == 0)
        return;
    if (into->total == 0 || from->min_s < into->min_s)
        into->min_s = from->min_s;
    if (into->total == 0 || from->max_s > into->max_s)
        into->max_s = from->max_s;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->counts[i] += from->counts[i];
    into->total += from->total;
}

double histogram_percentile(const struct histogram *histogram, double percent)
{
    int64_t rank = (int64_t)ceil(percent / 100 * (double)histogram->total), seen = 0;
    int bucket = 0;

    if (histogram->total == 0)
        return -1;
    if (rank <= 1)
        rank = 1;
    for (; bucket < HISTOGRAM_BUCKETS - 1; bucket++) {
        seen += histogram->counts[bucket];
        if (seen >= rank)
            break;
    }
    /* The last bucket has no upper bound. */
    double bound = bucket < HISTOGRAM_BUCKETS - 1 ? upper_bound(bucket) : histogram->max_s;
    return bound < histogram->max_s ? bound : histogram->max_s;
}
