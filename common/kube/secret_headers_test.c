#include "kube/secret.h"

#include <string.h>

#include "base/encoding.h"
#include "test/unit.h"

/* A Secret of "key=value" pairs; the values are encoded here. */
static struct json_object *secret(struct arena *arena, const char *const *pairs)
{
    struct json_object *object = json_own(arena, json_object_new_object());
    struct json_object *data = json_sub(object, "data");

    json_set_str(json_sub(json_sub(object, "metadata"), "labels"), "flagger.app/headers", "true");
    for (; *pairs; pairs++) {
        const char *equal = strchr(*pairs, '=');
        json_set_str(data, arena_strndup(arena, *pairs, (size_t)(equal - *pairs)),
                     base64_encode(arena, equal + 1, strlen(equal + 1)));
    }
    return object;
}

CASE(test_keys_become_headers)
{
    struct secret_headers headers = {0};
    struct errinfo ei;
    static const char *const one[] = {"Authorization=Bearer abc", "X-Empty=", NULL};
    static const char *const two[] = {"X-Team=a\tb", "authorization=Basic xyz", NULL};

    assert_int_equal(secret_headers_add(&headers, arena, "one.test", secret(arena, one), &ei),
                     ERR_OK);
    assert_int_equal(headers.count, 2);
    assert_string_equal(headers.list[0].name, "Authorization");
    assert_string_equal(headers.list[0].value, "Bearer abc");
    assert_string_equal(headers.list[1].value, "");
    /* the later one counts */
    assert_int_equal(secret_headers_add(&headers, arena, "two.test", secret(arena, two), &ei),
                     ERR_OK);
    assert_int_equal(headers.count, 3);
    assert_string_equal(headers.list[0].value, "Basic xyz");
    assert_string_equal(headers.list[2].value, "a\tb");
    assert_null(headers.list[3].name);
}

CASE(test_what_is_no_header)
{
    static const struct {
        const char *secret; /* JSON */
        const char *told;
    } cases[] = {
        {"{}", "Secret s.test has no keys"},
        {"{\"data\":{}}", "Secret s.test has no keys"},
        {"{\"data\":[]}", "Secret s.test has no keys"},
        {"{\"data\":{\"a b\":\"aGlkZGVu\"}}", "Secret s.test: key \"a b\" is no name of a header"},
        {"{\"data\":{\"\":\"aGlkZGVu\"}}", "Secret s.test: key \"\" is no name of a header"},
        {"{\"data\":{\"a:\":\"aGlkZGVu\"}}", "Secret s.test: key \"a:\" is no name of a header"},
        {"{\"data\":{\"a\\r\\nb\":\"aGlkZGVu\"}}", "is no name of a header"},
        {"{\"data\":{\"content-length\":\"aGlkZGVu\"}}",
         "Secret s.test: key content-length is a header that cannot be set"},
        {"{\"data\":{\"Host\":\"aGlkZGVu\"}}",
         "Secret s.test: key Host is a header that cannot be set"},
        {"{\"data\":{\"content-type\":\"aGlkZGVu\"}}", "is a header that cannot be set"},
        {"{\"data\":{\"proxy-authorization\":\"aGlkZGVu\"}}", "is a header that cannot be set"},
        {"{\"data\":{\"a\":\"hidden!\"}}", "Secret s.test: the value of key a is not base64"},
        {"{\"data\":{\"a\":7}}", "Secret s.test: the value of key a is not base64"},
        {"{\"data\":{\"a\":null}}", "Secret s.test: the value of key a is not base64"},
        /* hidden\n, hidden\r, hid\0den, hidden\x7f */
        {"{\"data\":{\"a\":\"aGlkZGVuCg==\"}}", "Secret s.test: the value of key a has a line"},
        {"{\"data\":{\"a\":\"aGlkZGVuDQ==\"}}", "control character"},
        {"{\"data\":{\"a\":\"aGlkAGRlbg==\"}}", "control character"},
        {"{\"data\":{\"a\":\"aGlkZGVufw==\"}}", "control character"},
    };

    EACH_ROW (row, cases) {
        struct secret_headers headers = {0};
        struct json_object *object;
        struct errinfo ei;
        assert_int_equal(json_parse(arena, row->secret, strlen(row->secret), 4096, &object, &ei),
                         ERR_OK);
        json_set_str(json_sub(json_sub(object, "metadata"), "labels"), "flagger.app/headers",
                     "true");
        assert_int_equal(secret_headers_add(&headers, arena, "s.test", object, &ei), ERR_INVALID);
        if (!strstr(ei.text, row->told))
            fail_msg("%s and not %s", ei.text, row->told);
        assert_null(strstr(ei.text, "hid"));
    }
}

