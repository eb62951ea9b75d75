/*
 * The commands that ask something of a release: promote, abort, pause, resume, restart,
 * skip-analysis and renew-primary. Each writes a ReleaseRequest about the revision that the person sees, waits until
 * the controller has carried it out or refused it, and prints which.
 */
#ifndef CTL_STEER_H
#define CTL_STEER_H

#include "ctl/ctl.h"

/* The flags of all of them. */
extern const struct option_row steer_rows[];
/* For ctl->command, whose name is the action. */
int steer_run(struct ctl *ctl);

#endif
