/* restart: see ctl/steer.h. */
#include "ctl/steer.h"

const struct ctl_command ctl_restart = {
    .name = "restart",
    .summary = "Analyses a revision again that has failed.",
    .usage = "NAME [--why TEXT]",
    .help =
        "It is released as any other, gates and all.\n\n"
        "Exit code: 0 done, 3 refused, 4 no answer in time; with --wait also 3 when the release "
        "ends otherwise.\n\n"
        "Example:\n"
        "    {ctl} restart podinfo -n test --why \"the metric server was down\"\n",
    .rows = steer_rows,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = steer_run,
};
