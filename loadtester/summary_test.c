/* summary: output of hey, ghz and wrk, verbatim. (test/bats runs the real ones.) */

#include <math.h>
#include <string.h>

#include "loadtester/summary.h"
#include "test/unit.h"

static const struct {
    const char *output;
    const char *json; /* NULL if there is no summary */
} cases[] = {
    {"\nSummary:\n  Total:\t1.0016 secs\n  Slowest:\t0.0112 secs\n  Requests/sec:\t199.6900\n\n"
     "Response time histogram:\n  0.000 [1]\t|\n  0.001 [150]\t|■■■\n\n"
     "Latency distribution:\n  10% in 0.0003 secs\n  50% in 0.0004 secs\n  90% in 0.0010 secs\n"
     "  99% in 0.0112 secs\n\nDetails (average, fastest, slowest):\n"
     "Status code distribution:\n  [200]\t190 responses\n  [503]\t10 responses\n\n",
     "{\"tool\":\"hey\",\"requests\":200,\"errors\":10,\"errorRate\":5.0,\"rps\":199.69,\"p50\":0."
     "4,"
     "\"p90\":1.0,\"p99\":11.2,\"codes\":{\"200\":190,\"503\":10}}"},
    {"Summary:\n  Requests/sec:\t8.0\n\nStatus code distribution:\n\nError distribution:\n"
     "  [8]\tGet \"http://x:1/\": dial tcp: connection refused\n",
     "{\"tool\":\"hey\",\"requests\":8,\"errors\":8,\"errorRate\":100.0,\"rps\":8.0,"
     "\"codes\":{\"error\":8}}"},
    {"Summary:\n  Slowest:\t0.4012 secs\n  Requests/sec:\t2.5\n\nLatency distribution:\n"
     "  50% in 0.4004 secs\n  90% in 0.4012 secs\n\nStatus code distribution:\n"
     "  [200]\t99 responses\n\nError distribution:\n  [1]\ttimeout\n",
     "{\"tool\":\"hey\",\"requests\":100,\"errors\":1,\"errorRate\":1.0,\"rps\":2.5,\"p50\":400.4,"
     "\"p90\":401.2,\"p99\":401.2,\"codes\":{\"200\":99,\"error\":1}}"},
    {"Summary:\n  Slowest:\t0.4012 secs\n  Requests/sec:\t2.5\n\nStatus code distribution:\n"
     "  [200]\t100 responses\n",
     "{\"tool\":\"hey\",\"requests\":100,\"errors\":0,\"errorRate\":0.0,\"rps\":2.5,"
     "\"codes\":{\"200\":100}}"},
    {"Summary:\n  Count:\t3\n  Slowest:\t9.07 ms\n  Requests/sec:\t9\n\nLatency distribution:\n"
     "\nStatus code distribution:\n  [OK]  2 responses\n  [Unavailable]   1 responses\n",
     "{\"tool\":\"ghz\",\"requests\":3,\"errors\":1,\"errorRate\":33.333333333,\"rps\":9.0,"
     "\"p99\":9.07,\"codes\":{\"OK\":2,\"Unavailable\":1}}"},
    {"\nSummary:\n  Count:\t200\n  Total:\t20.05 ms\n  Slowest:\t9.07 ms\n  Fastest:\t0.37 ms\n"
     "  Average:\t4.03 ms\n  Requests/sec:\t9975.05\n\nResponse time histogram:\n  0.373 [1] |∎\n\n"
     "Latency distribution:\n  10 % in 1.73 ms \n  50 % in 3.95 ms \n  90 % in 6.54 ms \n"
     "  99 % in 1.20 s \n\nStatus code distribution:\n  [OK]            150 responses   \n"
     "  [Unavailable]   50 responses   \n\nError distribution:\n  [50]   rpc error: code = "
     "Unavailable\n",
     "{\"tool\":\"ghz\",\"requests\":200,\"errors\":50,\"errorRate\":25.0,\"rps\":9975.05,\"p50\":"
     "3.95,"
     "\"p90\":6.54,\"p99\":1200.0,\"codes\":{\"OK\":150,\"Unavailable\":50}}"},
    {"Running 1s test @ http://x/\n  2 threads and 10 connections\n  Thread Stats   Avg      "
     "Stdev\n"
     "    Latency   180.07us   12ms\n  Latency Distribution\n     50%  171.00us\n     75%  "
     "180.00us\n"
     "     90%    1.20ms\n     99%    2.50s\n  990 requests in 1.10s, 6.49MB read\n"
     "  Socket errors: connect 0, read 2, write 0, timeout 8\n  Non-2xx or 3xx responses: 40\n"
     "Requests/sec:  49804.33\nTransfer/sec:      5.89MB\n",
     "{\"tool\":\"wrk\",\"requests\":1000,\"errors\":50,\"errorRate\":5.0,\"rps\":49804.33,\"p50\":"
     "0.171,"
     "\"p90\":1.2,\"p99\":2500.0,\"codes\":{\"non-2xx\":40,\"error\":10}}"},
    {"  10 requests in 1.00s, 1KB read\nRequests/sec: 10\n",
     "{\"tool\":\"wrk\",\"requests\":10,\"errors\":0,\"errorRate\":0.0,\"rps\":10.0,\"codes\":{}}"},
    {"", NULL},
    {"hello\n", NULL},
    {"Requests/sec: x\n", NULL},
    {"Requests/sec: 5\n", NULL},
    {"Status code distribution:\n  [200] 5 responses", NULL},
    {"Summary:\n", NULL},
    {"Summary:\n  Count: -5\n Requests/sec: 1\n", NULL},
};

CASE(outputs_become_numbers)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct summary summary;
        bool found = summary_parse(cases[i].output, &summary);
        if (!cases[i].json) {
            assert_false(found);
        } else {
            assert_true(found);
            struct json_object *expected = NULL, *got = json_own(arena, summary_json(&summary));
            assert_int_equal(
                json_parse(arena, cases[i].json, strlen(cases[i].json), 4096, &expected, NULL),
                ERR_OK);
            json_object_object_foreach(expected, key, value)
            {
                struct json_object *found_value = json_at(got, key, NULL);
                if (json_object_is_type(value, json_type_double)
                        ? fabs(json_object_get_double(value) -
                               json_object_get_double(found_value)) > 1e-6
                        : !json_same(value, found_value))
                    fail_msg("case %zu, %s: %s", i, key, json_text(arena, got));
            }
            assert_int_equal(json_object_object_length(expected), json_object_object_length(got));
        }
    }
}

/* Arbitrary output: more codes than fit, cut at any place. */
CASE(hostile_output_is_bounded)
{
    const char *text = "Requests/sec: 1\nStatus code distribution:\n";
    struct summary summary;
    for (int i = 0; i < 100; i++)
        text =
            arena_printf(arena, "%s  [%d%s] 99999999999999999999 responses\n", text, i,
                         i == 7 ? "a very long name that no status code has, ever and ever" : "");
    for (int i = 0; i < 100; i++)
        text = arena_printf(arena, "%s  [%d] 1 responses\n", text, i);
    (void)summary_parse(text, &summary);
    assert_in_range(summary.n_codes, 0, SUMMARY_MAX_CODES);
    EACH_ROW (row, cases) {
        size_t len = strlen(row->output);
        for (size_t n = 0; n < len; n++)
            (void)summary_parse(arena_strndup(arena, row->output, n), &summary);
    }
}
