/*
 * wrk (github.com/wg/wrk):
 *
 *     Latency Distribution            (with --latency)
 *        50%    1.23ms
 *     1000 requests in 10.00s, 1.20MB read
 *     Socket errors: connect 0, read 1, write 0, timeout 2
 *     Non-2xx or 3xx responses: 10
 *     Requests/sec:    100.00
 */
#include <string.h>

#include "loadtester/summary.h"

static int64_t named(const char *text, const char *name)
{
    const char *found = strstr(text, name);
    double count = found ? summary_number(found + strlen(name), NULL) : -1;

    return count < 0 ? 0 : (int64_t)count;
}

/* "1000 requests in 10.00s": the number precedes the words. */
static double read_requests(const char *output)
{
    const char *words = strstr(output, " requests in ");

    if (!words)
        return -1;
    while (words > output && words[-1] >= '0' && words[-1] <= '9')
        words--;
    return summary_number(words, NULL);
}

static const char *const percentiles[] = {"50%", "90%", "99%"};

static bool parse(const char *output, struct summary *out)
{
    const char *rps = summary_line(output, "Requests/sec:");
    const char *sockets = summary_line(output, "Socket errors:");
    const char *bad = summary_line(output, "Non-2xx or 3xx responses:");
    const char *latency = summary_line(output, "Latency Distribution");
    double requests = read_requests(output);

    if (!rps || requests < 0)
        return false;
    out->requests = (int64_t)requests;
    out->rps = summary_number(rps, NULL);
    if (bad && summary_number(bad, NULL) > 0) {
        out->errors = (int64_t)summary_number(bad, NULL);
        summary_count(out, "non-2xx", 7, out->errors);
    }
    if (sockets) {
        int64_t failed = named(sockets, "connect ") + named(sockets, "read ") +
                         named(sockets, "write ") + named(sockets, "timeout ");
        out->errors += failed;
        out->requests += failed;
        summary_count(out, "error", 5, failed);
    }
    summary_percentiles(out, latency, percentiles);
    return true;
}

const struct summary_tool summary_tool_wrk = {.name = "wrk", .parse = parse};
