/* The processes of this machine, and which of them descend from one. Heap memory; used where
 * running out of it must not end the process. */
#ifndef NET_CHILD_TREE_H
#define NET_CHILD_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child_process {
    pid_t pid;
    pid_t parent;
    bool zombie;
    bool kept; /* set by the caller: it and what descends from it are not marked */
    bool ours; /* set by child_tree_mark() */
};

/* Sorted by pid; the caller frees it. NULL with count 0 when there is nothing to be had. */
struct child_process *child_tree_list(size_t *count);
/* Marks the descendants of `root`. */
void child_tree_mark(struct child_process *list, size_t count, pid_t root);
/*
 * Sends SIGKILL to every descendant of this process but `keep`, children for which is_kept says so,
 * and theirs, and reaps those that are zombies of ours. Returns how many were still alive.
 */
int child_tree_kill(const pid_t *keep, size_t n_keep, bool (*is_kept)(pid_t pid));

#endif
