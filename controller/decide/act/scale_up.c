#include "decide/act/scale_up.h"

enum verdict scale_up_target(struct release *r)
{
    enum verdict verdict = VERDICT_GO;
    int replicas = 0;

    if (r->scaler)
        verdict = r->scaler->resume_target(r->tick);
    if (r->scaler && verdict == VERDICT_GO)
        verdict = r->scaler->min_replicas(r->tick, &replicas);
    /* an autoscaler that the Canary does not name goes on from there */
    const struct own_scaler *own = &r->own_scaler[SIDE_CANARY];
    if (!r->scaler && own->object)
        replicas = own->kind->start(own->object);
    if (verdict == VERDICT_GO)
        r->target->scale_from_zero(r->tick, &r->info, replicas);
    return verdict;
}
