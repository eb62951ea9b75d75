/* crds: what a cluster must serve before anything else is of use. */
#include "ctl/ctl.h"

/* Made by the build of proto/crd. */
extern const char *const crds_texts[];

static int run(struct ctl *ctl)
{
    for (const char *const *text = crds_texts; *text; text++)
        fprintf(ctl->out, "%s%s", text == crds_texts ? "" : "---\n", *text);
    return CTL_DONE;
}

const struct ctl_command ctl_crds = {
    .name = "crds",
    .summary = "Prints the CustomResourceDefinitions of this version, as YAML.",
    .usage = "",
    .help = "Example:\n"
            "    {ctl} crds | kubectl apply --server-side -f -\n",
    .accepts = CTL_OFFLINE,
    .run = run,
};
