/* kubectl-canary: a plugin, so that people type `kubectl canary`. */
#include "base/process.h"
#include "ctl/ctl.h"
#include "net/child/child.h"

int main(int argc, char **argv)
{
    static char name[] = "kubectl canary";

    child_main(argc, argv); /* for credential plugins */
    process_hide();         /* tokens of the cluster */
    if (argc > 0)
        argv[0] = name;
    return ctl_main(argc, argv);
}
