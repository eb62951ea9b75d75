/* helm: arguments for helm, e.g. "test podinfo --namespace test"; the reply waits for its end. */
#include "loadtester/task/common_helm.h"

const struct task_type task_type_helm = {.name = "helm", .blocking = true, .make = helm_make};
