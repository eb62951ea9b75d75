#include "base/base64.h"
#include "test/unit.h"

#include <string.h>

CASE(vectors_of_rfc_4648)
{
    static const struct {
        const char *plain, *coded;
    } cases[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *out = NULL;
        size_t len = 99;
        assert_string_equal(base64_encode(arena, cases[i].plain, strlen(cases[i].plain)),
                            cases[i].coded);
        assert_int_equal(base64_decode(arena, cases[i].coded, &out, &len, NULL), ERR_OK);
        assert_int_equal(len, strlen(cases[i].plain));
        assert_string_equal(out, cases[i].plain);
    }
    arena_free(arena);
}

CASE(every_byte_survives)
{
    struct arena *arena = arena_new();
    unsigned char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    char *out = NULL;
    size_t len = 0;
    assert_int_equal(base64_decode(arena, base64_encode(arena, all, 256), &out, &len, NULL),
                     ERR_OK);
    assert_int_equal(len, 256);
    assert_memory_equal(out, all, 256);
    arena_free(arena);
}

CASE(white_space_is_allowed_and_rubbish_is_not)
{
    static const struct {
        const char *text;
        enum err err;
    } cases[] = {
        {"Zm9v\nYmFy\n", ERR_OK}, {"Zm9v YmE=", ERR_OK},     {"Zm9", ERR_INVALID},
        {"Zm9v!", ERR_INVALID},   {"Zg==Zg==", ERR_INVALID}, {"Z===", ERR_INVALID},
        {"====", ERR_INVALID},    {"Zm9\xff", ERR_INVALID},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *out = NULL;
        struct errinfo ei = {0};
        assert_int_equal(base64_decode(arena, cases[i].text, &out, NULL, &ei), cases[i].err);
        if (cases[i].err != ERR_OK)
            assert_non_null(strstr(ei.text, "not base64"));
    }
    arena_free(arena);
}

CASE(url_alphabet_has_one_spelling)
{
    static const struct {
        const char *plain, *coded;
        size_t len;
    } cases[] = {
        {"", "", 0},
        {"f", "Zg", 1},
        {"fo", "Zm8", 2},
        {"foo", "Zm9v", 3},
        {"\xfb\xff\xfe\x3e", "-__-Pg", 4},
    };
    struct arena *arena = arena_new();
    char *out = NULL;
    size_t len = 99;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *coded = cases[i].coded;
        assert_string_equal(base64url_encode(arena, cases[i].plain, cases[i].len), coded);
        assert_int_equal(base64url_decode(arena, coded, strlen(coded), &out, &len, NULL), ERR_OK);
        assert_int_equal(len, cases[i].len);
        assert_memory_equal(out, cases[i].plain, len);
    }
    /* Padding, the other alphabet, white space, and bits that carry nothing. */
    static const char *const wrong[] = {"Zg==", "+//+Pg", "Zm 9v", "Zm9v\n",
                                        "Z",    "Zh",     "Zm9",   "Zm9vA"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct errinfo ei = {0};
        assert_int_equal(base64url_decode(arena, wrong[i], strlen(wrong[i]), &out, &len, &ei),
                         ERR_INVALID);
        assert_non_null(strstr(ei.text, "not base64url"));
    }
    arena_free(arena);
}
