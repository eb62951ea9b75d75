/*
 * User, environment and folders of tasks. Tasks run as this process's user, as one user for all, or
 * as one user for each namespace, so that tasks of one tenant can neither signal those of another
 * nor read their files and environments.
 */
#ifndef LOADTESTER_TASK_USER_H
#define LOADTESTER_TASK_USER_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "net/child/child.h"

struct task_users;

/*
 * "UID[:GID]" is one user, its group GID or UID. "FIRST-LAST[:GID]" gives each namespace a user of
 * that range with a group of the same number, and all of them GID as an additional group; each then
 * has a folder of its own below `folder` (for temporary files, such as /tmp). NULL and "" mean this
 * process's user. ERR_INVALID for other texts, ERR_DENIED if this process may not change users; if
 * it may not use a range, it logs a warning and keeps its own user, for images whose default is run
 * in a pod under a user other than root.
 */
enum err task_users_new(const char *text, const char *folder, struct task_users **out,
                        struct errinfo *ei) MUST_USE;
/* Also removes the folders; called after the last task. NULL is allowed. */
void task_users_free(struct task_users *users);

/* Sets uid, gid and group for the first namespace; 0 if tasks run as this process's user. */
void task_users_first(const struct task_users *users, struct child_limits *limits);

/*
 * Sets the user of a namespace's tasks in the limits, and HOME and TMPDIR in *env to that user's
 * folder; *env is unchanged if there is none. The arena owns the new *env. Returns NULL, or the
 * reason why there is no user, valid until the next call.
 */
const char *task_users_assign(struct task_users *users, const char *namespace_, struct arena *arena,
                              struct child_limits *limits, const char *const **env) MUST_USE;

/*
 * Environment of tasks: the variables with which a command finds its files, proxies and the
 * cluster, and nothing else of ours.
 */

/*
 * Filters `ours` (NULL-ended "NAME=value"): passes the usual variables and those listed in `pass`
 * (NULL-ended; "*" at the end of a name matches any rest). The result is NULL-ended and borrows the
 * strings.
 */
const char *const *environment_for_tasks(struct arena *arena, char *const *ours,
                                         const char *const *pass);

/* Files with credentials must not be readable by tasks. */

/*
 * Tries to open the file, or each file of a directory, as the user of the limits (uid 0: as ours),
 * so that permissions of all kinds count. Forks; call it before threads are started.
 */
bool secrets_readable(const char *path, const struct child_limits *user);

/* ERR_DENIED with a message if one of the files (NULL-ended list of option and path; a path may
 * be NULL) is readable by tasks. */
struct secret_file {
    const char *option, *path;
};
enum err secrets_check(const struct secret_file *files, const struct child_limits *user,
                       struct errinfo *ei) MUST_USE;

#endif
