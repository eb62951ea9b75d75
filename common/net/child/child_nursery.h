/*
 * Supervisors that are made before they are needed. To execute and to end this program costs
 * several times what most commands do; so a small one that is embedded (net/child/child_image.h) is
 * executed once, the nursery, which forks. It keeps some supervisors ready, which wait at a common
 * socket for the next command. One whose command ends soon comes back and is ready again; it holds
 * nothing of that command any more. For one that is gone for longer, or when commands wait, the
 * nursery makes another. Being clones with the same parent, supervisors are children of this
 * process, not of the nursery.
 *
 * The nursery knows nothing: it is executed with an empty environment and reads no command. When
 * somebody kills it, the next command starts a new one. It ends with this process.
 */
#ifndef NET_CHILD_NURSERY_H
#define NET_CHILD_NURSERY_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes the nursery where there is none. 0 or an errno. */
int child_nursery_prepare(void);
/*
 * Gives a supervisor its socket and the command's stdout and stderr; all three stay ours to close.
 * 0, or an errno; EAGAIN: not now, many wait already.
 */
int child_nursery_hand_over(int socket, int out, int err);
/* Its process; 0: there is none. */
pid_t child_nursery_pid(void);
/* A process that runs the program of supervisors, and so does nothing else. */
bool child_nursery_owns(pid_t pid);
/* This child has ended and was waited for: it may have been the nursery. */
void child_nursery_gone(pid_t pid);
/* Ends the nursery, those that are ready, and what was not taken; supervisors at work stay. */
void child_nursery_end(void);

#endif
