/* A request is read as it was written; any other bytes are rejected. */

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/child/child_internal.h"
#include "test/unit.h"

/* A request stays until the process ends, which is not a leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* Reads these bytes, followed by the end of the socket. */
static bool receive(const char *bytes, size_t len, struct spawn_request *out)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(write(pair[0], bytes, len), len);
    close(pair[0]);
    bool is_valid = spawn_request_receive(pair[1], out);
    close(pair[1]);
    return is_valid;
}

CASE(an_order_arrives_as_it_was_given)
{
    static const char *const argv[] = {"tool", "", "two words\nand a line", "--last", NULL};
    static const char *const env[] = {"A=1", "B=", "C=a b=c", NULL};
    const struct child_limits limits = {.processes = 7, .uid = 10001, .filter = true};
    struct spawn_request request;
    size_t len;

    const char *text = spawn_request_text(
        arena,
        &(struct child_spec){.argv = argv, .env = env, .cwd = "/some where", .limits = &limits},
        1234, &len);
    assert_true(receive(text, len, &request));
    assert_int_equal(request.grace_ms, 1234);
    assert_string_equal(request.cwd, "/some where");
    assert_int_equal(request.limits.processes, 7);
    assert_int_equal(request.limits.uid, 10001);
    assert_true(request.limits.filter);
    for (int i = 0; argv[i]; i++)
        assert_string_equal(request.argv[i], argv[i]);
    assert_null(request.argv[4]);
    for (int i = 0; env[i]; i++)
        assert_string_equal(request.env[i], env[i]);
    assert_null(request.env[3]);
}

CASE(what_is_left_out_is_ours)
{
    static const char *const argv[] = {"tool", NULL}, *const none[] = {NULL};
    struct spawn_request request;
    size_t len;

    setenv("CHILD_ORDER_TEST", "here", 1);
    const char *text = spawn_request_text(arena, &(struct child_spec){.argv = argv}, 1, &len);
    assert_true(receive(text, len, &request));
    assert_string_equal(request.cwd, "");
    assert_int_equal(request.limits.processes, 0);
    bool found = false;
    for (int i = 0; request.env[i]; i++)
        found |= strcmp(request.env[i], "CHILD_ORDER_TEST=here") == 0;
    assert_true(found);
    /* an empty environment is not replaced with ours */
    text = spawn_request_text(arena, &(struct child_spec){.argv = argv, .env = none}, 1, &len);
    assert_true(receive(text, len, &request));
    assert_null(request.env[0]);
}

CASE(what_is_too_long_is_no_order)
{
    char *word = malloc(SPAWN_REQUEST_MAX + 1);
    size_t len;

    memset(word, 'a', SPAWN_REQUEST_MAX);
    word[SPAWN_REQUEST_MAX] = '\0';
    assert_null(spawn_request_text(
        arena, &(struct child_spec){.argv = (const char *const[]){"tool", word, NULL}}, 1, &len));
    word[SPAWN_REQUEST_MAX / 2] = '\0';
    assert_non_null(spawn_request_text(
        arena, &(struct child_spec){.argv = (const char *const[]){"tool", word, NULL}}, 1, &len));
    free(word);
}

/* Truncated or corrupted requests are rejected. */
CASE(other_bytes_are_refused)
{
    static const char *const argv[] = {"tool", "a", NULL}, *const none[] = {NULL};
    struct spawn_request request;
    uint32_t size;
    size_t len;
    const char *text =
        spawn_request_text(arena, &(struct child_spec){.argv = argv, .env = none}, 1, &len);
    char *spoilt = arena_alloc(arena, len);

    assert_true(receive(text, len, &request));
    for (size_t cut = 0; cut < len; cut++)
        assert_false(receive(text, cut, &request));
    for (size_t i = 0; i < 3; i++) {
        static const uint32_t sizes[] = {0, SPAWN_REQUEST_MAX + 1, UINT32_MAX};
        memcpy(spoilt, text, len);
        memcpy(spoilt, &sizes[i], sizeof(sizes[i]));
        assert_false(receive(spoilt, len, &request));
    }
    /* no zero byte at the end; fewer words than announced */
    memcpy(spoilt, text, len);
    spoilt[len - 1] = 'x';
    assert_false(receive(spoilt, len, &request));
    size = (uint32_t)(len - sizeof(size) - 2);
    memcpy(spoilt, text, len);
    memcpy(spoilt, &size, sizeof(size));
    assert_false(receive(spoilt, len - 2, &request));
}
