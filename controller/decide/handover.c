/* A Canary that begins takes what another one of its target has left (act/handover.c). */
#include "decide/act/handover.h"
#include "decide/rules.h"

enum verdict handover_adopt(struct release *r)
{
    return r->target->own_services ? VERDICT_GO : handover_take(r);
}
