/* promote: see ctl/steer.h. */
#include "ctl/steer.h"

const struct ctl_command ctl_promote = {
    .name = "promote",
    .summary = "Ends the analysis of a release: it is promoted if its gate agrees.",
    .usage = "NAME [--why TEXT]",
    .help =
        "No further check is made. The gate confirm-promotion is asked as ever: it is somebody "
        "else's to open.\n\n"
        "Exit code: 0 done, 3 refused, 4 no answer in time; with --wait also 3 when the release "
        "ends otherwise.\n\n"
        "Example:\n"
        "    {ctl} promote podinfo -n test --why \"checked by hand\"\n",
    .rows = steer_rows,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = steer_run,
};
