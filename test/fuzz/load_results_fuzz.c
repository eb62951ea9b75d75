/* Results of load tests: whatever a pod writes to its log, in whatever pieces, counts stay counts. The
 * first byte chooses the format, the second the size of the pieces. */
#include <assert.h>
#include <math.h>

#include "base/arena.h"
#include "fuzz.h"
#include "loadtester/load/results.h"

FUZZ_TARGET(arena, data, size)
{
    static const char *const names[] = {"hey-csv", "ghz-json", "k6-json", "jtl", "histogram"};
    struct load_counts *counts = arena_alloc(arena, sizeof(*counts));
    struct errinfo info = {0};

    if (size >= 2) {
        const char *text = (const char *)data + 2;
        size_t len = size - 2, piece = data[1] ? data[1] : 1;
        struct results *results = results_new(results_format_find(names[data[0] % 5]));
        for (size_t at = 0; at < len; at += piece)
            if (!results_add(results, text + at, len - at < piece ? len - at : piece))
                break;
        if (results_end(results, counts, &info) == ERR_OK) {
            assert(counts->requests >= 0 && counts->failures >= 0);
            assert(counts->times.total >= 0);
            for (int percent = 0; percent <= 100; percent += 10)
                assert(isfinite(histogram_percentile(&counts->times, percent)));
        } else {
            assert(info.text[0]);
        }
        results_free(results);
    }
}
