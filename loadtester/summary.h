/*
 * Results of load generators, parsed from their output. One file per tool in summary/, collected by
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

/* Times in milliseconds; negative if missing. */
struct summary {
    const char *tool; /* "hey", static */
    int64_t requests; /* including failed ones */
    int64_t errors;   /* unanswered, or with an answer that is not a success */
    double rps, p50_ms, p90_ms, p99_ms;
    struct summary_code codes[SUMMARY_MAX_CODES];
    int n_codes;
};

struct summary_tool {
    const char *name;
    /* False if this is not a summary of the tool. *out is empty (set by summary_parse()). */
    bool (*parse)(const char *output, struct summary *out);
};

extern const struct summary_tool *const summary_tool_table[];
/* The summary in a task's output; false if there is none. */
bool summary_parse(const char *output, struct summary *out);
/* Percent of the requests; 0 if there were none. */
double summary_error_rate(const struct summary *summary);
/* A new object: {tool, requests, errors, errorRate, rps, p50, p90, p99, codes}; times in
 * milliseconds. */
struct json_object *summary_json(const struct summary *summary);

/* --- shared by tools */

/* The text after the first `label` at the start of a line (after blanks), or NULL. */
const char *summary_line(const char *output, const char *label);
/* A number at the start of the text, -1 if none; *rest (may be NULL) is the text after it. */
double summary_number(const char *text, const char **rest);
/* "1.5ms", "2 s", "300us", "1.2m" in milliseconds, -1 if it is not a time. */
double summary_time(const char *text);
/* 50th, 90th and 99th percentile: three lines of a section (NULL if none) that begin with these
 * labels. */
void summary_percentiles(struct summary *summary, const char *section, const char *const labels[3]);
void summary_count(struct summary *summary, const char *name, size_t len, int64_t count);
/*
 * hey and ghz omit the 99th percentile if fewer than a hundred requests were answered; it is then
 * taken to be the maximum, after "Slowest:".
 */
void summary_p99_of_few(struct summary *summary, const char *output, int64_t answered);

#endif
