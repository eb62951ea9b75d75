/* Accepted headers and accepted files. */

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "net/server/tokens.h"
#include "test/unit.h"

static const char *path;
static struct loop *loop;

static int set_up(void **state)
{
    path = unit_path("tokens");
    loop = loop_new(10000);
    return 0;
}

static int tear_down(void **state)
{
    loop_free(loop);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static void put(const char *text)
{
    unit_put("tokens", text);
}

static enum err open_tokens(const char *text, token_check_fn check, struct tokens **out,
                            struct errinfo *info)
{
    *out = NULL;
    put(text);
    return tokens_new(loop, path, check, out, info);
}

/* Requires a role of one letter and a name. */
static enum err check_row(const struct token_row *row, struct errinfo *ei)
{
    if (!row->role || strlen(row->role) != 1 || !row->name)
        return err_set(ei, ERR_INVALID, "expected TOKEN ROLE NAME");
    return ERR_OK;
}

CASE(headers_are_compared_whole)
{
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
        {"Bearer indented-token-1", false},
        {"Bearer cert:build-pipeline", false},
        {"Bearer build-pipeline", false},
        {"Bearer ", false},
        {"Bearer", false},
        {"Basic 0123456789abcdef", false},
        {"0123456789abcdef", false},
        {"", false},
        {NULL, false},
    };
    assert_int_equal(
        open_tokens("# a comment of sixteen\n\n0123456789abcdef\r\n  indented-token-1\n"
                    "cert:build-pipeline\nanother-token-1234 what stands behind it",
                    NULL, &tokens, &info),
        ERR_OK);
    EACH_ROW (row, cases)
        assert_int_equal(tokens_find(tokens, row->header) != NULL, row->known);
    tokens_free(tokens);
}

static void assert_row(const struct token_row *row, const char *role, const char *name)
{
    assert_non_null(row);
    if (role)
        assert_string_equal(row->role, role);
    else
        assert_null(row->role);
    if (name)
        assert_string_equal(row->name, name);
    else
        assert_null(row->name);
}

CASE(rows_are_found)
{
    struct tokens *tokens;
    struct errinfo info;
    assert_int_equal(open_tokens("aaaaaaaaaaaaaaaa\n"
                                 "bbbbbbbbbbbbbbbb\tadmin\r\n"
                                 "cccccccccccccccc  check   Ann  \t Lee \r\n"
                                 "cert:c operate\tbuild\n"
                                 "aaaaaaaaaaaaaaaa second row\n",
                                 NULL, &tokens, &info),
                     ERR_OK);
    assert_row(tokens_find(tokens, "Bearer aaaaaaaaaaaaaaaa"), NULL, NULL);
    assert_row(tokens_find(tokens, "Bearer bbbbbbbbbbbbbbbb"), "admin", NULL);
    assert_row(tokens_find(tokens, "Bearer cccccccccccccccc"), "check", "Ann  \t Lee");
    assert_row(tokens_find_certificate(tokens, "c"), "operate", "build");
    assert_null(tokens_find_certificate(tokens, "aaaaaaaaaaaaaaaa"));
    assert_null(tokens_find_certificate(tokens, "cert:c"));
    assert_null(tokens_find_certificate(tokens, ""));
    assert_null(tokens_find_certificate(tokens, NULL));
    tokens_free(tokens);
}

