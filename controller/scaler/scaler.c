#include "scaler/scaler.h"

#include <string.h>

const struct scaler *scaler_find(const char *kind)
{
    for (size_t i = 0; kind && scaler_table[i]; i++) {
        if (strcmp(scaler_table[i]->kind, kind) == 0)
            return scaler_table[i];
    }
    return NULL;
}
