#include "cluster/rollout.h"

#include "object/intstr.h"

enum err rollout_limits(struct json_object *max_surge, struct json_object *max_unavailable,
                        int desired, int *surge, int *unavailable, struct errinfo *ei)
{
    int quarter_up = (desired + 3) / 4, quarter_down = desired / 4;
    enum err err = intstr_scaled(max_surge, desired, true, quarter_up, surge, ei);
    if (err != ERR_OK)
        return err_wrap(ei, err, "spec.strategy.rollingUpdate.maxSurge");
    err = intstr_scaled(max_unavailable, desired, false, quarter_down, unavailable, ei);
    if (err != ERR_OK)
        return err_wrap(ei, err, "spec.strategy.rollingUpdate.maxUnavailable");
    if (*surge == 0 && *unavailable == 0)
        *unavailable = 1; /* 10 % of 3 is nothing: without this the rollout could not begin */
    if (*unavailable > desired)
        *unavailable = desired;
    return ERR_OK;
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

static int total_replicas(const struct rollout *r)
{
    int total = r->fresh.replicas;
    for (size_t i = 0; i < r->old_count; i++)
        total += r->old[i].replicas;
    return total;
}

static int total_available(const struct rollout *r)
{
    int total = r->fresh.available;
    for (size_t i = 0; i < r->old_count; i++)
        total += r->old[i].available;
    return total;
}

bool rollout_grow(struct rollout *r)
{
    if (r->fresh.replicas == r->desired)
        return false;
    if (r->fresh.replicas > r->desired) {
        r->fresh.replicas = r->desired;
        return true;
    }
    int room = r->desired + r->surge - total_replicas(r);
    if (room <= 0)
        return false;
    r->fresh.replicas += lesser(room, r->desired - r->fresh.replicas);
    return true;
}

/* Takes replicas that are not available from the old sets, at most `most`. */
static int drop_unavailable(struct rollout *r, int most)
{
    int dropped = 0;
    for (size_t i = 0; i < r->old_count && dropped < most; i++) {
        int idle = r->old[i].replicas - r->old[i].available;
        if (idle <= 0)
            continue;
        int step = lesser(idle, most - dropped);
        r->old[i].replicas -= step;
        dropped += step;
    }
    return dropped;
}

bool rollout_shrink(struct rollout *r)
{
    int least = r->desired - r->unavailable;
    int fresh_idle = r->fresh.replicas - r->fresh.available;
    int most = total_replicas(r) - least - fresh_idle;
    if (most <= 0)
        return false;

    int dropped = drop_unavailable(r, most);
    int spare = total_available(r) - least;
    for (size_t i = 0; i < r->old_count && spare > 0; i++) {
        int step = lesser(r->old[i].replicas, spare);
        r->old[i].replicas -= step;
        spare -= step;
        dropped += step;
    }
    return dropped > 0;
}
