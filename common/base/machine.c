#include "base/machine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

const char *machine_name(const struct machine *machine, int state)
{
    assert(state >= 0 && state < machine->count);
    return machine->states[state].name;
}

void machine_check(const struct machine *machine, int from, int to)
{
    const char *names[] = {machine_name(machine, from), machine_name(machine, to)};

    if (machine->states[from].next & 1u << to)
        return;
    fprintf(stderr, "%s: no step leads from %s to %s\n", machine->event, names[0], names[1]);
    abort();
}