CASE(bad_files_are_told)
{
    struct tokens *tokens;
    struct errinfo info;
    char many[20 * (TOKENS_MAX + 2)];
    size_t len = 0;
    for (int i = 0; i <= TOKENS_MAX; i++)
        len += (size_t)snprintf(many + len, sizeof(many) - len, "token-number-%05d\n", i);
    const struct {
        const char *text;
        token_check_fn check;
        const char *says; /* the text after the path */
    } cases[] = {
        {"# nothing\n\n", NULL, ": there is no token in it"},
        {"", NULL, ": there is no token in it"},
        {"0123456789abcdef\nshort\n", NULL, ":2: a token has fewer than 16 characters"},
        {"0123456789abcdef\n\n#\ncert: a b", NULL, ":4: expected the name in a certificate"},
        {many, NULL, ":257: more than 256 tokens"},
        {"0123456789abcdef a b\n0123456789abcdef c d\n", check_row, ":2: this token stands in"},
        {"cert:me a b\ncert:me c d\n", check_row, ":2: this certificate stands in"},
        {"0123456789abcdef a b\n 0123456789abcdeg c d\n", check_row, ":2: the line begins with"},
        {"0123456789abcdef a b\n0123456789abcdeg\n", check_row, ":2: expected TOKEN ROLE NAME"},
    };
    EACH_ROW (row, cases) {
        assert_int_equal(open_tokens(row->text, row->check, &tokens, &info), ERR_INVALID);
        assert_memory_equal(info.text, path, strlen(path));
        assert_memory_equal(info.text + strlen(path), row->says, strlen(row->says));
        assert_null(strstr(info.text, "short"));
        assert_null(strstr(info.text, "0123456789"));
    }
    assert_int_not_equal(tokens_new(loop, "/no/such/file", NULL, &tokens, &info), ERR_OK);
    assert_non_null(strstr(info.text, "/no/such/file"));
}

CASE(a_zero_byte_is_told)
{
    struct tokens *tokens;
    struct errinfo info;
    assert_int_equal(file_write(path, "0123456789abcdef\n\0b", 19, 0600, &info), ERR_OK);
    assert_int_equal(tokens_new(loop, path, NULL, &tokens, &info), ERR_INVALID);
    assert_non_null(strstr(info.text, "a byte 0"));
}

CASE(a_new_file_is_followed)
{
    struct tokens *tokens;
    struct errinfo info;
    assert_int_equal(open_tokens("first-of-all-tokens a ann\n", check_row, &tokens, &info), ERR_OK);
    put("second-of-all-tokens b ben\n");
    assert_null(tokens_find(tokens, "Bearer second-of-all-tokens"));
    tokens_reload(tokens);
    assert_null(tokens_find(tokens, "Bearer first-of-all-tokens"));
    assert_row(tokens_find(tokens, "Bearer second-of-all-tokens"), "b", "ben");
    put("third-of-all-tokens c cay\n");
    tokens_reload(tokens);
    assert_null(tokens_find(tokens, "Bearer second-of-all-tokens"));
    assert_row(tokens_find(tokens, "Bearer third-of-all-tokens"), "c", "cay");
    tokens_stop(tokens);
    assert_row(tokens_find(tokens, "Bearer third-of-all-tokens"), "c", "cay");
    tokens_free(tokens);
}

static void count_change(void *arg)
{
    ++*(int *)arg;
}

/* An empty or broken file revokes all tokens; running out of descriptors does not. */
CASE(a_broken_file_lets_nobody_in)
{
    static const char *const wrong[] = {
        "third-of-all-tokens\n", "", "# only a comment\n", "second-of-all-tokens b ben\nx\n", NULL,
    };
    static const char good[] = "second-of-all-tokens b ben\ncert:cn b ben\n";
    const size_t count = sizeof(wrong) / sizeof(wrong[0]);
    struct tokens *tokens;
    struct errinfo info;
    struct rlimit files, none;
    int changes = 0;

    assert_int_equal(open_tokens(good, check_row, &tokens, &info), ERR_OK);
    tokens_on_changed(tokens, count_change, &changes);
    for (size_t i = 0; i < count; i++) {
        if (wrong[i])
            put(wrong[i]);
        else
            assert_int_equal(unlink(path), 0);
        tokens_reload(tokens);
        tokens_reload(tokens);
        assert_int_equal(changes, 2 * i + 1);
        assert_null(tokens_find(tokens, "Bearer second-of-all-tokens"));
        assert_null(tokens_find_certificate(tokens, "cn"));
        put(good);
        tokens_reload(tokens);
        assert_int_equal(changes, 2 * i + 2);
        assert_row(tokens_find(tokens, "Bearer second-of-all-tokens"), "b", "ben");
    }
    put("fourth-of-all-tokens b ben\n");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = files.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    tokens_reload(tokens);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_row(tokens_find(tokens, "Bearer second-of-all-tokens"), "b", "ben");
    tokens_reload(tokens);
    assert_row(tokens_find(tokens, "Bearer fourth-of-all-tokens"), "b", "ben");
    tokens_free(tokens);
}
