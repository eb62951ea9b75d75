/* The numbered versions of schema.sql, as one script that applies those which a database lacks. */
#ifndef GATE_SCHEMA_H
#define GATE_SCHEMA_H

#include "base/arena.h"

enum { SCHEMA_VERSION = 2 };

/* Idempotent; runs as one transaction. Owned by the arena. */
const char *schema_script(struct arena *arena);

#endif
