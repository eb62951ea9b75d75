/* -w: goes on showing something while it changes. */
#ifndef CTL_LIVE_H
#define CTL_LIVE_H

#include "base/json.h"
#include "ctl/ctl.h"

/*
 * Watches the Canaries of ctl->namespace_ with ctl->selector, or the one of that name (NULL: all),
 * until the program is ended or, of one, it is deleted. On a terminal draw() is called again for
 * each change and every few seconds, into a ctl of its own with an arena of its own, and takes the
 * whole screen; elsewhere each change is one line, or one object for -o json. draw() returns an exit
 * code; another one than CTL_DONE ends it.
 */
int live_run(struct ctl *ctl, const char *name, int (*draw)(struct ctl *ctl));

#endif
