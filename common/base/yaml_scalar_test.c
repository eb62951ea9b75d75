#include "base/yaml_scalar.h"

#include <string.h>

#include "base/json.h"
#include "test/unit.h"

/* The plain scalars were compared with sigs.k8s.io/yaml 1.6.0. */
CASE(plain_scalars_have_types)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "null"},
        {"~", "null"},
        {"null", "null"},
        {"Null", "null"},
        {"nULL", "\"nULL\""},
        {"true", "true"},
        {"True", "true"},
        {"tRUE", "\"tRUE\""},
        {"y", "true"},
        {"Yes", "true"},
        {"on", "true"},
        {"off", "false"},
        {"n", "false"},
        {"NO", "false"},
        {"oN", "\"oN\""},
        {"0", "0"},
        {"-1", "-1"},
        {"+1", "1"},
        {"1_000", "1000"},
        {"_1", "\"_1\""},
        {"0x1F", "31"},
        {"0X1f", "31"},
        {"+0x1f", "31"},
        {"0b101", "5"},
        {"-0b11", "-3"},
        {"0o17", "15"},
        {"017", "15"},
        {"0777", "511"},
        {"08", "8"},
        {"0o8", "\"0o8\""},
        {"0x", "\"0x\""},
        {"0b2", "\"0b2\""},
        {"1.0", "1"},
        {"1.", "1"},
        {".5", "0.5"},
        {"-.5", "-0.5"},
        {"+.5", "0.5"},
        {".", "\".\""},
        {"1e3", "1000"},
        {"1.5E-3", "0.0015"},
        {"1e", "\"1e\""},
        {"1e+", "\"1e+\""},
        {"._5", "\"._5\""},
        {"1_0.5_0", "10.5"},
        {"1e400", "\"1e400\""},
        {"0x1.8p3", "\"0x1.8p3\""},
        {"infinity", "\"infinity\""},
        {"nan", "\"nan\""},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "9223372036854775808"},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", "1.8446744073709552e+19"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"+9223372036854775808", "9.223372036854776e+18"},
        {"0xffffffffffffffff", "18446744073709551615"},
        {"0x10000000000000000", "\"0x10000000000000000\""},
        {"2026-11-20", "\"2026-11-20\""},
        {"1:20:30", "\"1:20:30\""},
        {"-", "\"-\""},
        {"10s", "\"10s\""},
        {"1.2.3", "\"1.2.3\""},
        {"--1", "\"--1\""},
        {"=", "\"=\""},
        {"<<", "\"<<\""},
    };
    EACH_ROW (row, cases) {
        struct json_object *value = NULL;
        size_t len = strlen(row->text);
        assert_null(yaml_scalar(arena, row->text, len, NULL, true, &value));
        assert_string_equal(json_text(arena, json_own(arena, value)), row->json);
        assert_null(yaml_scalar(arena, row->text, len, NULL, false, &value));
        assert_string_equal(json_object_get_string(json_own(arena, value)), row->text);
    }
}

CASE(tags_decide)
{
    static const struct {
        const char *tag, *text;
        bool plain;
        const char *json, *error;
    } cases[] = {
        {"tag:yaml.org,2002:str", "5", true, "\"5\"", NULL},
        {"tag:yaml.org,2002:str", "", true, "\"\"", NULL},
        {"tag:yaml.org,2002:int", "5", false, "5", NULL},
        {"tag:yaml.org,2002:int", "x", true, NULL, "a whole number behind !!int"},
        {"tag:yaml.org,2002:int", "1.5", true, NULL, "a whole number behind !!int"},
        {"tag:yaml.org,2002:float", "3", true, "3", NULL},
        {"tag:yaml.org,2002:float", "2.5", false, "2.5", NULL},
        {"tag:yaml.org,2002:float", ".inf", true, NULL, "a number behind !!float"},
        {"tag:yaml.org,2002:bool", "yes", true, "true", NULL},
        {"tag:yaml.org,2002:bool", "1", true, NULL, "true or false behind !!bool"},
        {"tag:yaml.org,2002:null", "", true, "null", NULL},
        {"tag:yaml.org,2002:null", "x", true, NULL, "null behind !!null"},
        {"tag:yaml.org,2002:binary", "aGVsbG8=", true, "\"hello\"", NULL},
        {"tag:yaml.org,2002:binary", "!", true, NULL, "base64 behind !!binary"},
        {"tag:yaml.org,2002:binary", "/w==", true, NULL, "base64 of UTF-8 text behind !!binary"},
        {"tag:yaml.org,2002:timestamp", "2026-11-20", true, "\"2026-11-20\"", NULL},
        {"!own", "5", true, "\"5\"", NULL},
        {"", "5", true, "5", NULL},
        {NULL, ".nan", true, NULL, "a number that JSON can hold"},
    };
    EACH_ROW (row, cases) {
        struct json_object *value = NULL;
        const char *error =
            yaml_scalar(arena, row->text, strlen(row->text), row->tag, row->plain, &value);
        json_own(arena, value);
        if (row->error)
            assert_string_equal(error, row->error);
        else
            assert_string_equal(json_text(arena, value), row->json);
        assert_int_equal(error == NULL, row->error == NULL);
    }
}

CASE(bytes_are_kept)
{
    struct json_object *value = NULL;
    assert_null(yaml_scalar(arena, "1\0", 2, NULL, true, &value));
    assert_int_equal(json_object_get_string_len(json_own(arena, value)), 2);
    char digits[2000];
    memset(digits, '1', sizeof(digits));
    assert_null(yaml_scalar(arena, digits, sizeof(digits), NULL, true, &value));
    assert_int_equal(json_object_get_string_len(json_own(arena, value)), 2000);
}
