/* approve: a person's word at the gate. */
#include "ctl/vote.h"

const struct ctl_command ctl_approve = {
    .name = "approve",
    .summary = "Says yes at the gate that a release waits at.",
    .usage = "NAME [--why TEXT]",
    .help =
        "What waits at the gate is let through, and no other revision. Under a quorum it is one "
        "vote. The name that the gate's history shows is yours, as the API server knows you; "
        "--gate-token-file is for a gate that asks for tokens.\n"
        "\n"
        "Example:\n"
        "    {ctl} approve podinfo -n test --why 'looked at the dashboard'\n",
    .rows = vote_rows,
    .accepts = CTL_OUT_DATA,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = vote_yes,
};
