/* tokens: which headers are admitted, which files are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "loadtester/tokens.h"

static char path[64];
static struct loop *loop;

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/tokens_test.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    loop = loop_new(1000);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(unlink(path), 0);
    loop_free(loop);
    return 0;
}

static enum err open_tokens(const char *text, struct tokens **out, struct errinfo *info)
{
    *out = NULL;
    assert_int_equal(file_write(path, text, strlen(text), 0600, info), ERR_OK);
    return tokens_new(loop, path, out, info);
}

static void headers_are_compared_whole(void **state)
{
    (void)state;
    struct tokens *tokens;
    struct errinfo info;
    static const struct {
        const char *header;
        bool known;
    } cases[] = {
        {"Bearer 0123456789abcdef", true},
        {"bearer 0123456789abcdef", true},
        {"Bearer  another-token-1234", true},
        {"Bearer 0123456789abcde", false},
        {"Bearer 0123456789abcdeg", false},
        {"Bearer 0123456789abcdef ", false},
        {"Bearer # a comment of sixteen", false},
        {"Bearer ", false},
        {"Bearer", false},
        {"Basic 0123456789abcdef", false},
        {"0123456789abcdef", false},
        {"", false},
        {NULL, false},
    };
    assert_int_equal(open_tokens("# a comment of sixteen\n\n0123456789abcdef\r\nanother-token-1234",
                                 &tokens, &info),
                     ERR_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(tokens_know(tokens, cases[i].header), cases[i].known);
    tokens_free(tokens);
}

static void bad_files_are_told(void **state)
{
    (void)state;
    struct tokens *tokens;
    struct errinfo info;
    assert_int_equal(open_tokens("# nothing\n\n", &tokens, &info), ERR_INVALID);
    assert_non_null(strstr(info.text, "there is no token in it"));
    assert_int_equal(open_tokens("0123456789abcdef\nshort\n", &tokens, &info), ERR_INVALID);
    assert_non_null(strstr(info.text, "a token has fewer than 16 characters"));
    assert_null(strstr(info.text, "short"));
    assert_int_not_equal(tokens_new(loop, "/no/such/file", &tokens, &info), ERR_OK);
    assert_non_null(strstr(info.text, "/no/such/file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(headers_are_compared_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_files_are_told, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
