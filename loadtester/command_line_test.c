/* Command lines: quoting without a shell, rejected shell syntax, masked credentials. */

#include <string.h>

#include "loadtester/command_line.h"
#include "test/unit.h"

struct good {
    const char *text;
    const char *words; /* joined with '|' */
};

static const struct good good[] = {
    {"hey", "hey"},
    {"  hey -z 1m\thttp://x/  ", "hey|-z|1m|http://x/"},
    {"hey -H 'a: b' -m POST", "hey|-H|a: b|-m|POST"},
    {"hey \"a b\"c'd e'", "hey|a bcd e"},
    {"hey '' \"\" x", "hey|||x"},
    {"hey a\\ b \\$HOME \\;", "hey|a b|$HOME|;"},
    {"hey '$(id)' \"\\$(id)\" '`id`'", "hey|$(id)|$(id)|`id`"},
    {"hey \"a\\b\" \"a\\\\b\" \"a\\\"b\"", "hey|a\\b|a\\b|a\"b"},
    {"hey \\\n  -z 1m\n", "hey|-z|1m"},
    {"hey a\\\nb", "hey|ab"},
    {"hey \"a\\\nb\"", "hey|ab"},
    {"hey http://x/?a=1 *.txt ~ [a] {a,b} a#b !", "hey|http://x/?a=1|*.txt|~|[a]|{a,b}|a#b|!"},
    {"hey 'a\nb'", "hey|a\nb"},
    {"hey \xc3\xa4\xe2\x80\xae \xef\xbc\x9b", "hey|\xc3\xa4\xe2\x80\xae|\xef\xbc\x9b"},
};

static const char *bad[][2] = {
    {"", "there is no command"},
    {" \n\t ", "there is no command"},
    {"hey 'a", "the quote at character 5 is not closed"},
    {"hey \"a", "the quote at character 5 is not closed"},
    {"hey a\\", "the backslash at character 6 escapes nothing"},
    {"hey; id", "';' at character 4 needs a shell; quote it if it is text"},
    {"hey | sh", "'|' at character 5 needs a shell; quote it if it is text"},
    {"hey &", "'&' at character 5 needs a shell; quote it if it is text"},
    {"hey http://x/?a=1&b=2", "'&' at character 18 needs a shell; quote it if it is text"},
    {"hey > /tmp/x", "'>' at character 5 needs a shell; quote it if it is text"},
    {"hey < /tmp/x", "'<' at character 5 needs a shell; quote it if it is text"},
    {"(hey)", "'(' at character 1 needs a shell; quote it if it is text"},
    {"hey)", "')' at character 4 needs a shell; quote it if it is text"},
    {"hey $HOME", "'$' at character 5 needs a shell; quote it if it is text"},
    {"hey \"$(id)\"", "'$' at character 6 needs a shell; quote it if it is text"},
    {"hey `id`", "'`' at character 5 needs a shell; quote it if it is text"},
    {"hey \"`id`\"", "'`' at character 6 needs a shell; quote it if it is text"},
    {"hey # x", "'#' at character 5 needs a shell; quote it if it is text"},
    {"hey\nid", "the line break at character 4 needs a shell"},
};

static const char *join(struct arena *arena, const char *const *words)
{
    const char *text = "";
    for (size_t i = 0; words[i]; i++)
        text = arena_printf(arena, "%s%s%s", text, i ? "|" : "", words[i]);
    return text;
}

CASE(test_good)
{
    EACH_ROW (row, good) {
        const char *const *words;
        struct errinfo info = {0};
        if (words_split(arena, row->text, &words, &info) != ERR_OK)
            fail_msg("%s: %s", row->text, info.text);
        assert_string_equal(join(arena, words), row->words);
    }
}

CASE(test_bad)
{
    EACH_ROW (row, bad) {
        const char *const *words;
        struct errinfo info = {0};
        if (words_split(arena, (*row)[0], &words, &info) != ERR_INVALID)
            fail_msg("%s was taken for words", (*row)[0]);
        assert_string_equal(info.text, (*row)[1]);
    }
}

CASE(test_many)
{
    const char *const *words;
    struct errinfo info = {0};
    char text[2 * WORDS_MAX + 3];
    for (int i = 0; i <= WORDS_MAX; i++)
        memcpy(text + 2 * (size_t)i, "a ", 2);
    text[2 * WORDS_MAX] = '\0';
    assert_int_equal(words_split(arena, text, &words, &info), ERR_OK);
    assert_non_null(words[WORDS_MAX - 1]);
    assert_null(words[WORDS_MAX]);
    memcpy(text + 2 * (size_t)WORDS_MAX, "a", 2);
    assert_int_equal(words_split(arena, text, &words, &info), ERR_INVALID);
    assert_string_equal(info.text, "more than 1024 words");
}

/* A megabyte of any text takes linear time. */
CASE(test_long)
{
    enum { LONG = 1000000 };
    char *text = arena_alloc(arena, LONG + 8);
    const char *const *words;
    struct errinfo info = {0};
    static const char fill[] = " \t\r'";
    for (size_t i = 0; i < strlen(fill); i++) {
        memset(text, fill[i], LONG);
        memcpy(text, "hey", 3);
        memcpy(text + LONG, "x", 2);
        enum err err = words_split(arena, text, &words, &info);
        assert_true(err == ERR_OK || fill[i] == '\'');
    }
}

/* --- masking */

CASE(credentials_are_not_shown)
{
    static const struct {
        const char *text, *shown; /* NULL if unchanged */
    } cases[] = {
        {"hey -z 1m -q 10 http://podinfo-canary.test/", NULL},
        {"hey -H 'Authorization: Bearer abc.def' http://x/",
         "hey -H 'Authorization: ***' http://x/"},
        {"hey -H \"authorization: Basic Zm9v\" http://x/",
         "hey -H \"authorization: ***\" http://x/"},
        {"hey -H Authorization:abc http://x/", "hey -H Authorization:***"},
        {"hey -H 'X-Api-Key: k1' -H 'Accept: text/html' x",
         "hey -H 'X-Api-Key: ***' -H 'Accept: text/html' x"},
        {"hey -H 'Cookie: session=1' x", "hey -H 'Cookie: ***' x"},
        {"hey -a admin:geheim http://x/", "hey -a *** http://x/"},
        {"curl -u 'admin:ge heim' http://x/", "curl -u *** http://x/"},
        {"curl http://admin:geheim@x:80/a?b", "curl http://***@x:80/a?b"},
        {"curl http://x/a@b", NULL},
        {"kubectl --token=abc get pods", "kubectl --token=*** get pods"},
        {"kubectl --token abc get pods", "kubectl --token *** get pods"},
        {"kubectl --token-file f get pods", NULL},
        {"PGPASSWORD=geheim psql", "PGPASSWORD=*** psql"},
        {"curl -d '{\"password\": \"geheim\", \"a\": 1}' x",
         "curl -d '{\"password\": ***, \"a\": 1}' x"},
        {"curl 'http://x/?access_token=abc&b=1'", "curl 'http://x/?access_token=***&b=1'"},
        {"echo Bearer abc", "echo Bearer ***"},
        {"echo bearer", NULL},
        {"", NULL},
        {"token=", NULL},
        {"--token", NULL},
        {"token='open", "token=***"},
        {"tokens of the secret society", NULL},
    };

    EACH_ROW (row, cases) {
        const char *shown = mask_credentials(arena, row->text);
        assert_string_equal(shown, row->shown ? row->shown : row->text);
    }
}
