
#include <string.h>

#include "cluster/podlog.h"
#include "test/unit.h"

static void offsets(void **state)
{
    struct podlog log;
    struct buf out;
    podlog_init(&log);
    buf_init(&out, 64);
    podlog_read(&log, 0, &out);
    assert_int_equal(out.len, 0);
    podlog_add(&log, "one\n", 4);
    podlog_add(&log, "two\n", 4);
    podlog_read(&log, 4, &out);
    assert_string_equal(out.data, "two\n");
    podlog_read(&log, 8, &out);
    podlog_read(&log, 99, &out);
    assert_string_equal(out.data, "two\n");
    buf_fini(&out);
    podlog_fini(&log);
}

static void overflow(void **state)
{
    static char big[PODLOG_KEEP];
    struct podlog log, before;
    struct buf out;
    podlog_init(&log);
    podlog_init(&before);
    buf_init(&out, PODLOG_KEEP);
    size_t total = 0;
    for (int i = 0; i < 1000; i++) {
        podlog_add(&log, big, 1000);
        total += 1000;
        assert_int_equal(log.dropped + log.text.len, total);
    }
    podlog_add(&log, big, sizeof(big));
    total += sizeof(big);
    podlog_add(&log, "end", 3);
    assert_int_equal(log.dropped + log.text.len, total + 3);
    podlog_read(&log, total, &out);
    assert_string_equal(out.data, "end");
    podlog_move(&before, &log);
    assert_int_equal(log.text.len, 0);
    assert_int_equal(before.dropped + before.text.len, total + 3);
    buf_fini(&out);
    podlog_fini(&log);
    podlog_fini(&before);
}

UNIT_MAIN(cmocka_unit_test(offsets), cmocka_unit_test(overflow))
