/* abort: see ctl/steer.h. */
#include "ctl/steer.h"

const struct ctl_command ctl_abort = {
    .name = "abort",
    .summary = "Rolls a release back.",
    .usage = "NAME [--why TEXT]",
    .help =
        "All traffic goes back to the primary at once, as by a rollback hook.\n\n"
        "Exit code: 0 done, 3 refused, 4 no answer in time; with --wait also 3 when the release "
        "ends otherwise.\n\n"
        "Example:\n"
        "    {ctl} abort podinfo -n test --why \"customers complain\"\n",
    .rows = steer_rows,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = steer_run,
};
