/* A person's yes or no at the gate of a Canary: what approve and reject have in common. */
#ifndef CTL_VOTE_H
#define CTL_VOTE_H

#include "ctl/ctl.h"

/* --why, --hook, --revision, --as-name, --gate and so on; ends with a row without name. */
extern const struct option_row vote_rows[];

/* Whoever waits at the gate of the Canary ctl->args[0] is let through. */
int vote_yes(struct ctl *ctl);
/* The gate is closed, and what waits there is rolled back where the Canary asks for that. */
int vote_no(struct ctl *ctl);

#endif
