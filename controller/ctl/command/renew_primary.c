/* renew-primary: see ctl/steer.h. */
#include "ctl/steer.h"

const struct ctl_command ctl_renew_primary = {
    .name = "renew-primary",
    .summary = "Makes a primary anew whose selector has fewer labels than that of the target.",
    .usage = "NAME [--why TEXT]",
    .help =
        "Primaries that Flagger made, or this controller before it kept all labels, have one label "
        "in their selector, which other workloads may share. A selector cannot be changed: a "
        "second "
        "primary is made beside the first, and serves with it; then the first is made anew with "
        "all labels, and when that serves, the second goes. No release begins meanwhile. It is "
        "refused while one is under way, or a revision waits.\n\n"
        "Exit code: 0 it has begun, 3 refused, 4 no answer in time; the condition PrimaryRenewed "
        "says how far it is, and an event when it is done. With --wait the command returns when it "
        "is over.\n\n"
        "Example:\n"
        "    {ctl} renew-primary podinfo -n test\n",
    .rows = steer_rows,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = steer_run,
};
