/* Summaries of load generators: whatever a task prints, the numbers are numbers. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "fuzz.h"
#include "loadtester/summary.h"

/* -1: not said */
static bool is_measure(double value)
{
    return isfinite(value) && (value >= 0 || value == -1);
}

FUZZ_TARGET(arena, data, size)
{
    const char *text = arena_strndup(arena, (const char *)data, size);
    struct summary summary;

    (void)summary_time(text);
    if (summary_parse(text, &summary)) {
        assert(summary.requests >= 0 && summary.errors >= 0);
        assert(is_measure(summary.rps) && is_measure(summary.p50_ms));
        assert(is_measure(summary.p90_ms) && is_measure(summary.p99_ms));
        assert(isfinite(summary_error_rate(&summary)));
        assert(summary.n_codes >= 0 && summary.n_codes <= SUMMARY_MAX_CODES);
        for (int i = 0; i < summary.n_codes; i++)
            assert(memchr(summary.codes[i].name, 0, SUMMARY_CODE_TEXT));
        assert(json_text(arena, json_own(arena, summary_json(&summary)))[0] == '{');
    }
}
