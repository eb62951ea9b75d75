/* reject: a person's word at the gate. */
#include "ctl/vote.h"

const struct ctl_command ctl_reject = {
    .name = "reject",
    .summary = "Says no at the gate: what waits there is rolled back.",
    .usage = "NAME [--why TEXT]",
    .help = "The gate is closed, and where the Canary has a webhook of type rollback at the same "
            "gate, the revision that waits is rolled back. The name that the gate's history shows "
            "is yours, as the API server knows you; "
            "--gate-token-file is for a gate that asks for tokens.\n"
            "\n"
            "Example:\n"
            "    {ctl} reject podinfo -n test --why 'looked at the dashboard'\n",
    .rows = vote_rows,
    .accepts = CTL_OUT_DATA,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = vote_no,
};