CASE(test_which_secrets_are_meant)
{
    static const struct {
        const char *secret, *told; /* NULL if valid */
    } cases[] = {
        {"{\"data\":{\"Authorization\":\"YQ==\",\"x-team\":\"YQ==\"}}", NULL},
        {"{\"type\":\"Opaque\",\"data\":{\"authorization\":\"YQ==\"}}", NULL},
        {"{\"data\":{\"password\":\"YQ==\"}}", "flagger.app/headers"},
        {"{\"data\":{\"Authorization\":\"YQ==\",\"db\":\"YQ==\"}}", "for key db"},
        {"{\"metadata\":{\"labels\":{\"flagger.app/"
         "headers\":\"true\"}},\"data\":{\"Api-Key\":\"YQ==\"}}",
         NULL},
        {"{\"metadata\":{\"labels\":{\"flagger.app/"
         "headers\":\"false\"}},\"data\":{\"Api-Key\":\"YQ==\"}}",
         "expected its label"},
        {"{\"type\":\"kubernetes.io/dockerconfigjson\",\"metadata\":{\"labels\":{\"flagger.app/"
         "headers\":"
         "\"true\"}},\"data\":{\".dockerconfigjson\":\"YQ==\"}}",
         "is never sent as headers"},
        {"{\"type\":\"kubernetes.io/service-account-token\",\"data\":{\"token\":\"YQ==\"}}",
         "is never sent as headers"},
    };

    EACH_ROW (row, cases) {
        struct secret_headers headers = {0};
        struct json_object *object;
        struct errinfo ei;
        assert_int_equal(json_parse(arena, row->secret, strlen(row->secret), 4096, &object, &ei),
                         ERR_OK);
        assert_int_equal(secret_headers_add(&headers, arena, "s.test", object, &ei),
                         row->told ? ERR_INVALID : ERR_OK);
        if (row->told)
            assert_non_null(strstr(ei.text, row->told));
    }
}

CASE(test_bounds)
{
    struct errinfo ei;

    for (int over = 0; over < 2; over++) {
        struct secret_headers headers = {0};
        struct json_object *many = json_own(arena, json_object_new_object());
        json_set_str(json_sub(json_sub(many, "metadata"), "labels"), "flagger.app/headers", "true");
        for (int i = 0; i < SECRET_HEADERS_MAX + over; i++)
            json_set_str(json_sub(many, "data"), arena_printf(arena, "h%d", i), "");
        assert_int_equal(secret_headers_add(&headers, arena, "s.test", many, &ei),
                         over ? ERR_INVALID : ERR_OK);
        assert_null(headers.list[headers.count].name);
    }
    for (int over = 0; over < 2; over++) {
        struct secret_headers headers = {0};
        struct json_object *large = json_own(arena, json_object_new_object());
        json_set_str(json_sub(json_sub(large, "metadata"), "labels"), "flagger.app/headers",
                     "true");
        size_t len = SECRET_HEADERS_MAX_BYTES - 1 + (size_t)over;
        char *value = arena_alloc(arena, len);
        memset(value, 'x', len);
        json_set_str(json_sub(large, "data"), "a", base64_encode(arena, value, len));
        assert_int_equal(secret_headers_add(&headers, arena, "s.test", large, &ei),
                         over ? ERR_INVALID : ERR_OK);
    }
}

