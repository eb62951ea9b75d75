#include <stdlib.h>
#include <string.h>

#include "proto/webhook_message.h"
#include "test/rows.h"
#include "test/unit.h"

CASE(test_text_has_the_keys_in_order)
{
    static const struct {
        const char *metadata, *name, *text;
    } cases[] = {
        {NULL, "podinfo",
         "{\"name\":\"podinfo\",\"namespace\":\"test\",\"phase\":\"Progressing\","
         "\"checksum\":\"758df7c9fc\"}"},
        {"{}", "podinfo",
         "{\"name\":\"podinfo\",\"namespace\":\"test\",\"phase\":\"Progressing\","
         "\"checksum\":\"758df7c9fc\"}"},
        {"{\"type\":\"cmd\",\"cmd\":\"hey -z 1m \\\"x\\\"\"}", "a\"b",
         "{\"name\":\"a\\\"b\",\"namespace\":\"test\",\"phase\":\"Progressing\","
         "\"checksum\":\"758df7c9fc\",\"metadata\":{\"cmd\":\"hey -z 1m \\\"x\\\"\","
         "\"type\":\"cmd\"}}"},
    };
    const struct webhook_message of_release = {.name = "podinfo",
                                               .namespace_ = "test",
                                               .phase = "Waiting",
                                               .checksum = "c",
                                               .release = "2026-01-01T00:00:00Z"};
    assert_string_equal(webhook_text(arena, &of_release),
                        "{\"name\":\"podinfo\",\"namespace\":\"test\",\"phase\":\"Waiting\","
                        "\"checksum\":\"c\",\"release\":\"2026-01-01T00:00:00Z\"}");
    struct webhook_message of_step = of_release;
    of_step.step = "weight 20";
    assert_string_equal(webhook_text(arena, &of_step),
                        "{\"name\":\"podinfo\",\"namespace\":\"test\",\"phase\":\"Waiting\","
                        "\"checksum\":\"c\",\"release\":\"2026-01-01T00:00:00Z\","
                        "\"step\":\"weight 20\"}");
    EACH_ROW (row, cases) {
        struct webhook_message message = {
            .name = row->name,
            .namespace_ = "test",
            .phase = "Progressing",
            .checksum = "758df7c9fc",
            .metadata = row->metadata != NULL ? rows_json(arena, row->metadata) : NULL,
        };
        assert_string_equal(webhook_text(arena, &message), row->text);
    }
}

CASE(test_what_is_written_is_read)
{
    struct webhook_message in = {
        .name = "podinfo",
        .namespace_ = "test",
        .phase = "Waiting",
        .checksum = "c",
        .metadata = rows_json(arena, "{\"cmd\":\"a\\n\\tb\",\"type\":\"bash\"}"),
        .release = "r",
        .step = "iteration 3",
    };
    const char *text = webhook_text(arena, &in);
    struct webhook_message out;
    assert_int_equal(webhook_parse(arena, text, strlen(text), &out, NULL), ERR_OK);
    assert_string_equal(out.name, "podinfo");
    assert_string_equal(out.namespace_, "test");
    assert_string_equal(out.phase, "Waiting");
    assert_string_equal(out.checksum, "c");
    assert_string_equal(out.release, "r");
    assert_string_equal(out.step, "iteration 3");
    assert_string_equal(webhook_metadata(&out, "cmd"), "a\n\tb");
    assert_null(webhook_metadata(&out, "absent"));
}

CASE(test_fields_may_be_missing)
{
    static const char *const bodies[] = {
        "{}",
        "{\"name\":null,\"metadata\":null}",
        "{\"metadata\":{\"type\":null}}",
        "{\"unknown\":[1,2,{}],\"eventMessage\":3}",
    };
    EACH_ROW (row, bodies) {
        struct webhook_message out;
        assert_int_equal(webhook_parse(arena, *row, strlen(*row), &out, NULL), ERR_OK);
        assert_string_equal(out.name, "");
        assert_string_equal(out.namespace_, "");
        assert_null(webhook_metadata(&out, "type"));
    }
}

