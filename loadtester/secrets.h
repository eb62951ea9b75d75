/* Files that hold what lets others in, and whether tasks could read them. */
#ifndef LOADTESTER_SECRETS_H
#define LOADTESTER_SECRETS_H

#include <stdbool.h>

#include "base/err.h"
#include "net/child/child.h"

/*
 * Tries, as the user of the limits (uid 0: ours), to open a file or, of a directory, each of
 * its files: so permissions of all kinds count as the kernel counts them. Forks; before there are
 * threads.
 */
bool secrets_readable(const char *path, const struct child_limits *user);

/* ERR_DENIED with the sentence when one of the files (NULL-ended list of option and path, a path
 * may be NULL) is readable for tasks. */
struct secret_file {
    const char *option, *path;
};
enum err secrets_check(const struct secret_file *files, const struct child_limits *user,
                       struct errinfo *ei) MUST_USE;

#endif
