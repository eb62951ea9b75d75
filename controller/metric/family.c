#include "metric/family.h"

#include <stddef.h>
#include <string.h>

const struct metric_family *metric_family_find(const char *name)
{
    for (size_t i = 0; name && metric_family_table[i]; i++) {
        if (strcmp(metric_family_table[i]->name, name) == 0)
            return metric_family_table[i];
    }
    return NULL;
}
