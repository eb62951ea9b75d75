/* skip-analysis: see ctl/steer.h. */
#include "ctl/steer.h"

const struct ctl_command ctl_skip_analysis = {
    .name = "skip-analysis",
    .summary = "Releases a revision without checks: one that waits, or is analysed.",
    .usage = "NAME [--why TEXT]",
    .help =
        "Its gates are asked as ever.\n\n"
        "Exit code: 0 done, 3 refused, 4 no answer in time; with --wait also 3 when the release "
        "ends otherwise.\n\n"
        "Example:\n"
        "    {ctl} skip-analysis podinfo -n test --why \"security fix\"\n",
    .rows = steer_rows,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = steer_run,
};
