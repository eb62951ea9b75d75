/*
 * Load from many pods: job is an indexed Job of Kubernetes, k6 a TestRun of the k6 operator. Both
 * are made from a template provided by the load tester's operator (load/template.h), once per step
 * of a release, and are watched by load/loads.c.
 */
#include "loadtester/load/template.h"
#include "loadtester/task.h"

static enum err make_load(struct arena *arena, const struct webhook_message *message,
                          const struct task_policy *policy, const struct kube_resource *resource,
                          struct task_plan *out, struct errinfo *ei)
{
    struct load_order *order = ARENA_NEW(arena, struct load_order);
    enum err err = load_order_make(arena, message, policy->load, resource, order, ei);

    if (err == ERR_OK)
        err = task_read_bounds(message, &out->bounds, ei);
    if (err != ERR_OK)
        return err;
    out->load = order;
    out->text = out->key = arena_printf(arena, "%s %s of %lld pods", resource->kind,
                                        order->template_, (long long)order->pods);
    return ERR_OK;
}

static enum err make_job(struct arena *arena, const struct webhook_message *message,
                         const struct task_policy *policy, struct task_plan *out,
                         struct errinfo *ei)
{
    return make_load(arena, message, policy, &load_jobs, out, ei);
}

static enum err make_k6(struct arena *arena, const struct webhook_message *message,
                        const struct task_policy *policy, struct task_plan *out, struct errinfo *ei)
{
    return make_load(arena, message, policy, &load_testruns, out, ei);
}

const struct task_type task_type_job = {.name = "job", .make = make_job};
const struct task_type task_type_k6 = {.name = "k6", .make = make_k6};
