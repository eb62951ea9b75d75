#include "loadtester/secrets.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/child/child_limits.h"

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

/* In a process of its own, as the user of tasks. */
static int look(const char *path)
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
            _exit(READABLE); /* then tasks cannot be closed off either */
        _exit(look(path));
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