CASE(test_mistakes_name_the_field)
{
    static const struct {
        const char *body, *message;
    } cases[] = {
        {"", "webhook message: "},
        {"{", "webhook message: line 1"},
        {"[]", "webhook message: expected an object such as {\"name\":\"podinfo\""},
        {"null", "webhook message: expected an object such as {\"name\":\"podinfo\""},
        {"{\"name\":1}", "webhook message: name: expected a string, found 1"},
        {"{\"namespace\":[]}", "webhook message: namespace: expected a string, found an array"},
        {"{\"phase\":true}", "webhook message: phase: expected a string, found true"},
        {"{\"checksum\":{}}", "webhook message: checksum: expected a string, found an object"},
        {"{\"metadata\":\"x\"}", "webhook message: metadata: expected an object, found \"x\""},
        {"{\"metadata\":{\"cmd\":[\"a\"]}}",
         "webhook message: metadata.cmd: expected a string, found [\"a\"]"},
    };
    EACH_ROW (row, cases) {
        struct webhook_message out;
        struct errinfo ei = {0};
        assert_int_equal(webhook_parse(arena, row->body, strlen(row->body), &out, &ei),
                         ERR_INVALID);
        if (strncmp(ei.text, row->message, strlen(row->message)) != 0)
            fail_msg("%s: \"%s\", expected \"%s\"", row->body, ei.text, row->message);
        assert_string_equal(out.name, "");
    }
}

CASE(test_a_body_has_a_maximum)
{
    size_t len = WEBHOOK_MAX_BYTES + 1;
    char *body = malloc(len);
    memset(body, ' ', len);
    body[0] = '{';
    body[len - 1] = '}';
    struct webhook_message out;
    struct errinfo ei;
    assert_int_equal(webhook_parse(arena, body, len, &out, &ei), ERR_INVALID);
    body[len - 2] = '}';
    assert_int_equal(webhook_parse(arena, body, len - 1, &out, &ei), ERR_OK);
    free(body);
}

CASE(test_booleans_as_go_reads_them)
{
    static const struct {
        const char *text;
        enum err err;
        bool value;
    } cases[] = {
        {"1", ERR_OK, true},        {"t", ERR_OK, true},      {"T", ERR_OK, true},
        {"true", ERR_OK, true},     {"TRUE", ERR_OK, true},   {"True", ERR_OK, true},
        {"0", ERR_OK, false},       {"f", ERR_OK, false},     {"F", ERR_OK, false},
        {"false", ERR_OK, false},   {"FALSE", ERR_OK, false}, {"False", ERR_OK, false},
        {"yes", ERR_INVALID, true}, {"", ERR_INVALID, true},  {"tRUE", ERR_INVALID, true},
    };
    EACH_ROW (row, cases) {
        struct webhook_message message = {.metadata = json_own(arena, json_object_new_object())};
        json_set_str(message.metadata, "logCmdOutput", row->text);
        struct errinfo ei = {0};
        bool value;
        assert_int_equal(webhook_metadata_bool(&message, "logCmdOutput", true, &value, &ei),
                         row->err);
        assert_int_equal(value, row->value);
        if (row->err != ERR_OK)
            assert_non_null(
                strstr(ei.text, "metadata.logCmdOutput: expected \"true\" or \"false\""));
        assert_int_equal(webhook_metadata_bool(&message, "absent", false, &value, &ei), ERR_OK);
        assert_false(value);
    }
}

CASE(which_answers_let_a_release_go_on)
{
    static const int all[] = {200, 201, 202, 204};
    int count = 0;

    EACH_ROW (row, all)
        assert_true(webhook_passes(*row));
    for (int status = 0; status < 600; status++)
        count += webhook_passes(status);
    assert_int_equal(count, 4);
}
