#define _GNU_SOURCE /* setgroups, nftw */
#include "loadtester/task_user.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/table.h"
#include "net/child/child.h"

enum { MAX_GROUPS = 1024, MAX_PATH = 4096 };

struct task_user {
    char *namespace_;
    int64_t uid;
};

struct task_users {
    int64_t first, last; /* 0: tasks run as this process's user */
    int64_t gid;         /* group of the single user, or additional group of a range; 0 if none */
    bool is_range;
    char *folder;        /* parent of the users' folders; NULL if they have none */
    struct table given;  /* struct task_user by namespace */
    unsigned char *used; /* one byte for each user of the range */
    struct errinfo why;
};

static void key_of(const void *item, const char **first, const char **second)
{
    *first = ((const struct task_user *)item)->namespace_;
    *second = NULL;
}

/* --- the option */

static bool is_number(int64_t number)
{
    return number > 0 && number < UINT32_MAX;
}

static bool read_number(const char **text, int64_t *out)
{
    char *rest;

    errno = 0;
    *out = strtoll(*text, &rest, 10);
    bool read = rest != *text && errno == 0 && is_number(*out);
    *text = rest;
    return read;
}

static enum err read_text(struct task_users *users, const char *text, struct errinfo *ei)
{
    const char *rest = text;
    bool good = read_number(&rest, &users->first);

    users->last = users->first;
    users->is_range = *rest == '-';
    if (users->is_range) {
        rest++;
        good = good && read_number(&rest, &users->last) && users->last >= users->first;
    }
    if (*rest == ':') {
        rest++;
        good = good && read_number(&rest, &users->gid);
    }
    if (!good || *rest)
        return err_set(ei, ERR_INVALID,
                       "--task-user: expected numbers above 0, such as 1000:1000 or "
                       "20000-59999:1000, found \"%.80s\"",
                       text);
    return ERR_OK;
}

static void be_ourselves(struct task_users *users)
{
    log_warn("not_isolated", NULL,
             "tasks run as this process's own user: they can end it, and read what it can");
    users->first = users->last = users->gid = 0;
    users->is_range = false;
}

/* Creates the parent folder, which others cannot list, with a name that no task can predict. */
static void make_folder(struct task_users *users, const char *folder)
{
    char path[MAX_PATH];

    snprintf(path, sizeof(path), "%s/flagger-tasks.XXXXXX", folder);
    if (!mkdtemp(path) || chmod(path, 0711) != 0) {
        log_warn("no_homes", NULL,
                 "tasks of all namespaces share HOME and TMPDIR: a folder for each cannot be made",
                 LOG_STR("folder", folder), LOG_STR("error", strerror(errno)));
        return;
    }
    users->folder = heap_strdup(path);
}

enum err task_users_new(const char *text, const char *folder, struct task_users **out,
                        struct errinfo *ei)
{
    struct task_users *users = heap_alloc(sizeof(*users));
    enum err err = ERR_OK;

    *users = (struct task_users){0};
    table_init(&users->given, key_of);
    if (text && *text)
        err = read_text(users, text, ei);
    if (err == ERR_OK && users->first && geteuid() != 0) {
        if (users->is_range || geteuid() == (uid_t)users->first)
            be_ourselves(users);
        else
            err = err_set(ei, ERR_DENIED, "--task-user: only root can run tasks as another user");
    }
    if (err != ERR_OK) {
        task_users_free(users);
        return err;
    }
    if (users->is_range) {
        users->used = heap_alloc((size_t)(users->last - users->first + 1));
        memset(users->used, 0, (size_t)(users->last - users->first + 1));
        make_folder(users, folder);
    }
    *out = users;
    return ERR_OK;
}

static int take_away(const char *path, const struct stat *about, int type, struct FTW *place)
{
    (void)about;
    (void)type;
    (void)place;
    (void)remove(path); /* entries that a task has made inaccessible stay */
    return 0;
}

