/* kubectl-canary: a plugin, so that users can type `kubectl canary`. */
#include "base/process.h"
#include "ctl/ctl.h"
#include "net/child/child.h"

int main(int argc, char **argv)
{
    static char name[] = "kubectl canary";

    child_main(argc, argv); /* for credential plugins */
    process_hide();         /* it holds the cluster's tokens */
    if (argc > 0)
        argv[0] = name;
    return ctl_main(argc, argv);
}
