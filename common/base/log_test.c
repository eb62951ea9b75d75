#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "test/unit.h"

struct fixture {
    struct arena *arena;
    FILE *file;
};

static int setup(void **state)
{
    struct fixture *f = heap_alloc(sizeof(*f));
    f->arena = unit_arena;
    f->file = tmpfile();
    log_set_fd(fileno(f->file));
    assert_true(log_set_level("info"));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    log_set_fd(STDERR_FILENO);
    log_set_level("info");
    fclose(f->file);
    free(f);
    return 0;
}

UNIT_FIXTURE(.set_up = setup, .tear_down = teardown);

/* Everything written so far, as text. */
static char *written(struct fixture *f, size_t *len)
{
    off_t size = lseek(fileno(f->file), 0, SEEK_END);
    char *text = arena_alloc(f->arena, (size_t)size + 1);
    assert_int_equal(pread(fileno(f->file), text, (size_t)size, 0), size);
    *len = (size_t)size;
    return text;
}

/* The only line written, as a tree. */
static struct json_object *the_line(struct fixture *f)
{
    size_t len;
    char *text = written(f, &len);
    struct errinfo ei = {0};
    struct json_object *line = NULL;
    assert_true(len > 0 && text[len - 1] == '\n');
    assert_ptr_equal(memchr(text, '\n', len), text + len - 1);
    assert_int_equal(json_parse(f->arena, text, len, len, &line, &ei), ERR_OK);
    return line;
}

FIXTURE_CASE(a_line_is_an_object_with_keys_in_order)
{
    log_info("gate_opened", "podinfo.test", "opened by request", LOG_STR("gate", "a \"b\""),
             LOG_INT("status", -202));
    struct json_object *line = the_line(f);
    const char *expected[] = {"ts", "level", "event", "canary", "msg", "gate", "status"};
    size_t i = 0;
    json_object_object_foreach(line, key, value)
    {
        (void)value;
        assert_string_equal(key, expected[i++]);
    }
    assert_int_equal(i, 7);
    int64_t ts;
    assert_int_equal(clock_parse(json_str_at(line, "ts", NULL), &ts, NULL), ERR_OK);
    assert_true(ts <= clock_wall_ms() && ts > clock_wall_ms() - 60000);
    assert_string_equal(json_str_at(line, "level", NULL), "info");
    assert_string_equal(json_str_at(line, "canary", NULL), "podinfo.test");
    assert_string_equal(json_str_at(line, "gate", NULL), "a \"b\"");
    assert_int_equal(json_int_at(line, 0, "status", NULL), -202);
}

FIXTURE_CASE(fields_and_canary_may_be_missing)
{
    const char *none = NULL;
    log_error("broken", NULL, "it is broken", LOG_STR("why", none));
    struct json_object *line = the_line(f);
    assert_null(json_at(line, "canary", NULL));
    assert_string_equal(json_str_at(line, "level", NULL), "error");
    assert_string_equal(json_str_at(line, "why", NULL), "");
}

FIXTURE_CASE(hostile_values_stay_one_line)
{
    log_warn("odd", NULL, "a\nb\x01\xff\x7f", LOG_STR("k\"ey", "\r\n{\"level\":\"error\"}"));
    struct json_object *line = the_line(f);
    assert_string_equal(json_str_at(line, "msg", NULL), "a\nb\x01\xef\xbf\xbd\x7f");
    assert_string_equal(json_str_at(line, "k\"ey", NULL), "\r\n{\"level\":\"error\"}");
    assert_string_equal(json_str_at(line, "level", NULL), "warn");
}

FIXTURE_CASE(long_values_are_cut)
{
    size_t size = 100000;
    char *value = arena_alloc(f->arena, size);
    memset(value, 'x', size - 1);
    memcpy(value + LOG_MAX_VALUE - 1, "\xc3\xa9", 2);
    log_info("long", NULL, "long", LOG_STR("value", value));
    assert_int_equal(strlen(json_str_at(the_line(f), "value", NULL)), LOG_MAX_VALUE - 1);
}

FIXTURE_CASE(too_many_fields_are_left_out_whole)
{
    struct log_field fields[64];
    char *value = arena_alloc(f->arena, LOG_MAX_VALUE + 1);
    memset(value, 1, LOG_MAX_VALUE); /* six bytes each when escaped */
    for (size_t i = 0; i < 64; i++)
        fields[i] = LOG_STR(arena_printf(f->arena, "k%zu", i), value);
    log_write(LOG_INFO, "many", NULL, "many", fields, 64);
    int length = json_object_object_length(the_line(f));
    assert_in_range(length, 10, 20);
}

FIXTURE_CASE(levels_filter)
{
    static const struct {
        const char *text;
        enum log_level least;
    } cases[] = {
        {"debug", LOG_DEBUG},  {"info", LOG_INFO},   {"INFO", LOG_INFO},   {"warn", LOG_WARN},
        {"warning", LOG_WARN}, {"error", LOG_ERROR}, {"fatal", LOG_ERROR}, {"panic", LOG_ERROR},
    };
    EACH_ROW (row, cases) {
        assert_true(log_set_level(row->text));
        for (enum log_level level = LOG_DEBUG; level <= LOG_ERROR; level++)
            assert_int_equal(log_enabled(level), level >= row->least);
    }
    assert_false(log_set_level("loud"));
    assert_false(log_set_level(""));
    assert_true(log_enabled(LOG_ERROR));
    assert_false(log_enabled(LOG_WARN));

    size_t len;
    int evaluated = 0;
    log_warn("quiet", NULL, "not written", LOG_INT("n", ++evaluated));
    log_write(LOG_INFO, "quiet", NULL, "not written", NULL, 0);
    written(f, &len);
    assert_int_equal(len, 0);
    assert_int_equal(evaluated, 0);
}

FIXTURE_CASE(errno_survives)
{
    (void)f;
    errno = ENOENT;
    log_info("x", NULL, "x");
    assert_int_equal(errno, ENOENT);
    log_set_fd(-1);
    log_info("x", NULL, "nobody reads this");
    assert_int_equal(errno, ENOENT);
}
