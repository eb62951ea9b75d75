/* resume: see ctl/steer.h. */
#include "ctl/steer.h"

const struct ctl_command ctl_resume = {
    .name = "resume",
    .summary = "Lets a release go on that was paused.",
    .usage = "NAME [--why TEXT]",
    .help =
        "Deadlines of gates, metrics and pods begin anew.\n\n"
        "Exit code: 0 done, 3 refused, 4 no answer in time; with --wait also 3 when the release "
        "ends otherwise.\n\n"
        "Example:\n"
        "    {ctl} resume podinfo -n test --why \"the database is back\"\n",
    .rows = steer_rows,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = steer_run,
};
