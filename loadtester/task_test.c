/* task types: plans made from a webhook's metadata. */

#include <string.h>

#include "loadtester/task.h"
#include "test/unit.h"

static const struct {
    const char *metadata;
    const char *type;  /* NULL: no such type */
    const char *error; /* NULL if it can be run */
    const char *argv;  /* joined with '|' */
    const char *text;
    bool log_output, return_output, return_value;
} cases[] = {
    {"{\"cmd\":\"x\"}", "cmd", NULL, "sh|-c|x", "x", false, false, false},
    {"{\"type\":\"\",\"cmd\":\"x\"}", "cmd", NULL, "sh|-c|x", "x", false, false, false},
    {"{\"type\":\"cmd\",\"cmd\":\"x y\",\"logCmdOutput\":\"true\"}", "cmd", NULL, "sh|-c|x y",
     "x y", true, false, false},
    {"{\"type\":\"bash\",\"cmd\":\"x\",\"returnCmdOutput\":\"true\"}", "bash", NULL, "bash|-c|x",
     "x", false, true, false},
    {"{\"type\":\"bash\",\"cmd\":\"x\"}", "bash", NULL, "bash|-c|x", "x", false, false, false},
    {"{\"type\":\"cmd\"}", "cmd", "cmd not found in metadata", NULL, NULL, false, false, false},
    {"{\"type\":\"bash\",\"cmd\":\"\"}", "bash", "cmd not found in metadata", NULL, NULL, false,
     false, false},
    {"{\"type\":\"cmd\",\"cmd\":\"x\",\"logCmdOutput\":\"maybe\"}", "cmd", "logCmdOutput", NULL,
     NULL, false, false, false},
    {"{\"type\":\"helm\",\"cmd\":\"test podinfo -n 'a b'\"}", "helm", NULL,
     "helm|test|podinfo|-n|a b", "test podinfo -n 'a b'", false, false, false},
    {"{\"type\":\"helmv3\",\"cmd\":\"version\"}", "helmv3", NULL, "helm|version", "version", false,
     false, false},
    {"{\"type\":\"helm\",\"cmd\":\"version\",\"helmVersion\":\"v3\"}", "helm", NULL, "helm|version",
     "version", false, false, false},
    {"{\"type\":\"helmv3\",\"cmd\":\"version\",\"helmVersion\":\"2.17\"}", "helmv3",
     "metadata.helmVersion: only version 3 is here, found \"2.17\"", NULL, NULL, false, false,
     false},
    {"{\"type\":\"kubectl\",\"cmd\":\"get pods\",\"returnCmdOutput\":\"true\"}", "kubectl", NULL,
     "kubectl|get|pods", "get pods", false, true, false},
    {"{\"type\":\"kubectl\",\"cmd\":\"get pods | sh\"}", "kubectl",
     "cmd is run by kubectl, without a shell: '|' at character 10 needs a shell", NULL, NULL, false,
     false, false},
    {"{\"cmd\":\"x\",\"returnValue\":\"true\"}", "cmd", NULL, "sh|-c|x", "x", false, false, true},
    {"{\"type\":\"kubectl\",\"cmd\":\"get pods\",\"returnValue\":\"1\"}", "kubectl", NULL,
     "kubectl|get|pods", "get pods", false, false, true},
    {"{\"cmd\":\"x\",\"returnValue\":\"12\"}", "cmd", "metadata.returnValue: expected", NULL, NULL,
     false, false, false},
    {"{\"cmd\":\"x\",\"returnValue\":\"true\",\"returnCmdOutput\":\"true\"}", "cmd",
     "metadata.returnValue: expected without returnCmdOutput: a reply has one body", NULL, NULL,
     false, false, false},
    {"{\"cmd\":\"x\",\"returnValue\":\"true\",\"maxP99\":\"1s\"}", "cmd",
     "metadata.returnValue: expected without failOnError, maxErrorRate and maxP99, which are for "
     "the next check",
     NULL, NULL, false, false, false},
    {"{\"cmd\":\"x\",\"failOnError\":\"maybe\"}", "cmd", "metadata.failOnError", NULL, NULL, false,
     false, false},
    {"{\"cmd\":\"x\",\"maxErrorRate\":\"101\"}", "cmd",
     "metadata.maxErrorRate: expected a percentage", NULL, NULL, false, false, false},
    {"{\"cmd\":\"x\",\"maxErrorRate\":\"%\"}", "cmd", "metadata.maxErrorRate", NULL, NULL, false,
     false, false},
    {"{\"cmd\":\"x\",\"maxErrorRate\":\"nan\"}", "cmd", "metadata.maxErrorRate", NULL, NULL, false,
     false, false},
    {"{\"cmd\":\"x\",\"maxP99\":\"fast\"}", "cmd", "metadata.maxP99: expected a duration", NULL,
     NULL, false, false, false},
    {"{\"cmd\":\"x\",\"maxP99\":\"0s\"}", "cmd", "metadata.maxP99", NULL, NULL, false, false,
     false},
    {"{\"type\":\"tanka\",\"cmd\":\"x\"}", NULL, NULL, NULL, NULL, false, false, false},
    {"{\"type\":\"CMD\",\"cmd\":\"x\"}", NULL, NULL, NULL, NULL, false, false, false},
};

