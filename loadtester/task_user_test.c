/* task_user: user, folder and environment of a namespace's tasks. */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loadtester/task_user.h"
#include "test/unit.h"

static struct task_users *users_of(const char *text)
{
    struct task_users *users = NULL;
    struct errinfo info = {0};

    if (task_users_new(text, unit_folder(), &users, &info) != ERR_OK)
        fail_msg("%s: %s", text, info.text);
    return users;
}

CASE(texts_that_are_no_users)
{
    static const char *const texts[] = {
        "root",  "0",          "-5", "5-",  "9-5",   "5-9-11",  "5-9:",    "5:0",
        "5:9:1", "4294967295", "5 ", "5-0", "1-2:x", "0-65535", "0x10-20", "99999999999"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct task_users *users = NULL;
        struct errinfo info = {0};
        if (task_users_new(texts[i], unit_folder(), &users, &info) != ERR_INVALID)
            fail_msg("\"%s\" is taken", texts[i]);
        assert_non_null(strstr(info.text, "--task-user"));
    }
}

CASE(one_user_for_all)
{
    static const struct {
        const char *text;
        int64_t uid, gid;
    } cases[] = {{"", 0, 0}, {"65534", 65534, 0}, {"1000:2000", 1000, 2000}};

    EACH_ROW (row, cases) {
        static const char *const ours[] = {"HOME=/home/app", NULL};
        const char *const *env = ours;
        struct child_limits limits = {0};
        struct arena *mine = arena_new();
        if (*row->text && geteuid() != 0)
            skip();
        struct task_users *users = users_of(row->text);
        assert_null(task_users_assign(users, "test", mine, &limits, &env));
        assert_int_equal(limits.uid, row->uid);
        assert_int_equal(limits.gid, row->gid);
        assert_int_equal(limits.group, 0);
        assert_ptr_equal(env, ours);
        task_users_free(users);
        arena_free(mine);
    }
}

/* The user of a namespace, and its folder in home. */
static int64_t give(struct task_users *users, const char *namespace_, char home[4096])
{
    static const char *const ours[] = {"HOME=/home/app", "PATH=/bin", "TMPDIR=/x", NULL};
    const char *const *env = ours;
    struct child_limits limits = {0};
    struct arena *mine = arena_new();
    struct stat about;

    if (task_users_assign(users, namespace_, mine, &limits, &env)) {
        arena_free(mine);
        return 0;
    }
    assert_int_equal(limits.gid, limits.uid);
    assert_int_equal(limits.group, 10001);
    assert_string_equal(env[0], "PATH=/bin");
    assert_int_equal(strncmp(env[1], "HOME=", 5), 0);
    assert_string_equal(env[2] + strlen("TMPDIR="), env[1] + strlen("HOME="));
    assert_null(env[3]);
    snprintf(home, 4096, "%s", env[1] + strlen("HOME="));
    assert_int_equal(stat(home, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0770);
    assert_int_equal(about.st_uid, 0);
    assert_int_equal(about.st_gid, limits.uid);
    arena_free(mine);
    return limits.uid;
}

CASE(each_namespace_has_a_user_and_a_folder_until_all_are_given)
{
    enum { FIRST = 20000, COUNT = 50 };
    int64_t uids[COUNT];
    static char homes[COUNT][4096], again[4096];
    char name[32];
    bool seen[COUNT] = {0};

    if (geteuid() != 0)
        skip();
    struct task_users *users = users_of("20000-20049:10001");
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof(name), "team-%d", i);
        uids[i] = give(users, name, homes[i]);
        assert_in_range(uids[i], FIRST, FIRST + COUNT - 1);
        assert_false(seen[uids[i] - FIRST]);
        seen[uids[i] - FIRST] = true;
    }
    assert_int_equal(give(users, "one-more", again), 0);
    assert_int_equal(give(users, "team-7", again), uids[7]);
    assert_string_equal(again, homes[7]);
    task_users_free(users);
    assert_int_equal(access(homes[7], F_OK), -1);
    /* the same after a restart */
    users = users_of("20000-59999:10001");
    int64_t before = give(users, "team-7", again);
    task_users_free(users);
    users = users_of("20000-59999:10001");
    give(users, "team-8", again);
    assert_int_equal(give(users, "team-7", again), before);
    task_users_free(users);
}

CASE(only_what_is_named_is_passed)
{
    char *ours[] = {"PATH=/bin",    "SECRET=x", "HELM_DRIVER=secret",
                    "AWS_SECRET=y", "LC_ALL=C", "PATHOLOGICAL=1",
                    "KUBECONFIG=",  "broken",   NULL};
    const char *const more[] = {"AWS_*", "broken", NULL};
    const char *const all[] = {"*", NULL};
    const char *const *env = environment_for_tasks(arena, ours, NULL);
    const char *const usual[] = {"PATH=/bin", "HELM_DRIVER=secret", "LC_ALL=C",
                                 "KUBECONFIG=", NULL};
    for (size_t i = 0; usual[i] || env[i]; i++)
        assert_string_equal(env[i], usual[i]);
    env = environment_for_tasks(arena, ours, more);
    assert_string_equal(env[2], "AWS_SECRET=y");
    assert_string_equal(env[5], "broken");
    assert_null(env[6]);
    env = environment_for_tasks(arena, ours, all);
    assert_string_equal(env[7], "broken");
    assert_null(env[8]);
}
