/* results: logs of load generators as counts and times; a truncated log is an error. */
#include <stdio.h>
#include <string.h>

#include "loadtester/load/results.h"
#include "test/unit.h"

#define HEY                                                                                        \
    "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
#define K6 "{\"type\":\"Metric\",\"data\":{\"name\":\"http_reqs\"},\"metric\":\"http_reqs\"}\n"
#define POINT(metric, value)                                                                       \
    "{\"metric\":\"" metric "\",\"type\":\"Point\",\"data\":{\"time\":\"2026-01-01T00:00:00Z\","   \
    "\"value\":" value ",\"tags\":{\"status\":\"200\"}}}\n"

static const struct {
    const char *format, *log;
    const char *error; /* NULL: the counts below */
    int64_t requests, failures;
    double min_s, max_s;
} cases[] = {
    {"hey-csv", HEY "0.0100,0,0,0,0,0,200,0.1\n0.0300,0,0,0,0,0,503,0.2\n", NULL, 2, 1, 0.01, 0.03},
    {"hey-csv", HEY "0.0100,0,0,0,0,0,302,0.1", NULL, 1, 0, 0.01, 0.01},
    {"hey-csv", HEY "0.0100,0,0,0,0,0,200,0.1\r\n", NULL, 1, 0, 0.01, 0.01},
    {"hey-csv", HEY, NULL, 0, 0, 0, 0},
    {"hey-csv", "", "its log is no hey-csv: it has no header line", 0, 0, 0, 0},
    {"hey-csv", "0.01,0,0,0,0,0,200,0.1\n", "line 1 of its log: expected the header of hey -o csv",
     0, 0, 0, 0},
    {"hey-csv", HEY "0.0100,0,0,0,0,0,200,0.1\n0.03,0,0\n",
     "line 3 of its log: expected a line of hey -o csv with a time and a status code", 0, 0, 0, 0},
    {"hey-csv", HEY "-1,0,0,0,0,0,200,0.1\n", "line 2 of its log", 0, 0, 0, 0},
    {"jtl",
     "timeStamp,elapsed,label,responseCode,responseMessage,success\n1,12,\"a,\"\"b\"\"\",200,OK,"
     "true\n2,40,x,500,\"no, sir\",false\n",
     NULL, 2, 1, 0.012, 0.04},
    {"jtl", "timeStamp,elapsed,success\n1,12,maybe\n", "line 2 of its log", 0, 0, 0, 0},
    {"jtl", "1,12,x,200\n", "line 1 of its log: expected the header of a JTL file", 0, 0, 0, 0},
    {"k6-json",
     "     execution: local\n" K6 POINT("http_reqs", "1") POINT("http_req_duration", "12.5")
         POINT("http_req_failed", "0") POINT("http_reqs", "1") POINT("http_req_duration", "100")
             POINT("http_req_failed", "1") POINT("mine", "-3"),
     NULL, 2, 1, 0.0125, 0.1},
    {"k6-json", POINT("http_req_duration", "12.5"),
     "line 1 of its log: expected the lines of k6 run --out json from their beginning", 0, 0, 0, 0},
    {"k6-json",
     K6 POINT("http_reqs", "1") POINT("http_reqs", "1") POINT("http_req_duration", "12.5"),
     "its log is no k6-json: it has fewer points of http_req_duration than of http_reqs", 0, 0, 0,
     0},
    {"k6-json", K6 "{\"metric\":\"http_req", "line 2 of its log: expected a whole JSON object", 0,
     0, 0, 0},
    {"k6-json", "done\n", "its log is no k6-json: it has no line of k6 run --out json", 0, 0, 0, 0},
    {"ghz-json",
     "{\"count\": 2, \"details\": [{\"latency\": 10000000, \"error\": \"\", \"status\": \"OK\"},\n"
     "{\"latency\": 20000000, \"error\": \"x\", \"status\": \"Unavailable\"}]}\n",
     NULL, 2, 1, 0.01, 0.02},
    {"ghz-json", "{\"count\": 3, \"details\": [{\"latency\": 1, \"status\": \"OK\"}]}",
     "its log: expected 3 details of ghz, one a request, found 1", 0, 0, 0, 0},
    {"ghz-json", "{\"count\": 1, \"details\": [{\"status\": \"OK\"}]}",
     "its log: details[0]: expected latency and status", 0, 0, 0, 0},
    {"ghz-json", "{\"count\": 1}", "its log: expected the output of ghz -O json", 0, 0, 0, 0},
    {"ghz-json", "{\"count\": 1", "its log: ", 0, 0, 0, 0},
    {"ghz-json", "", "its log is no ghz-json", 0, 0, 0, 0},
    {"histogram",
     "Running 10s test\n{\"requests\":100,\"failures\":3,\"buckets\":[[0.01,90],[0.5,7]]}\nbye\n",
     NULL, 100, 3, 0.01, 0.5},
    {"histogram", "{\"requests\":0,\"failures\":0,\"buckets\":[]}", NULL, 0, 0, 0, 0},
    {"histogram", "{\"requests\":5,\"failures\":6,\"buckets\":[]}",
     "line 1 of its log: expected requests, failures (at most requests) and buckets", 0, 0, 0, 0},
    {"histogram", "{\"requests\":5,\"failures\":0,\"buckets\":[[1,6]]}",
     "line 1 of its log: expected buckets as [UPPER_SECONDS,COUNT], of requests in all", 0, 0, 0,
     0},
    {"histogram",
     "{\"requests\":1,\"failures\":0,\"buckets\":[]}\n{\"requests\":1,\"failures\":0,\"buckets\":[]"
     "}",
     "line 2 of its log: expected one line with requests, failures and buckets, found a second", 0,
     0, 0, 0},
    {"histogram", "hello\n", "its log is no histogram: it has no line with requests", 0, 0, 0, 0},
};

