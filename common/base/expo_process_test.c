#include "base/expo_process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "test/unit.h"

static double value_of(const char *name)
{
    struct buf out;
    buf_init(&out, SIZE_MAX);
    expo_process_write(&out);
    char *line = heap_printf("\n%s ", name);
    const char *found = strstr(out.data, line);
    assert_non_null(found);
    double value = strtod(found + strlen(line), NULL);
    free(line);
    buf_fini(&out);
    return value;
}

CASE(memory_is_plausible)
{
    double bytes = value_of("process_resident_memory_bytes");
    assert_true(bytes > 100e3 && bytes < 100e9);
}

CASE(open_descriptors_are_counted)
{
    double before = value_of("process_open_fds");
    int fd = dup(STDERR_FILENO);
    assert_true(value_of("process_open_fds") == before + 1);
    close(fd);
    assert_true(value_of("process_open_fds") == before);
}

CASE(cpu_time_grows)
{
    double before = value_of("process_cpu_seconds_total");
    int64_t deadline = clock_monotonic_ms() + 20000;
    while (value_of("process_cpu_seconds_total") <= before)
        assert_true(clock_monotonic_ms() < deadline);
}

CASE(the_start_is_in_the_past)
{
    double now = (double)clock_wall_ms() / 1000, start = value_of("process_start_time_seconds");
    assert_true(start <= now + 2 && start > now - 3600);
}
