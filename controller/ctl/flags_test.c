#include "ctl/ctl.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit.h"

static const char *why;
static const struct option_row own[] = {
    OPTION(STRING, "why", &why, .arg = "TEXT", .help = "the reason"), {0}};
static const struct ctl_command command = {.name = "try",
                                           .usage = "NAME [OTHER]",
                                           .rows = own,
                                           .accepts = CTL_ALL | CTL_SELECTOR | CTL_WATCH |
                                                      CTL_OUT_WIDE | CTL_OUT_NAME | CTL_OUT_DATA,
                                           .min_args = 1,
                                           .max_args = 2};

static int set_up(void **state)
{
    unsetenv("KUBECONFIG");
    return setenv("HOME", unit_folder(), 1);
}
UNIT_FIXTURE(.set_up = set_up);

static const char *namespace_;
static struct kube_config_source source;
static struct errinfo ei;

/* The words of a command line, separated by blanks. */
static struct ctl read(const char *line, enum err expected)
{
    enum { MOST = 32 };
    struct ctl ctl = {.arena = unit_arena, .command = &command, .program = "ctl"};
    char *argv[MOST] = {arena_strdup(unit_arena, "ctl")};
    int argc = 1;

    for (; *line; line += strspn(line, " ")) {
        size_t len = strcspn(line, " ");
        argv[argc++] = arena_strndup(unit_arena, line, len);
        line += len;
    }
    ei.text[0] = '\0';
    enum err err = flags_read(&ctl, argc, argv, &source, &namespace_, &ei);
    if (err != expected)
        fail_msg("%s: %s", argv[argc - 1], ei.text);
    return ctl;
}

CASE(flags_stand_where_people_put_them)
{
    static const char *const lines[] = {"podinfo -n shop -o json", "-n shop podinfo --output json",
                                        "-nshop -ojson podinfo", "-n=shop podinfo -o=json",
                                        "--namespace=shop -o json -- podinfo"};

    for (size_t i = 0; unit_row("rows", i, sizeof(lines) / sizeof(lines[0])); i++) {
        struct ctl ctl = read(lines[i], ERR_OK);
        assert_string_equal(namespace_, "shop");
        assert_int_equal(ctl.output, CTL_JSON);
        assert_int_equal(ctl.n_args, 1);
        assert_string_equal(ctl.args[0], "podinfo");
    }
}

CASE(letters_may_stand_together)
{
    struct ctl ctl = read("x -Awl app=shop", ERR_OK);

    assert_null(namespace_);
    assert_true(ctl.watch);
    assert_string_equal(ctl.selector, "app=shop");
    assert_string_equal(read("x --why -n -n y", ERR_OK).args[0], "x");
    assert_string_equal(why, "-n");
    assert_string_equal(namespace_, "y");
}

CASE(what_is_left_out_has_its_default)
{
    struct ctl ctl = read("x", ERR_OK);

    assert_string_equal(namespace_, "");
    assert_null(ctl.selector);
    assert_null(source.kubeconfig);
    assert_int_equal(ctl.output, CTL_TEXT);
    assert_null(why);
    ctl = read("x -", ERR_OK);
    assert_string_equal(ctl.args[1], "-");
}

CASE(where_the_server_is)
{
    read("x --context c --cluster k --user u --token t -s https://s --kubeconfig f", ERR_OK);
    assert_string_equal(source.context, "c");
    assert_string_equal(source.cluster, "k");
    assert_string_equal(source.user, "u");
    assert_string_equal(source.token, "t");
    assert_string_equal(source.master, "https://s");
    assert_string_equal(source.kubeconfig, "f");
}

CASE(mistakes_are_one_sentence)
{
    static const struct {
        const char *line, *text;
    } rows[] = {
        {"", "try: an argument is missing: ctl try NAME [OTHER]"},
        {"a b c", "try: unexpected argument \"c\": ctl try NAME [OTHER]"},
        {"a -z", "unknown flag -z in \"-z\"; see --help"},
        {"a --namespce x", "unknown flag --namespce; did you mean --namespace?"},
        {"a -n", "--namespace needs a value: --namespace NAME"},
        {"a -o xml", "--output: expected one of json, yaml, name, wide, found \"xml\""},
        {"a --request-timeout soon", "--request-timeout: expected a duration such as 1m30s, "
                                     "found \"soon\""},
    };

    for (size_t i = 0; unit_row("rows", i, sizeof(rows) / sizeof(rows[0])); i++) {
        read(rows[i].line, ERR_INVALID);
        assert_string_equal(ei.text, rows[i].text);
    }
    read("a -h", ERR_CANCELLED);
    read("--help", ERR_CANCELLED);
}

static int command_at(const char *first, const char *second, const char *third)
{
    char *argv[] = {"ctl", arena_strdup(unit_arena, first), arena_strdup(unit_arena, second),
                    arena_strdup(unit_arena, third), NULL};

    return flags_command_at(4, argv);
}

CASE(the_command_may_stand_behind_flags)
{
    assert_int_equal(command_at("get", "-n", "x"), 1);
    assert_int_equal(command_at("-n", "x", "get"), 3);
    assert_int_equal(command_at("-nx", "get", "y"), 2);
    assert_int_equal(command_at("--namespace=x", "get", "y"), 2);
    assert_int_equal(command_at("--namespace", "x", "get"), 3);
    assert_int_equal(command_at("-A", "get", "y"), 2);
    assert_int_equal(command_at("--help", "-h", "-A"), 4);
}