static enum err read_in_pieces(const char *format, const char *log, size_t piece,
                               struct load_counts *out, struct errinfo *ei)
{
    struct results *results = results_new(results_format_find(format));
    size_t len = strlen(log);

    for (size_t at = 0; at < len; at += piece)
        if (!results_add(results, log + at, len - at < piece ? len - at : piece))
            break;
    enum err err = results_end(results, out, ei);
    results_free(results);
    return err;
}

CASE(logs_become_counts)
{
    static struct load_counts counts;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t piece = 1; piece < 2000; piece = piece * 7 + 1) {
            struct errinfo info = {0};
            counts = (struct load_counts){0};
            enum err err = read_in_pieces(cases[i].format, cases[i].log, piece, &counts, &info);
            if ((err != ERR_OK) != (cases[i].error != NULL) ||
                (err != ERR_OK && !strstr(info.text, cases[i].error)))
                fail_msg("case %zu: %s", i, err == ERR_OK ? "(no error)" : info.text);
            if (counts.requests != cases[i].requests || counts.failures != cases[i].failures ||
                counts.times.min_s != cases[i].min_s || counts.times.max_s != cases[i].max_s)
                fail_msg("case %zu: %lld requests, %lld failures, %g to %g s", i,
                         (long long)counts.requests, (long long)counts.failures, counts.times.min_s,
                         counts.times.max_s);
        }
    }
}

CASE(lines_and_texts_are_bounded)
{
    struct results *results = results_new(results_format_find("hey-csv"));
    static char much[RESULTS_LINE + 2];
    static struct load_counts counts;
    struct errinfo info = {0};

    for (size_t i = 0; i < sizeof(much); i++)
        much[i] = 'x';
    much[sizeof(much) - 1] = '\n';
    assert_false(results_add(results, much, sizeof(much)));
    assert_int_equal(results_end(results, &counts, &info), ERR_INVALID);
    assert_non_null(strstr(info.text, "line 1 of its log: expected a line of text of at most"));
    results_free(results);

    results = results_new(results_format_find("ghz-json"));
    int pieces = 0;
    while (results_add(results, much, sizeof(much)))
        assert_true(++pieces < 1000);
    assert_int_equal(results_end(results, &counts, &info), ERR_INVALID);
    assert_non_null(strstr(info.text, "expected at most 16 MiB of JSON"));
    results_free(results);
}

CASE(formats_have_names)
{
    assert_null(results_format_find("csv"));
    assert_string_equal(results_format_names(arena),
                        "hey-csv, ghz-json, k6-json, jtl or histogram");
}
