/*
 * hey (github.com/rakyll/hey):
 *
 *     Requests/sec:  1234.5
 *     Latency distribution:
 *       50% in 0.0010 secs
 *     Status code distribution:
 *       [200]  190 responses
 *     Error distribution:
 *       [10]   Get "http://x/": connection refused
 */
#include <stdlib.h>
#include <string.h>

#include "loadtester/summary.h"

/* Reads lines "[NAME] COUNT ..." up to the first line of another form. */
static void read_codes(const char *section, struct summary *out)
{
    for (const char *line = strchr(section, '\n'); line; line = strchr(line, '\n')) {
        line += 1 + strspn(line + 1, " \t");
        const char *close = *line == '[' ? strchr(line, ']') : NULL;
        double count = close ? summary_number(close + 1, NULL) : -1;
        if (count < 0)
            return;
        summary_count(out, line + 1, (size_t)(close - line - 1), (int64_t)count);
        out->requests += (int64_t)count;
        if (line[1] != '2' && line[1] != '3')
            out->errors += (int64_t)count;
    }
}

/* "[COUNT] text": requests without an answer. */
static void read_errors(const char *section, struct summary *out)
{
    int64_t all = 0;

    for (const char *line = strchr(section, '\n'); line; line = strchr(line, '\n')) {
        line += 1 + strspn(line + 1, " \t");
        double count = *line == '[' ? summary_number(line + 1, NULL) : -1;
        if (count < 0)
            break;
        all += (int64_t)count;
    }
    out->requests += all;
    out->errors += all;
    if (all > 0)
        summary_count(out, "error", 5, all);
}

static const char *const percentiles[] = {"50% in", "90% in", "99% in"};

static bool parse(const char *output, struct summary *out)
{
    const char *rps = summary_line(output, "Requests/sec:");
    const char *codes = summary_line(output, "Status code distribution:");
    const char *errors = summary_line(output, "Error distribution:");
    const char *latency = summary_line(output, "Latency distribution:");

    if (!rps || (!codes && !errors))
        return false;
    out->rps = summary_number(rps, NULL);
    summary_percentiles(out, latency, percentiles);
    if (codes)
        read_codes(codes, out);
    summary_p99_of_few(out, output,
                       out->requests); /* requests without an answer are not counted yet */
    if (errors)
        read_errors(errors, out);
    return true;
}

const struct summary_tool summary_tool_hey = {.name = "hey", .parse = parse};
