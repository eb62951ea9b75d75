#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "base/yaml.h"
#include "object/yaml_text.h"

static struct json_object *read(struct arena *arena, const char *text)
{
    struct json_object *tree = NULL;
    assert_int_equal(json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &tree, NULL), ERR_OK);
    return tree;
}

static void assert_reads_back(struct arena *arena, struct json_object *tree)
{
    struct json_object *docs = NULL;
    struct errinfo ei = {0};
    const char *text = yaml_text(arena, tree);
    enum err err = yaml_parse(arena, "back", text, strlen(text), JSON_MAX_BYTES, &docs, &ei);
    assert_string_equal(ei.text, "");
    assert_int_equal(err, ERR_OK);
    assert_true(json_same(json_elem(docs, 0), tree));
}

static void text_is_block_style(void **state)
{
    (void)state;
    static const struct {
        const char *json, *yaml;
    } cases[] = {
        {"null", "null\n"},
        {"1.50", "1.50\n"},
        {"\"x\"", "x\n"},
        {"{}", "{}\n"},
        {"[]", "[]\n"},
        {"{\"a\":1,\"b\":{\"c\":[\"x\",{\"d\":true,\"e\":null}],\"f\":{}},\"g\":[]}",
         "a: 1\nb:\n  c:\n  - x\n  - d: true\n    e: null\n  f: {}\ng: []\n"},
        {"[[1,[2]],{\"a\":[3]}]", "- - 1\n  - - 2\n- a:\n  - 3\n"},
        {"{\"yes\":\"no\",\"1\":\"1\",\"\":\"\"}", "\"yes\": \"no\"\n\"1\": \"1\"\n\"\": \"\"\n"},
        {"{\"image\":\"ghcr.io/stefanprodan/podinfo:6.0.0\",\"cmd\":\"hey -z 1m -q 10 "
         "http://podinfo:9898/\"}",
         "image: ghcr.io/stefanprodan/podinfo:6.0.0\ncmd: hey -z 1m -q 10 http://podinfo:9898/\n"},
        {"{\"t\":\"2026-11-20T19:15:10Z\",\"d\":\"2026-11-20\",\"s\":\"1:20\",\"i\":\"10s\"}",
         "t: \"2026-11-20T19:15:10Z\"\nd: \"2026-11-20\"\ns: \"1:20\"\ni: 10s\n"},
        {"{\"script\":\"a\\n  b\\n\\nc\\n\",\"cut\":\"a\\nb\",\"keep\":\"a\\n\\n\"}",
         "script: |\n  a\n    b\n\n  c\ncut: |-\n  a\n  b\nkeep: |+\n  a\n\n"},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_object *tree = read(arena, cases[i].json);
        assert_string_equal(yaml_text(arena, tree), cases[i].yaml);
        if (tree)
            assert_reads_back(arena, tree);
    }
    arena_free(arena);
}

static void odd_strings_read_back(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        " ",
        "a ",
        " a",
        "a: b",
        "a:",
        ":a",
        "a #b",
        "#a",
        "a#b",
        "- a",
        "-",
        "--",
        "---",
        "--- a",
        "...",
        "--x",
        "-1",
        "? a",
        "?",
        "*a",
        "&a",
        "!a",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "'a'",
        "\"a\"",
        "[a",
        "{a",
        "a]",
        "a, b",
        "<<",
        "=",
        "~",
        "null",
        "true",
        "off",
        "1",
        "1.0",
        "0x1",
        "1e3",
        ".inf",
        "\n",
        "\n\n",
        "a\n",
        "a\n\n",
        "\na",
        " a\nb",
        "a\n b",
        "a\n\n\nb",
        "\ta",
        "a\tb",
        "a\tb\nc",
        "a\r\nb",
        "a\rb",
        "\x01",
        "\x7f",
        "\xc2\x85",
        "\xe2\x80\xa8 x",
        ("\xef\xbb\xbf"
         "a"), /* a byte order mark */
        "\xef\xbf\xbe",
        "\xc3\xa9t\xc3\xa9",
        "\xf0\x9f\x98\x80",
        "a\\b",
        "a\"b",
        "a'b",
        "a\n---\nb",
        "# a\nb",
        "a\n# b\n",
        "a\\\nb",
        "trailing \nx",
        "x\n ",
        "--port=80",
        "-v",
        "(a)",
        "a: |",
        "key: value\nother: value\n",
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_object *text = json_own(arena, json_object_new_string(cases[i]));
        assert_reads_back(arena, text);
        struct json_object *obj = json_own(arena, json_object_new_object());
        json_set(obj, cases[i], text);
        json_set(json_sub(obj, "in"), "x", text);
        assert_reads_back(arena, obj);
        struct json_object *array = json_own(arena, json_object_new_array());
        json_object_array_add(array, json_object_get(text));
        json_object_array_add(array, json_object_get(obj));
        assert_reads_back(arena, array);
    }
    arena_free(arena);
}

static void every_character_reads_back(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (uint32_t code = 1; code < 0x11000; code += code < 0x3000 ? 1 : 61) {
        char text[16] = "x";
        if (code >= 0xd800 && code < 0xe000)
            continue;
        size_t len = 1 + utf8_encode(code, text + 1);
        text[len] = 'y';
        struct json_object *obj = json_own(arena, json_object_new_object());
        json_set_str(obj, text, text + 1);
        assert_reads_back(arena, obj);
        arena_reset(arena);
    }
    arena_free(arena);
}

static void long_keys_and_nul_read_back(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct json_object *list = json_own(arena, json_object_new_array());
    char key[2000];
    memset(key, 'k', sizeof(key));
    for (size_t len = 100; len < sizeof(key); len += 211) {
        struct json_object *obj = json_object_new_object();
        json_object_array_add(list, obj);
        const char *name = arena_strndup(arena, key, len);
        json_set_int(json_sub(obj, name), name, 1);
        json_set_str(obj, "nul", "x");
        json_object_object_add(obj, name + 1, json_object_new_string_len("a\0b", 3));
    }
    assert_reads_back(arena, list);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_block_style),
        cmocka_unit_test(odd_strings_read_back),
        cmocka_unit_test(every_character_reads_back),
        cmocka_unit_test(long_keys_and_nul_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
