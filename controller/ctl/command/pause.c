/* pause: see ctl/steer.h. */
#include "ctl/steer.h"

const struct ctl_command ctl_pause = {
    .name = "pause",
    .summary = "Holds a release where it is.",
    .usage = "NAME [--why TEXT]",
    .help =
        "No step is taken and nothing is promoted until resume; checks go on, and a failed "
        "analysis is rolled back.\n\n"
        "Exit code: 0 done, 3 refused, 4 no answer in time; with --wait also 3 when the release "
        "ends otherwise.\n\n"
        "Example:\n"
        "    {ctl} pause podinfo -n test --why \"wait for the database\"\n",
    .rows = steer_rows,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = steer_run,
};
