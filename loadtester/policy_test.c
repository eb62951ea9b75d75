/* policy: parsing of files, and the commands they allow. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "loadtester/command_line.h"
#include "loadtester/policy.h"
#include "test/rows.h"
#include "test/unit.h"

static char path[] = "/tmp/policy_test.XXXXXX";

static enum err read_text(struct arena *arena, const char *text, const struct policy **out,
                          struct errinfo *info)
{
    const char *const files[] = {path, NULL};
    assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), ERR_OK);
    return policy_read(arena, files, out, info);
}

/* Rows of policies.yaml. */
static struct json_object *rows_of(struct arena *arena, const char *group)
{
    return json_at(json_elem(rows_read(arena, "loadtester/policies.yaml"), 0), group, NULL);
}

static const char *tools(struct arena *arena)
{
    return json_object_get_string(rows_of(arena, "policy"));
}

static void expect_each(struct arena *arena, const struct policy *policy, const char *group,
                        enum err wanted)
{
    struct json_object *rows = rows_of(arena, group);

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++) {
        const char *command = json_object_get_string(json_elem(rows, i)), *const * argv;
        struct errinfo info = {0};
        assert_int_equal(words_split(arena, command, &argv, &info), ERR_OK);
        if (policy_check(policy, argv, &info) != wanted)
            fail_msg("%s: %s", command, info.text);
    }
}

CASE(only_what_is_listed_is_let)
{
    struct errinfo info = {0};
    const struct policy *policy;

    if (read_text(arena, tools(arena), &policy, &info) != ERR_OK)
        fail_msg("%s", info.text);
    expect_each(arena, policy, "let", ERR_OK);
    expect_each(arena, policy, "refused", ERR_DENIED);
}

/* Other requests wait meanwhile, even for a request that is rejected. */
CASE(what_one_request_costs_is_bounded)
{
    static const char flags[] = "-d", tail[] = "x";
    const char *argv[2 * 600 + 3] = {"echo"};
    struct errinfo info = {0};
    const struct policy *policy;
    char *large = arena_alloc(arena, POLICY_MAX_WORD + 1);

    assert_int_equal(read_text(arena, tools(arena), &policy, &info), ERR_OK);
    for (size_t i = 0; i < 600; i++) {
        argv[1 + 2 * i] = flags;
        argv[2 + 2 * i] = "abc";
    }
    argv[1201] = tail;
    assert_int_equal(policy_check(policy, argv, &info), ERR_DENIED);
    assert_non_null(strstr(info.text, "more than a policy checks for one request"));
    memset(large, 'x', POLICY_MAX_WORD);
    large[POLICY_MAX_WORD] = '\0';
    for (size_t i = 1; i < 10; i++)
        argv[i] = large;
    argv[10] = NULL;
    assert_int_equal(policy_check(policy, argv, &info), ERR_DENIED);
    assert_non_null(strstr(info.text, "more than a policy checks for one request"));
    argv[6] = NULL;
    assert_int_equal(policy_check(policy, argv, &info), ERR_OK);
}

CASE(a_name_alone_lets_everything)
{
    static const char *const names[] = {"hey", NULL}, *const good[] = {"hey", "-D", "x", NULL},
                             *const bad[] = {"heya", NULL};
    struct errinfo info = {0};
    const struct policy *policy = policy_of_names(arena, names);

    assert_int_equal(policy_check(policy, good, &info), ERR_OK);
    assert_int_equal(policy_check(policy, bad, &info), ERR_DENIED);
}

CASE(a_wrong_file_is_told)
{
    struct json_object *rows = rows_of(arena, "wrong");

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++) {
        const char *text = json_str_at(json_elem(rows, i), "text", NULL);
        const char *wrong = json_str_at(json_elem(rows, i), "wrong", NULL);
        struct errinfo info = {0};
        const struct policy *policy;
        assert_int_equal(read_text(arena, text, &policy, &info), ERR_INVALID);
        if (!strstr(info.text, wrong) || !strstr(info.text, path))
            fail_msg("%s: %s", text, info.text);
    }
}

CASE(a_command_is_in_one_file)
{
    const char *const files[] = {path, path, NULL};
    struct errinfo info = {0};
    const struct policy *policy;

    assert_int_equal(read_text(arena, "commands: {hey: {}}\n", &policy, &info), ERR_OK);
    assert_int_equal(policy_read(arena, files, &policy, &info), ERR_INVALID);
    assert_non_null(strstr(info.text, "in another file already"));
}

static int set_up(void **state)
{
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    return remove(path);
}

UNIT_FIXTURE(.set_up_all = set_up, .tear_down_all = tear_down);
