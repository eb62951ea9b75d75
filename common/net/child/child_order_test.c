/* child_order: what a supervisor reads is what was ordered, and nothing else is an order. */

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/child/child_order.h"
#include "test/unit.h"

/* An order stays until the process ends, which is no leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* The order that these bytes are, when nothing follows them. */
static bool receive(const char *bytes, size_t len, struct child_order *out)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(write(pair[0], bytes, len), len);
    close(pair[0]);
    bool is_order = child_order_receive(pair[1], out);
    close(pair[1]);
    return is_order;
}

CASE(an_order_arrives_as_it_was_given)
{
    static const char *const argv[] = {"tool", "", "two words\nand a line", "--last", NULL};
    static const char *const env[] = {"A=1", "B=", "C=a b=c", NULL};
    const struct child_limits limits = {.processes = 7, .uid = 10001, .filter = true};
    struct child_order order;
    size_t len;

    const char *text = child_order_text(
        arena,
        &(struct child_spec){.argv = argv, .env = env, .cwd = "/some where", .limits = &limits},
        1234, &len);
    assert_true(receive(text, len, &order));
    assert_int_equal(order.grace_ms, 1234);
    assert_string_equal(order.cwd, "/some where");
    assert_int_equal(order.limits.processes, 7);
    assert_int_equal(order.limits.uid, 10001);
    assert_true(order.limits.filter);
    for (int i = 0; argv[i]; i++)
        assert_string_equal(order.argv[i], argv[i]);
    assert_null(order.argv[4]);
    for (int i = 0; env[i]; i++)
        assert_string_equal(order.env[i], env[i]);
    assert_null(order.env[3]);
}

CASE(what_is_left_out_is_ours)
{
    static const char *const argv[] = {"tool", NULL}, *const none[] = {NULL};
    struct child_order order;
    size_t len;

    setenv("CHILD_ORDER_TEST", "here", 1);
    const char *text = child_order_text(arena, &(struct child_spec){.argv = argv}, 1, &len);
    assert_true(receive(text, len, &order));
    assert_string_equal(order.cwd, "");
    assert_int_equal(order.limits.processes, 0);
    bool found = false;
    for (int i = 0; order.env[i]; i++)
        found |= strcmp(order.env[i], "CHILD_ORDER_TEST=here") == 0;
    assert_true(found);
    /* an empty environment is none of ours */
    text = child_order_text(arena, &(struct child_spec){.argv = argv, .env = none}, 1, &len);
    assert_true(receive(text, len, &order));
    assert_null(order.env[0]);
}

CASE(what_is_too_long_is_no_order)
{
    char *word = malloc(ORDER_MAX + 1);
    size_t len;

    memset(word, 'a', ORDER_MAX);
    word[ORDER_MAX] = '\0';
    assert_null(child_order_text(
        arena, &(struct child_spec){.argv = (const char *const[]){"tool", word, NULL}}, 1, &len));
    word[ORDER_MAX / 2] = '\0';
    assert_non_null(child_order_text(
        arena, &(struct child_spec){.argv = (const char *const[]){"tool", word, NULL}}, 1, &len));
    free(word);
}

/* However it is cut or spoilt: the supervisor ends, and runs nothing. */
CASE(other_bytes_are_refused)
{
    static const char *const argv[] = {"tool", "a", NULL}, *const none[] = {NULL};
    struct child_order order;
    uint32_t size;
    size_t len;
    const char *text =
        child_order_text(arena, &(struct child_spec){.argv = argv, .env = none}, 1, &len);
    char *spoilt = arena_alloc(arena, len);

    assert_true(receive(text, len, &order));
    for (size_t cut = 0; cut < len; cut++)
        assert_false(receive(text, cut, &order));
    for (size_t i = 0; i < 3; i++) {
        static const uint32_t sizes[] = {0, ORDER_MAX + 1, UINT32_MAX};
        memcpy(spoilt, text, len);
        memcpy(spoilt, &sizes[i], sizeof(sizes[i]));
        assert_false(receive(spoilt, len, &order));
    }
    /* a last byte that ends no text; fewer words than are announced */
    memcpy(spoilt, text, len);
    spoilt[len - 1] = 'x';
    assert_false(receive(spoilt, len, &order));
    size = (uint32_t)(len - sizeof(size) - 2);
    memcpy(spoilt, text, len);
    memcpy(spoilt, &size, sizeof(size));
    assert_false(receive(spoilt, len - 2, &order));
}
