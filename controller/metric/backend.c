#include "metric/backend.h"

#include <string.h>

const struct metric_backend *metric_backend_find(const char *type)
{
    for (size_t i = 0; type && metric_backend_table[i]; i++) {
        if (strcmp(metric_backend_table[i]->type, type) == 0)
            return metric_backend_table[i];
    }
    return NULL;
}