CASE(test_values_are_struck_out)
{
    struct secret_headers headers = {0};
    struct errinfo ei;
    static const char *const pairs[] = {"Authorization=Bearer s3cret-token", "X-Key=kkkk", "X-V=1",
                                        "X-Empty=", NULL};

    assert_int_equal(secret_headers_add(&headers, arena, "s.test", secret(arena, pairs), &ei),
                     ERR_OK);
    assert_string_equal(secret_headers_redact(&headers, arena,
                                              "you sent Bearer s3cret-token, that is s3cret-token, "
                                              "kkkkkkkk and 1"),
                        "you sent ***, that is ***, ****** and 1");
    assert_string_equal(secret_headers_redact(&headers, arena, ""), "");
}

CASE(test_a_list_of_headers)
{
    static const struct {
        const char *text;
        const char *list; /* "NAME=VALUE|..." */
    } cases[] = {
        {"", ""},
        {" , \n,", ""},
        {"Authorization=Bearer abc", "Authorization=Bearer abc"},
        {"Authorization=Bearer%20abc\n", "Authorization=Bearer abc"},
        {"api-key=a=b==,X-Team = blue%2Cgreen%25 ", "api-key=a=b==|X-Team=blue,green%"},
        {"a=1\r\nb=2\r\n", "a=1|b=2"},
        {"a=1,A=2", "A=2"}, /* the later one counts */
        {"empty=", "empty="},
        {"a=%C3%a4", "a=\xc3\xa4"},
    };

    EACH_ROW (row, cases) {
        struct secret_headers headers = {0};
        struct errinfo ei = {0};
        const char *list = "";
        if (secret_headers_parse(&headers, arena, row->text, &ei) != ERR_OK)
            fail_msg("%s: %s", row->text, ei.text);
        for (int i = 0; i < headers.count; i++)
            list = arena_printf(arena, "%s%s%s=%s", list, i > 0 ? "|" : "", headers.list[i].name,
                                headers.list[i].value);
        assert_string_equal(list, row->list);
        assert_null(headers.list[headers.count].name);
    }
}

CASE(test_what_is_no_list_of_headers)
{
    const char *many = "";
    char large[SECRET_HEADERS_MAX_BYTES + 3];
    for (int i = 0; i <= SECRET_HEADERS_MAX; i++)
        many = arena_printf(arena, "%sh%d=,", many, i);
    memset(large, 'x', sizeof(large) - 1);
    large[1] = '=';
    large[sizeof(large) - 1] = '\0';
    const struct {
        const char *text, *told;
    } cases[] = {
        {"hidden", "header 1: expected NAME=VALUE"},
        {"a=b,,hidden", "header 2: expected NAME=VALUE"},
        {"a b=hidden", "header 1: expected the name of a header in front of ="},
        {"=hidden", "header 1: expected the name of a header in front of ="},
        {"host=hidden", "header 1: host is a header that cannot be set"},
        {"a=b\nContent-Type=hidden", "header 2: Content-Type is a header that cannot be set"},
        {"a=hidden%", "header 1: the value of a has a % without two hexadecimal digits behind it; "
                      "a % itself is %25"},
        {"a=hidden%2", "header 1: the value of a has a % without two"},
        {"a=hidden%x2", "header 1: the value of a has a % without two"},
        {"a=hidden%0d%0ab: c", "header 1: the value of a has a line break or another control"},
        {"a=hidden%00", "header 1: the value of a has a line break or another control"},
        {many, "header 33: more than 32 headers"},
        {large, "header 1: the headers are longer than 16384 bytes"},
    };

    EACH_ROW (row, cases) {
        struct secret_headers headers = {0};
        struct errinfo ei = {0};
        assert_int_equal(secret_headers_parse(&headers, arena, row->text, &ei), ERR_INVALID);
        if (!strstr(ei.text, row->told))
            fail_msg("%s and not %s", ei.text, row->told);
        assert_null(strstr(ei.text, "hidden"));
    }
}
