/* helmv3: what helm is called in specs of the time when there was a version 2 beside it. */
#include "loadtester/task/common_helm.h"

const struct task_type task_type_helmv3 = {.name = "helmv3", .blocking = true, .make = helm_make};
