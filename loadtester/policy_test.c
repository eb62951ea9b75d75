/* policy: what files say, and what it lets. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "loadtester/policy.h"
#include "loadtester/words.h"
#include "test/unit.h"

static char path[] = "/tmp/policy_test.XXXXXX";

static enum err read_text(struct arena *arena, const char *text, const struct policy **out,
                          struct errinfo *info)
{
    const char *const files[] = {path, NULL};
    assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), ERR_OK);
    return policy_read(arena, files, out, info);
}

static const char tools[] = "commands:\n"
                            "  hey:\n"
                            "    flags: {-n: '[0-9]+', -H: '(Accept|X-[A-Za-z]+): .*', -quiet: }\n"
                            "    arguments:\n"
                            "      - ['https?://[a-z.]+']\n"
                            "  wrk:\n"
                            "    attached: true\n"
                            "    flags: {-t: '[0-9]', --latency: , --timeout: '[0-9]+s'}\n"
                            "    arguments: [[x]]\n"
                            "  kubectl:\n"
                            "    interspersed: true\n"
                            "    flags: {-n: '[a-z]+', --namespace: '[a-z]*'}\n"
                            "    arguments:\n"
                            "      - [get, pods|services, '[a-z]+', ...]\n"
                            "      - [version]\n"
                            "  date:\n"
                            "  echo:\n"
                            "    interspersed: true\n"
                            "    flags: {-d: {pattern: '[a-z]*', max: 5}, -r: '(a*)*(a*)*(a*)*b'}\n"
                            "    arguments: [[{pattern: 'x+'}, ...]]\n";

CASE(only_what_is_listed_is_let)
{
    static const struct {
        const char *command;
        bool let;
    } cases[] = {
        {"hey http://x.y", true},
        {"hey -n 5 http://x", true},
        {"hey -H 'Accept: a b' -quiet http://x", true},
        {"hey", false},
        {"hey http://x http://y", false},
        {"hey http://x1", false},
        {"hey ' http://x'", false},
        {"hey 'http://x\nhttp://y'", false},
        {"hey -n 5x http://x", false},
        {"hey -n=5 http://x", false},
        {"hey --n 5 http://x", false},
        {"hey -n5 http://x", false},
        {"hey -D /etc/passwd http://x", false},
        {"hey -H 'Authorization: a' http://x", false},
        {"hey -n -quiet http://x", false},
        {"hey http://x -n 5", false},
        {"hey -- http://x", false},
        {"hey - http://x", false},
        {"hey -n", false},
        {"hey -quiet=true http://x", false},
        {"HEY http://x", false},
        {"./hey http://x", false},
        {"/usr/bin/hey http://x", false},
        {"wrk -t2 x", true},
        {"wrk -t 2 --timeout=5s --latency x", true},
        {"wrk --timeout 5s x", true},
        {"wrk -t22 x", false},
        {"wrk -t2s x", false},
        {"wrk --time=5s x", false},
        {"wrk --latency=1 x", false},
        {"wrk -s /tmp/x.lua x", false},
        {"wrk -s/tmp/x.lua x", false},
        {"kubectl get pods a -n test", true},
        {"kubectl -n test get services a b c", true},
        {"kubectl get pods a --namespace=", true},
        {"kubectl version", true},
        {"kubectl get pods", false},
        {"kubectl get secrets a", false},
        {"kubectl get podsecrets a", false},
        {"kubectl version get pods a", false},
        {"kubectl get pods a -n 'a b'", false},
        {"kubectl get pods a -ntest", false},
        {"date", true},
        {"date x", false},
        {"date -u", false},
        {"echo x -d abcde", true},
        {"echo x -d abcdef", false},
        {"echo x", true},
        {"echo xy", false},
        {"echo x -r aab", true},
        /* more steps than a match may have */
        {"echo x -r aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    };
    struct errinfo info = {0};
    const struct policy *policy;

    if (read_text(arena, tools, &policy, &info) != ERR_OK)
        fail_msg("%s", info.text);
    EACH_ROW (row, cases) {
        const char *const *argv;
        assert_int_equal(words_split(arena, row->command, &argv, &info), ERR_OK);
        info = (struct errinfo){0};
        enum err err = policy_check(policy, argv, &info);
        if (err != (row->let ? ERR_OK : ERR_DENIED))
            fail_msg("%s: %s", row->command, info.text);
    }
}

/* Others wait meanwhile: of what is refused, too. */
CASE(what_one_request_costs_is_bounded)
{
    static const char flags[] = "-d", tail[] = "x";
    const char *argv[2 * 600 + 3] = {"echo"};
    struct errinfo info = {0};
    const struct policy *policy;
    char *large = arena_alloc(arena, POLICY_MAX_WORD + 1);

    assert_int_equal(read_text(arena, tools, &policy, &info), ERR_OK);
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
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "expected one document with commands"},
        {"commands: {}\n---\ncommands: {}\n", "expected one document"},
        {"command: {}\n", "is not known here; expected only commands"},
        {"{}\n", "commands"},
        {"commands: {hey: {flag: {}}}\n", "commands.hey.flag: is not known here"},
        {"commands: {hey: {flags: {nn: x}}}\n", "commands.hey.flags.nn: expected a flag"},
        {"commands: {hey: {flags: {--: x}}}\n", "expected a flag"},
        {"commands: {hey: {flags: {-n: 5}}}\n", "expected a pattern, or nothing"},
        {"commands: {hey: {flags: {-n: '('}}}\n", "is not a regular expression"},
        {"commands: {hey: {arguments: [x]}}\n", "expected in each row a list"},
        {"commands: {hey: {arguments: [[1]]}}\n", "expected a text as each pattern"},
        {"commands: {hey: {flags: {-n: {max: 5}}}}\n", "commands.hey.flags.-n.pattern"},
        {"commands: {hey: {flags: {-n: {pattern: x, max: 0}}}}\n", "commands.hey.flags.-n.max"},
        {"commands: {hey: {flags: {-n: {pattern: x, max: 8193}}}}\n", "commands.hey.flags.-n.max"},
        {"commands: {hey: {flags: {-n: {pattern: x, least: 1}}}}\n", "only pattern and max"},
        {"commands: {hey: {arguments: [[{pattern: '('}]]}}\n", "is not a regular expression"},
        {"commands: {hey: {flags: {-n: '(ab){0,4096}'}}}\n", "with its length as max"},
        {"commands: {hey: {flags: {-n: '((ab){0,4096}){0,4096}'}}}\n", "with its length as max"},
        {"commands: {hey: {flags: {-n: '(abcdefgh|b){0,700}'}}}\n", "with its length as max"},
        {"commands: {hey: {attached: 1}}\n", "commands.hey.attached"},
        {"commands: {hey: {}, hey: {}}\n", "duplicate"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct errinfo info = {0};
        const struct policy *policy;
        assert_int_equal(read_text(arena, cases[i].text, &policy, &info), ERR_INVALID);
        if (!strstr(info.text, cases[i].error) || !strstr(info.text, path))
            fail_msg("%s: %s", cases[i].text, info.text);
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
