/*
 * What a load generator says at its end, as numbers. One file per tool in summary/, collected by
 * the build into summary_tool_table. Pure.
 */
#ifndef LOADTESTER_SUMMARY_H
#define LOADTESTER_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

enum { SUMMARY_MAX_CODES = 32, SUMMARY_CODE_TEXT = 32 };

struct summary_code {
    char name[SUMMARY_CODE_TEXT]; /* "200", "Unavailable" */
    int64_t count;
};

/* Times in milliseconds; a negative number: the tool did not say. */
struct summary {
    const char *tool; /* "hey", static */
    int64_t requests; /* those that failed included */
    int64_t errors;   /* without an answer, or with one that is no success */
    double rps, p50_ms, p90_ms, p99_ms;
    struct summary_code codes[SUMMARY_MAX_CODES];
    int n_codes;
};

struct summary_tool {
    const char *name;
    /* False: this is not the summary of the tool. *out is empty (summary_parse() sees to it). */
    bool (*parse)(const char *output, struct summary *out);
};

extern const struct summary_tool *const summary_tool_table[];
/* The summary in a task's output; false when there is none. */
bool summary_parse(const char *output, struct summary *out);
/* Percent of the requests; 0 when there were none. */
double summary_error_rate(const struct summary *summary);
/* A new object: {tool, requests, errors, errorRate, rps, p50, p90, p99, codes}; times in
 * milliseconds. */
struct json_object *summary_json(const struct summary *summary);

/* --- what tools share */

/* The text behind the first `label` at the start of a line (after blanks), or NULL. */
const char *summary_line(const char *output, const char *label);
/* A number at the start of the text, -1 if there is none; *rest (may be NULL) is what follows. */
double summary_number(const char *text, const char **rest);
/* "1.5ms", "2 s", "300us", "1.2m": milliseconds, -1 when it is no time. */
double summary_time(const char *text);
/* Half, nine tenths and all but a hundredth of the requests: three lines of a section (NULL: there
 * is none) that begin with these labels. */
void summary_percentiles(struct summary *summary, const char *section, const char *const labels[3]);
void summary_count(struct summary *summary, const char *name, size_t len, int64_t count);
/*
 * hey and ghz leave the 99th percentile out when fewer than a hundred requests were answered. It is
 * then the slowest of them, the time behind "Slowest:".
 */
void summary_p99_of_few(struct summary *summary, const char *output, int64_t answered);

#endif