static const char *join(struct arena *arena, const char *const *words)
{
    const char *text = "";
    for (size_t i = 0; words[i]; i++)
        text = arena_printf(arena, "%s%s%s", text, i ? "|" : "", words[i]);
    return text;
}

static const struct task_policy anything = {.shell = true};

/* Overwrites a message before freeing it, which reveals plans that borrowed from it. */
static void forget(struct arena *parsed, const struct webhook_message *message)
{
    json_object_object_foreach(message->metadata, key, value)
    {
        (void)key;
        if (json_object_is_type(value, json_type_string))
            memset((char *)(uintptr_t)json_object_get_string(value), '#',
                   (size_t)json_object_get_string_len(value));
    }
    arena_free(parsed);
}

CASE(metadata_becomes_a_command)
{
    EACH_ROW (row, cases) {
        struct arena *parsed = arena_new();
        struct errinfo info = {0};
        struct webhook_message message;
        const char *body = arena_printf(
            arena, "{\"name\":\"a\",\"namespace\":\"b\",\"metadata\":%s}", row->metadata);
        assert_int_equal(webhook_parse(parsed, body, strlen(body), &message, &info), ERR_OK);
        const struct task_type *type = task_type_find(webhook_metadata(&message, "type"));
        if (!row->type) {
            assert_null(type);
            arena_free(parsed);
            continue;
        }
        assert_non_null(type);
        assert_string_equal(type->name, row->type);
        assert_int_equal(type->blocking, strcmp(type->name, "cmd") != 0);
        struct task_plan plan = {0};
        enum err err = type->make(arena, &message, &anything, &plan, &info);
        forget(parsed, &message);
        if (row->error) {
            assert_int_equal(err, ERR_INVALID);
            assert_non_null(strstr(info.text, row->error));
        } else {
            assert_int_equal(err, ERR_OK);
            assert_string_equal(join(arena, plan.argv), row->argv);
            assert_string_equal(plan.text, row->text);
            assert_int_equal(plan.log_output, row->log_output);
            assert_int_equal(plan.return_output, row->return_output);
            assert_int_equal(plan.return_value, row->return_value);
        }
    }
}

static const struct {
    const char *type, *cmd;
    const char *allow; /* one command, NULL for any */
    bool shell;
    const char *argv; /* NULL if rejected */
    const char *error;
} policies[] = {
    {"cmd", "hey -z 1m http://x/", "hey", false, "hey|-z|1m|http://x/", NULL},
    {"bash", "hey 'a b'", "hey", false, "hey|a b", NULL},
    {"cmd", "sh -c id", "hey", false, NULL,
     "command \"sh\" is not one that --policy or --allow-command names"},
    {"cmd", "/tmp/hey", "hey", false, NULL, "command \"/tmp/hey\" is not one"},
    {"cmd", "./hey", "hey", false, NULL, "is not one"},
    {"cmd", "hey; id", "hey", false, NULL, "cmd is run without a shell (see --allow-shell): ';'"},
    {"cmd", "hey $(id)", "hey", false, NULL, "'$' at character 5"},
    {"cmd", "X=1 hey", "hey", false, NULL, "command \"X=1\" is not one"},
    {"cmd", "''", "hey", false, NULL, "command \"\" is not one"},
    {"cmd", "hey; id", "hey", true, "sh|-c|hey; id", NULL},
    {"helm", "test x", "hey", true, NULL, "command \"helm\" is not one"},
    {"helm", "test x", "helm", false, "helm|test|x", NULL},
    {"kubectl", "get pods", "hey", false, NULL, "command \"kubectl\" is not one"},
};

CASE(only_what_is_allowed_becomes_a_command)
{
    EACH_ROW (row, policies) {
        struct errinfo info = {0};
        struct json_object *metadata = json_own(arena, json_object_new_object());
        json_set_str(metadata, "cmd", row->cmd);
        struct webhook_message message = {.metadata = metadata};
        const char *const allow[] = {row->allow, NULL};
        struct task_policy policy = {.commands = policy_of_names(arena, allow),
                                     .shell = row->shell};
        struct task_plan plan = {0};
        enum err err = task_type_find(row->type)->make(arena, &message, &policy, &plan, &info);
        if (row->argv) {
            assert_int_equal(err, ERR_OK);
            assert_string_equal(join(arena, plan.argv), row->argv);
        } else {
            assert_true(err == ERR_DENIED || err == ERR_INVALID);
            if (!strstr(info.text, row->error))
                fail_msg("%s: %s", row->cmd, info.text);
        }
    }
}
