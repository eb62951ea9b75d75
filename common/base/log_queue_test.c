#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "test/unit.h"

enum { LINES_OF_A_PIPE = 300, LINES = 20000, MOST = 4 * 1024 * 1024 };

static int ends[2];

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

/* The sum of all reported gaps. */
static uint64_t told(const char *text)
{
    uint64_t sum = 0;
    for (const char *at = text; (at = strstr(at, "\"lines\":")) != NULL; at++)
        sum += strtoull(at + strlen("\"lines\":"), NULL, 10);
    return sum;
}

/* Reads until the time is over, the pipe ends, or `dropped` lines are reported as dropped. */
static char *read_until(uint64_t dropped)
{
    char *text = calloc(1, MOST);
    size_t len = 0;
    int64_t deadline = clock_monotonic_ms() + 10000;

    while (dropped == 0 || told(text) < dropped) {
        struct pollfd ready = {.fd = ends[0], .events = POLLIN};
        assert_true(clock_monotonic_ms() < deadline);
        if (poll(&ready, 1, 100) <= 0)
            continue;
        ssize_t n = read(ends[0], text + len, MOST - 1 - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    return text;
}

CASE(test_lines_in_order)
{
    assert_int_equal(pipe(ends), 0);
    log_set_fd(ends[1]);
    log_start();
    for (int i = 0; i < LINES_OF_A_PIPE; i++)
        log_info("line", NULL, "a line", LOG_INT("n", i));
    log_stop();
    close(ends[1]);
    char *text = read_until(0), *at = text;
    for (int i = 0; i < LINES_OF_A_PIPE; i++) {
        char end[32];
        snprintf(end, sizeof(end), "\"n\":%d}\n", i);
        at = strstr(at, end);
        assert_non_null(at);
    }
    free(text);
    close(ends[0]);
}

/* Without a reader, the writer does not block; dropped lines are reported to a later reader. */
CASE(test_a_stalled_reader)
{
    uint64_t before = log_queue_dropped();

    assert_int_equal(pipe(ends), 0);
    log_set_fd(ends[1]);
    log_start();
    for (int i = 0; i < LINES; i++)
        log_info("line", NULL, "a line that fills the pipe and then the queue behind it, or so");
    uint64_t dropped = log_queue_dropped() - before;
    assert_true(dropped > LINES / 4 && dropped < LINES);
    char *text = read_until(dropped);
    assert_int_equal(told(text), dropped);
    assert_int_equal((uint64_t)count(text, "or so") + dropped, LINES);
    log_info("line", NULL, "the reader is back");
    log_stop();
    close(ends[1]);
    char *rest = read_until(0);
    assert_non_null(strstr(rest, "the reader is back"));
    free(rest);
    free(text);
    close(ends[0]);
}

/* The end of the process does not wait for a stalled reader either. */
CASE(test_the_end_with_a_stalled_reader)
{
    assert_int_equal(pipe(ends), 0);
    log_set_fd(ends[1]);
    log_start();
    for (int i = 0; i < LINES; i++)
        log_info("line", NULL, "a line that fills the pipe and then the queue behind it, or so");
    int64_t begin = clock_monotonic_ms();
    log_stop();
    assert_true(clock_monotonic_ms() - begin < 5000);
}
