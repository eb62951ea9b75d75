/*
 * Which user tasks run as: this process's own, one for all, or one for each namespace, so that the
 * tasks of one tenant can neither signal those of another nor read their files and environments.
 */
#ifndef LOADTESTER_TASK_USER_H
#define LOADTESTER_TASK_USER_H

#include "base/arena.h"
#include "base/err.h"
#include "net/child/child.h"

struct task_users;

/*
 * "UID[:GID]" is one user, its group GID or UID. "FIRST-LAST[:GID]" gives each namespace a user of
 * that range with a group of the same number, and all of them GID as a further group; then each has
 * a folder of its own below `folder` (where temporary files are, such as /tmp). NULL and "" are this
 * process's own user. ERR_INVALID for other texts, ERR_DENIED where this process may not change
 * users; a range that it may not use is warned of and is its own user, as an image's default is in a
 * pod that has another user than root.
 */
enum err task_users_new(const char *text, const char *folder, struct task_users **out,
                        struct errinfo *ei) MUST_USE;
void task_users_free(
    struct task_users *users); /* and the folders, after the last task; NULL is allowed */

/* The limits' uid, gid and group of the first namespace; 0 where tasks run as this process. */
void task_users_first(const struct task_users *users, struct child_limits *limits);

/*
 * The user of a namespace's tasks, in the limits, and the environment with HOME and TMPDIR in the
 * folder of that user; *env stays as it is where there is none. The arena owns what *env becomes.
 * Returns NULL, or why there is no user for it, until the next call.
 */
const char *task_users_give(struct task_users *users, const char *namespace_, struct arena *arena,
                            struct child_limits *limits, const char *const **env) MUST_USE;

#endif
