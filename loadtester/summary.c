#include "loadtester/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool summary_parse(const char *output, struct summary *out)
{
    for (const struct summary_tool *const *tool = summary_tool_table; *tool; tool++) {
        *out = (struct summary){
            .tool = (*tool)->name, .rps = -1, .p50_ms = -1, .p90_ms = -1, .p99_ms = -1};
        if ((*tool)->parse(output, out))
            return true;
    }
    return false;
}

double summary_error_rate(const struct summary *summary)
{
    return summary->requests > 0 ? 100.0 * (double)summary->errors / (double)summary->requests : 0;
}

static void set_number(struct json_object *object, const char *key, double value)
{
    if (value >= 0)
        json_object_object_add(object, key, json_object_new_double(value));
}

struct json_object *summary_json(const struct summary *summary)
{
    struct json_object *object = json_object_new_object();
    struct json_object *codes = json_object_new_object();

    json_set_str(object, "tool", summary->tool);
    json_set_int(object, "requests", summary->requests);
    json_set_int(object, "errors", summary->errors);
    set_number(object, "errorRate", summary_error_rate(summary));
    set_number(object, "rps", summary->rps);
    set_number(object, "p50", summary->p50_ms);
    set_number(object, "p90", summary->p90_ms);
    set_number(object, "p99", summary->p99_ms);
    for (int i = 0; i < summary->n_codes; i++)
        json_set_int(codes, summary->codes[i].name, summary->codes[i].count);
    json_object_object_add(object, "codes", codes);
    return object;
}

const char *summary_line(const char *output, const char *label)
{
    size_t len = strlen(label);

    for (const char *line = output; line; line = strchr(line, '\n')) {
        line += strspn(line, " \t\r\n");
        if (strncmp(line, label, len) == 0)
            return line + len;
        if (!*line)
            break;
    }
    return NULL;
}

double summary_number(const char *text, const char **rest)
{
    char *end;

    text += strspn(text, " \t");
    double value = strtod(text, &end);
    if (rest)
        *rest = end;
    return end == text || !(value >= 0 && value < 1e15) ? -1 : value;
}

double summary_time(const char *text)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"ns", 1e-6},  {"us", 1e-3}, {"\xc2\xb5s", 1e-3}, {"ms", 1},
                 {"secs", 1e3}, {"s", 1e3},   {"m", 6e4},          {"h", 3.6e6}};
    const char *rest;
    double value = summary_number(text, &rest);

    rest += strspn(rest, " \t");
    for (size_t i = 0; value >= 0 && i < sizeof(units) / sizeof(units[0]); i++) {
        size_t len = strlen(units[i].unit);
        if (strncmp(rest, units[i].unit, len) == 0 &&
            (!rest[len] || strchr(" \t\r\n.,", rest[len])))
            return value * units[i].ms;
    }
    return -1;
}

void summary_percentiles(struct summary *summary, const char *section, const char *const labels[3])
{
    double *const times[3] = {&summary->p50_ms, &summary->p90_ms, &summary->p99_ms};

    for (int i = 0; section && i < 3; i++) {
        const char *text = summary_line(section, labels[i]);
        *times[i] = text ? summary_time(text) : -1;
    }
}

void summary_count(struct summary *summary, const char *name, size_t len, int64_t count)
{
    if (summary->n_codes == SUMMARY_MAX_CODES || count < 0)
        return;
    struct summary_code *code = &summary->codes[summary->n_codes++];
    snprintf(code->name, sizeof(code->name), "%.*s", (int)(len < 31 ? len : 31), name);
    code->count = count;
}

void summary_p99_of_few(struct summary *summary, const char *output, int64_t answered)
{
    const char *slowest = summary_line(output, "Slowest:");

    if (slowest && summary->p99_ms < 0 && answered > 0 && answered < 100)
        summary->p99_ms = summary_time(slowest);
}
