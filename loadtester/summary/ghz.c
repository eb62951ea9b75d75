/*
 * ghz (ghz.sh), its default format:
 *
 *     Summary:
 *       Count:        200
 *       Requests/sec: 1234.5
 *     Latency distribution:
 *       50 % in 1.23 ms
 *     Status code distribution:
 *       [OK]            190 responses
 *       [Unavailable]   10 responses
 */
#include <string.h>

#include "loadtester/summary.h"

/* Returns the number of successful answers, the only ones with times. */
static int64_t read_codes(const char *section, struct summary *out)
{
    int64_t good = 0, all = 0;

    for (const char *line = strchr(section, '\n'); line; line = strchr(line, '\n')) {
        line += 1 + strspn(line + 1, " \t");
        const char *close = *line == '[' ? strchr(line, ']') : NULL;
        double count = close ? summary_number(close + 1, NULL) : -1;
        if (count < 0)
            break;
        summary_count(out, line + 1, (size_t)(close - line - 1), (int64_t)count);
        all += (int64_t)count;
        if (strncmp(line, "[OK]", 4) == 0)
            good += (int64_t)count;
    }
    out->errors = all - good;
    if (out->requests < all)
        out->requests = all;
    return good;
}

static const char *const percentiles[] = {"50 % in", "90 % in", "99 % in"};

static bool parse(const char *output, struct summary *out)
{
    const char *summary = summary_line(output, "Summary:");
    const char *count = summary ? summary_line(summary, "Count:") : NULL;
    const char *rps = count ? summary_line(count, "Requests/sec:") : NULL;
    const char *latency = rps ? summary_line(rps, "Latency distribution:") : NULL;
    const char *codes = rps ? summary_line(rps, "Status code distribution:") : NULL;

    if (!rps)
        return false;
    out->requests = (int64_t)summary_number(count, NULL);
    out->rps = summary_number(rps, NULL);
    summary_percentiles(out, latency, percentiles);
    if (codes)
        summary_p99_of_few(out, summary, read_codes(codes, out));
    return out->requests >= 0;
}

const struct summary_tool summary_tool_ghz = {.name = "ghz", .parse = parse};
