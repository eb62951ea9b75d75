/* task types: what a webhook's metadata becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "loadtester/task.h"

static const struct {
    const char *metadata;
    const char *type;  /* NULL: no such type */
    const char *error; /* NULL: it can be run */
    const char *shell, *text;
    bool log_output, return_output;
} cases[] = {
    {"{\"cmd\":\"x\"}", "cmd", NULL, "sh", "x", false, false},
    {"{\"type\":\"\",\"cmd\":\"x\"}", "cmd", NULL, "sh", "x", false, false},
    {"{\"type\":\"cmd\",\"cmd\":\"x y\",\"logCmdOutput\":\"true\"}", "cmd", NULL, "sh", "x y", true,
     false},
    {"{\"type\":\"bash\",\"cmd\":\"x\",\"returnCmdOutput\":\"true\"}", "bash", NULL, "bash", "x",
     false, true},
    {"{\"type\":\"bash\",\"cmd\":\"x\"}", "bash", NULL, "bash", "x", false, false},
    {"{\"type\":\"cmd\"}", "cmd", "cmd not found in metadata", NULL, NULL, false, false},
    {"{\"type\":\"bash\",\"cmd\":\"\"}", "bash", "cmd not found in metadata", NULL, NULL, false,
     false},
    {"{\"type\":\"cmd\",\"cmd\":\"x\",\"logCmdOutput\":\"maybe\"}", "cmd", "logCmdOutput", NULL,
     NULL, false, false},
    {"{\"type\":\"tanka\",\"cmd\":\"x\"}", NULL, NULL, NULL, NULL, false, false},
    {"{\"type\":\"CMD\",\"cmd\":\"x\"}", NULL, NULL, NULL, NULL, false, false},
};

static void metadata_becomes_a_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena *arena = arena_new();
        struct errinfo info = {0};
        struct webhook_message message;
        const char *body = arena_printf(
            arena, "{\"name\":\"a\",\"namespace\":\"b\",\"metadata\":%s}", cases[i].metadata);
        assert_int_equal(webhook_parse(arena, body, strlen(body), &message, &info), ERR_OK);
        const struct task_type *type = task_type_find(webhook_metadata(&message, "type"));
        if (!cases[i].type) {
            assert_null(type);
            arena_free(arena);
            continue;
        }
        assert_non_null(type);
        assert_string_equal(type->name, cases[i].type);
        assert_int_equal(type->blocking, strcmp(type->name, "bash") == 0);
        struct task_command command = {0};
        enum err err = type->make(arena, &message, &command, &info);
        if (cases[i].error) {
            assert_int_equal(err, ERR_INVALID);
            assert_non_null(strstr(info.text, cases[i].error));
        } else {
            assert_int_equal(err, ERR_OK);
            assert_string_equal(command.argv[0], cases[i].shell);
            assert_string_equal(command.argv[1], "-c");
            assert_string_equal(command.argv[2], cases[i].text);
            assert_null(command.argv[3]);
            assert_string_equal(command.text, cases[i].text);
            assert_int_equal(command.log_output, cases[i].log_output);
            assert_int_equal(command.return_output, cases[i].return_output);
        }
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(metadata_becomes_a_command)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