void task_users_free(struct task_users *users)
{
    struct task_user *user;

    if (!users)
        return;
    for (size_t i = 0; (user = table_next(&users->given, &i));) {
        free(user->namespace_);
        free(user);
    }
    table_fini(&users->given);
    if (users->folder)
        (void)nftw(users->folder, take_away, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    free(users->folder);
    free(users->used);
    free(users);
}

void task_users_first(const struct task_users *users, struct child_limits *limits)
{
    limits->uid = users->first;
    limits->gid = users->is_range ? users->first : users->gid;
    limits->group = users->is_range ? users->gid : 0;
}

/* --- users of namespaces */

/* Derived from the namespace's name, so that it is the same after a restart unless two hashes
 * collide. 0 if all users are taken. */
static int64_t free_uid(const struct task_users *users, const char *namespace_)
{
    uint64_t count = (uint64_t)(users->last - users->first + 1);
    uint64_t at = table_hash(namespace_, "") % count;

    for (uint64_t i = 0; i < count; i++, at = (at + 1) % count)
        if (!users->used[at])
            return users->first + (int64_t)at;
    return 0;
}

static struct task_user *user_of(struct task_users *users, const char *namespace_)
{
    struct task_user *user = table_get(&users->given, namespace_, NULL);
    int64_t uid;

    if (user || (uid = free_uid(users, namespace_)) == 0)
        return user;
    user = heap_alloc(sizeof(*user));
    *user = (struct task_user){.namespace_ = heap_strdup(namespace_), .uid = uid};
    users->used[uid - users->first] = 1;
    table_put(&users->given, user);
    return user;
}

/*
 * Owned by us and open only to the user's group. Root without CAP_CHOWN may give its files to a
 * group that it is in, and CAP_SETGID lets it join any group.
 */
static bool make_home(const char *path, int64_t gid)
{
    gid_t ours[MAX_GROUPS], group = (gid_t)gid;
    int n = getgroups(MAX_GROUPS, ours);

    if (mkdir(path, 0700) != 0)
        return errno == EEXIST;
    if (n < 0 || setgroups(1, &group) != 0)
        return false;
    bool made = chown(path, (uid_t)-1, group) == 0 && chmod(path, 0770) == 0;
    return setgroups((size_t)n, ours) == 0 && made;
}

static const char *const *with_home(struct arena *arena, const char *const *env, const char *home)
{
    size_t n = 0, kept = 0;

    while (env && env[n])
        n++;
    const char **out = arena_array(arena, n + 3, sizeof(*out));
    for (size_t i = 0; i < n; i++)
        if (strncmp(env[i], "HOME=", 5) != 0 && strncmp(env[i], "TMPDIR=", 7) != 0)
            out[kept++] = env[i];
    out[kept++] = arena_printf(arena, "HOME=%s", home);
    out[kept++] = arena_printf(arena, "TMPDIR=%s", home);
    out[kept] = NULL;
    return out;
}

const char *task_users_assign(struct task_users *users, const char *namespace_, struct arena *arena,
                              struct child_limits *limits, const char *const **env)
{
    task_users_first(users, limits);
    if (!users->is_range)
        return NULL;
    struct task_user *user = user_of(users, namespace_);
    if (!user)
        return "each user of --task-user belongs to another namespace already";
    limits->uid = limits->gid = user->uid;
    if (!users->folder)
        return NULL;
    const char *home = arena_printf(arena, "%s/%" PRId64, users->folder, user->uid);
    if (!make_home(home, user->uid)) {
        err_set(&users->why, ERR_DENIED, "no folder for the tasks of this namespace at %s: %s",
                home, strerror(errno));
        return users->why.text;
    }
    *env = with_home(arena, *env, home);
    return NULL;
}

static const char *const usual[] = {
    "PATH",         "HOME",
    "USER",         "LOGNAME",
    "SHELL",        "LANG",
    "LANGUAGE",     "LC_*",
    "TZ",           "TMPDIR",
    "TERM",         "HOSTNAME",
    "HTTP_PROXY",   "HTTPS_PROXY",
    "NO_PROXY",     "ALL_PROXY",
    "http_proxy",   "https_proxy",
    "no_proxy",     "all_proxy",
    "KUBECONFIG",   "KUBERNETES_SERVICE_*",
    "HELM_*",       "SSL_CERT_FILE",
    "SSL_CERT_DIR", "XDG_*",
    NULL,
};

static bool matches(const char *pattern, const char *name, size_t len)
{
    size_t n = strlen(pattern);

    if (n > 0 && pattern[n - 1] == '*')
        return len >= n - 1 && strncmp(pattern, name, n - 1) == 0;
    return len == n && strncmp(pattern, name, n) == 0;
}

static bool is_listed(const char *const *list, const char *variable)
{
    size_t len = strcspn(variable, "=");

    for (size_t i = 0; list && list[i]; i++)
        if (matches(list[i], variable, len))
            return true;
    return false;
}

const char *const *environment_for_tasks(struct arena *arena, char *const *ours,
                                         const char *const *pass)
{
    size_t n = 0, kept = 0;

    while (ours[n])
        n++;
    const char **env = arena_array(arena, n + 1, sizeof(*env));
    for (size_t i = 0; i < n; i++)
        if (is_listed(usual, ours[i]) || is_listed(pass, ours[i]))
            env[kept++] = ours[i];
    env[kept] = NULL;
    return env;
}

enum { READABLE = 1, CLOSED = 0 };

static bool opens(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat about;
    bool is_file = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);

    if (fd >= 0)
        close(fd);
    return is_file;
}

/* Runs in a child process as the user of tasks. */
static int try_open(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return opens(AT_FDCWD, path) ? READABLE : CLOSED;
    while ((entry = readdir(dir)))
        if (opens(dirfd(dir), entry->d_name))
            return READABLE;
    return CLOSED;
}

bool secrets_readable(const char *path, const struct child_limits *user)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (child_limits_become(user) != 0)
            _exit(READABLE); /* without setuid tasks cannot be separated either */
        _exit(try_open(path));
    }
    return pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
           WEXITSTATUS(status) != CLOSED;
}

enum err secrets_check(const struct secret_file *files, const struct child_limits *user,
                       struct errinfo *ei)
{
    for (; files->option; files++)
        if (files->path && *files->path && secrets_readable(files->path, user))
            return err_set(ei, ERR_DENIED,
                           "--%s: tasks could read %s; close it to their user and give them one "
                           "with --task-user, or bound what they run with --policy",
                           files->option, files->path);
    return ERR_OK;
}
