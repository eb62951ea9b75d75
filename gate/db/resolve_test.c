/* resolve: names to be resolved, and their replacements for libpq. */

#include <stdlib.h>
#include <string.h>

#include "gate/db/db_internal.h"
#include "test/unit.h"

struct outcome {
    int calls;
    enum err err;
    char text[512];
    char host[256], hostaddr[256], port[256];
};

static void keep(char out[256], const char *text)
{
    snprintf(out, 256, "%s", text ? text : "-");
}

static void on_done(void *arg, enum err err, const struct errinfo *info,
                    const struct resolved *resolved)
{
    struct outcome *outcome = arg;
    outcome->calls++;
    outcome->err = err;
    snprintf(outcome->text, sizeof(outcome->text), "%s", info->text);
    keep(outcome->host, resolved ? resolved->host : NULL);
    keep(outcome->hostaddr, resolved ? resolved->hostaddr : NULL);
    keep(outcome->port, resolved ? resolved->port : NULL);
}

static struct outcome resolve_from(const char *dsn, int first)
{
    struct loop *loop = loop_new(5000);
    struct outcome outcome = {0};
    resolve_start(loop, dsn, first, on_done, &outcome);
    assert_int_equal(outcome.calls, 0);
    loop_run(loop);
    loop_free(loop);
    assert_int_equal(outcome.calls, 1);
    return outcome;
}

static struct outcome resolve(const char *dsn)
{
    return resolve_from(dsn, 0);
}

CASE(what_has_no_name_is_left_to_libpq)
{
    static const char *const dsns[] = {
        "",
        "host=/run/postgresql dbname=x",
        "host=127.0.0.1 port=5432",
        "host=localhost hostaddr=127.0.0.1",
        "host=localhost service=main",
        "host=localhost,other port=1,2,3",
    };
    EACH_ROW (row, dsns) {
        struct outcome outcome = resolve(*row);
        assert_int_equal(outcome.err, ERR_OK);
        assert_string_equal(outcome.host, "-");
        assert_string_equal(outcome.hostaddr, "-");
    }
}

CASE(a_name_is_resolved_and_kept)
{
    struct outcome outcome = resolve("postgresql://u:secret@localhost:5433/x");
    assert_int_equal(outcome.err, ERR_OK);
    assert_int_equal(strncmp(outcome.host, "localhost", 9), 0);
    assert_non_null(strstr(outcome.hostaddr, "127.0.0.1"));
    assert_int_equal(strncmp(outcome.port, "5433", 4), 0);
}

CASE(lists_keep_their_order_and_length)
{
    struct outcome outcome = resolve("host=/tmp,10.1.2.3,localhost port=1,2,3");
    assert_int_equal(strncmp(outcome.host, "/tmp,10.1.2.3,localhost", 23), 0);
    assert_int_equal(strncmp(outcome.hostaddr, ",10.1.2.3,", 10), 0);
    assert_int_equal(strncmp(outcome.port, "1,2,3", 5), 0);
}

CASE(the_address_to_begin_with_is_chosen)
{
    static const char *const hosts[] = {"10.0.0.1,/tmp,10.0.0.3", "/tmp,10.0.0.3,10.0.0.1",
                                        "10.0.0.3,10.0.0.1,/tmp", "10.0.0.1,/tmp,10.0.0.3"};
    static const char *const addresses[] = {"10.0.0.1,,10.0.0.3", ",10.0.0.3,10.0.0.1",
                                            "10.0.0.3,10.0.0.1,", "10.0.0.1,,10.0.0.3"};
    for (int i = 0; i < 4; i++) {
        struct outcome outcome = resolve_from("host=10.0.0.1,/tmp,10.0.0.3 port=5", i);
        assert_string_equal(outcome.host, hosts[i]);
        assert_string_equal(outcome.hostaddr, addresses[i]);
        assert_string_equal(outcome.port, "5,5,5");
    }
}

CASE(the_environment_is_heard)
{
    setenv("PGHOST", "localhost", 1);
    struct outcome outcome = resolve("dbname=x");
    unsetenv("PGHOST");
    assert_int_equal(strncmp(outcome.host, "localhost", 9), 0);
}

CASE(an_unknown_name_is_told)
{
    struct outcome outcome = resolve("host=no-such-host.invalid password=secret");
    assert_int_equal(outcome.err, ERR_RETRY);
    assert_non_null(strstr(outcome.text, "no-such-host.invalid"));
    assert_null(strstr(outcome.text, "secret"));
    /* One known name is enough. */
    outcome = resolve("host=no-such-host.invalid,localhost");
    assert_int_equal(outcome.err, ERR_OK);
    assert_int_equal(strncmp(outcome.host, "localhost", 9), 0);
}

static void free_later(void *arg)
{
    resolve_free(arg);
}

CASE(a_freed_one_is_silent)
{
    struct loop *loop = loop_new(5000);
    struct outcome outcome = {0};
    resolve_free(resolve_start(loop, "host=localhost", 0, on_done, &outcome));
    struct resolve *under_way =
        resolve_start(loop, "host=no-such-host.invalid", 0, on_done, &outcome);
    timer_start(loop, 0, 0, free_later, under_way); /* after its own first step */
    loop_run(loop);
    loop_free(loop);
    resolve_free(NULL);
    assert_int_equal(outcome.calls, 0);
}

CASE(a_string_that_cannot_be_read_is_not_shown)
{
    struct errinfo info = {0};
    assert_int_equal(resolve_check("postgresql://u:p@h/db", &info), ERR_OK);
    assert_int_equal(resolve_check("", &info), ERR_OK);
    assert_int_equal(resolve_check("user:secret@host/db", &info), ERR_INVALID);
    assert_null(strstr(info.text, "secret"));
    assert_int_equal(resolve_check("hots=secret", &info), ERR_INVALID);
    assert_null(strstr(info.text, "secret"));
}
