#include "random_edits/heal.h"

#include <string.h>

#include "base/clock.h"

#define LAST "v9999"

enum { LIMIT_MS = 90 * 1000, PAUSE_MS = 500, ANEW_MS = 15000, AGAIN_MS = 12000 };

enum heal_state { HEAL_OBJECTS, HEAL_CANARY, HEAL_SPEC, HEAL_TARGET, HEAL_WATCHING, HEAL_DONE };

struct heal {
    struct heal_options options;
    enum heal_state state;
    int64_t began_ms, next_ms, pushed_ms;
    int waiting; /* answers that are to come */
    bool anew;   /* the Canary was deleted, to start over */
    bool mended; /* its target, for it to go */
    bool raised; /* its primary, which somebody had scaled to zero */
};

bool heal_done(const struct heal *heal)
{
    return heal->state == HEAL_DONE;
}

static void on_answer(void *arg, const struct kube_result *result)
{
    struct heal *heal = arg;
    (void)result; /* what was refused is seen at the end */
    heal->waiting--;
}

static void ask(struct heal *heal, enum kube_verb verb, const struct kube_resource *resource,
                const char *name, struct json_object *body)
{
    struct kube_request request = {.verb = verb,
                                   .resource = resource,
                                   .namespace_ = USER_NAMESPACE,
                                   .name = verb == KUBE_CREATE ? NULL : name,
                                   .body = body,
                                   .purpose = KUBE_LEASE};
    heal->waiting++;
    kube_send(heal->options.kube, &request, on_answer, heal);
}

/* No policy is in force any more. */
static void take_writes(struct heal *heal)
{
    const struct heal_options *o = &heal->options;
    struct kube_request request = {.verb = KUBE_DELETE,
                                   .raw_path = "/sandbox/faults",
                                   .query = arena_printf(o->arena, "path=/%s", o->app->name),
                                   .purpose = KUBE_LEASE};
    heal->waiting++;
    kube_send(o->kube, &request, on_answer, heal);
    judge_allow(o->judge, o->app);
}

struct heal *heal_new(const struct heal_options *options)
{
    struct heal *heal = ARENA_NEW(options->arena, struct heal);
    *heal = (struct heal){.options = *options, .began_ms = clock_monotonic_ms()};
    stage_answer(options->stage, options->app->name, "fine");
    take_writes(heal);
    return heal;
}

static struct json_object *canary_of(const struct heal *heal)
{
    return view_get(heal->options.view, &user_canaries, heal->options.app->name);
}

/* A selector cannot be changed: the Deployment has to be recreated. */
static bool is_reselected(const struct heal *heal)
{
    const struct heal_options *o = &heal->options;
    struct json_object *target = view_get(o->view, &kube_deployments, o->app->name);
    return target && !json_same(json_at(target, "spec", "selector", "matchLabels", NULL),
                                app_labels(o->arena, o->app, o->app->name));
}

/* Nobody knows what it held: the condition PrimaryConfigured has asked a person. */
static struct json_object *copy_of(const struct heal *heal, struct json_object *config)
{
    struct json_object *metadata = json_sub(config, "metadata");
    const char *name = json_str_at(metadata, "name", NULL);
    json_set_str(metadata, "name", arena_printf(heal->options.arena, "%s-primary", name));
    return config;
}

/* What should not be there goes first. */
static void put_objects(struct heal *heal)
{
    const struct heal_options *o = &heal->options;
    const char *twin = user_name(o->arena, "NAME-twin", o->app->name);
    static const char *const scalers[] = {"NAME-own", "NAME-other"};
    if (view_get(o->view, &user_canaries, twin))
        ask(heal, KUBE_DELETE, &user_canaries, twin, NULL);
    for (size_t i = 0; i < sizeof(scalers) / sizeof(scalers[0]); i++) {
        const char *name = user_name(o->arena, scalers[i], o->app->name);
        if (view_get(o->view, &kube_hpas, name))
            ask(heal, KUBE_DELETE, &kube_hpas, name, NULL);
    }
    if (is_reselected(heal)) {
        judge_harm(o->judge, o->app); /* it may be who serves */
        ask(heal, KUBE_DELETE, &kube_deployments, o->app->name, NULL);
        return;
    }
    if (o->app->hashed) {
        ask(heal, KUBE_CREATE, &kube_configmaps, NULL, app_hashed_map(o->arena, o->app, "v1"));
        ask(heal, KUBE_CREATE, &kube_configmaps, NULL, app_hashed_map(o->arena, o->app, LAST));
    }
    if (o->app->configs) {
        ask(heal, KUBE_CREATE, &kube_configmaps, NULL, app_config_map(o->arena, o->app));
        ask(heal, KUBE_CREATE, &kube_secrets, NULL, app_secret(o->arena, o->app));
        ask(heal, KUBE_CREATE, &kube_configmaps, NULL,
            copy_of(heal, app_config_map(o->arena, o->app)));
        ask(heal, KUBE_CREATE, &kube_secrets, NULL, copy_of(heal, app_secret(o->arena, o->app)));
    }
    if (o->app->scaler)
        ask(heal, KUBE_CREATE, &kube_hpas, NULL, app_scaler(o->arena, o->app));
    ask(heal, KUBE_CREATE, &kube_deployments, NULL,
        app_deployment(o->arena, o->app, o->app->name, "v1"));
    heal->state = HEAL_CANARY;
}

/* The last version. */
static void push_target(struct heal *heal)
{
    const struct heal_options *o = &heal->options;
    struct json_object *target = app_deployment(o->arena, o->app, o->app->name, LAST);
    struct json_object *patch = json_own(o->arena, json_object_new_object());
    json_set(json_sub(json_sub(patch, "spec"), "template"), "spec",
             json_at(target, "spec", "template", "spec", NULL));
    ask(heal, KUBE_MERGE_PATCH, &kube_deployments, o->app->name, patch);
}

/* A Canary that is being deleted has to go first; it waits for a target that can serve. */
static void put_canary(struct heal *heal)
{
    const struct heal_options *o = &heal->options;
    struct json_object *canary = canary_of(heal);
    if (canary && json_at(canary, "metadata", "deletionTimestamp", NULL)) {
        if (!heal->mended)
            push_target(heal);
        heal->mended = true;
        return;
    }
    if (canary) {
        heal->state = HEAL_SPEC;
        return;
    }
    ask(heal, KUBE_CREATE, &user_canaries, NULL,
        app_canary(o->arena, o->app, stage_hooks(o->stage)));
}

static void put_spec(struct heal *heal)
{
    const struct heal_options *o = &heal->options;
    struct json_object *base = app_canary(o->arena, o->app, stage_hooks(o->stage));
    struct json_object *patch =
        user_json(o->arena, "[{'op':'replace','path':'/spec'}]", NULL, NULL);
    json_set(json_elem(patch, 0), "value", json_at(base, "spec", NULL));
    ask(heal, KUBE_JSON_PATCH, &user_canaries, o->app->name, patch);
    heal->state = HEAL_TARGET;
}

static void put_target(struct heal *heal)
{
    push_target(heal);
    heal->pushed_ms = clock_monotonic_ms();
    heal->state = HEAL_WATCHING;
}

static bool has_arrived(const struct heal *heal)
{
    const struct heal_options *o = &heal->options;
    struct json_object *canary = canary_of(heal);
    const char *phase = json_str_at(canary, "status", "phase", NULL);
    return phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Initialized") == 0) &&
           clients_all_get(o->clients, o->app, LAST);
}

/*
 * A primary that somebody has deleted is only made from what was promoted, which nobody has any
 * more once the target holds another revision: the Canary has to be recreated, as its Warning says.
 */
static bool begin_anew(struct heal *heal, int64_t now)
{
    const struct heal_options *o = &heal->options;
    const char *primary = user_name(o->arena, "NAME-primary", o->app->name);
    if (heal->anew || now - heal->began_ms < ANEW_MS ||
        view_get(o->view, &kube_deployments, primary))
        return false;
    heal->anew = true;
    ask(heal, KUBE_DELETE, &user_canaries, o->app->name, NULL);
    heal->state = HEAL_CANARY;
    return true;
}

/* The routes of a name that the Canary had for a while stay, and may be older than its own: who
 * gives it back the name that it had deletes them, as the event says. */
static void delete_left_routes(struct heal *heal)
{
    static const char *const left[] = {"NAME-apex", "NAME-two", "bystander"};
    const struct heal_options *o = &heal->options;
    const char *served = json_str_at(canary_of(heal), "status", "serviceName", NULL);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        if (!served || strcmp(served, o->app->name) != 0)
            return;
        const char *name = user_name(o->arena, left[i], o->app->name);
        if (view_get(o->view, &user_routes, name))
            ask(heal, KUBE_DELETE, &user_routes, name, NULL);
    }
}

/* A release may fail when the machine is so busy that its requests are not measured in time. */
static void try_again(struct heal *heal, int64_t now)
{
    const struct heal_options *o = &heal->options;
    const char *phase = json_str_at(canary_of(heal), "status", "phase", NULL);
    if (!phase || strcmp(phase, "Failed") != 0 || now - heal->pushed_ms < AGAIN_MS)
        return;
    heal->pushed_ms = now;
    ask(heal, KUBE_MERGE_PATCH, &kube_deployments, o->app->name,
        user_json(
            o->arena,
            arena_printf(o->arena,
                         "{'spec':{'template':{'metadata':{'annotations':{'again':'%lld'}}}}}",
                         (long long)now),
            NULL, NULL));
}

/* A primary that a person has scaled to zero stays there, and the Canary asks for it. */
static void raise_primary(struct heal *heal)
{
    const struct heal_options *o = &heal->options;
    const char *name = user_name(o->arena, "NAME-primary", o->app->name);
    struct json_object *primary = view_get(o->view, &kube_deployments, name);
    if (heal->raised || json_int_at(primary, 1, "spec", "replicas", NULL) > 0)
        return;
    heal->raised = true;
    ask(heal, KUBE_MERGE_PATCH, &kube_deployments, name,
        user_json(o->arena, "{'spec':{'replicas':1}}", NULL, NULL));
}

/* A Canary that a person has paused stays so until one resumes it. */
static void resume(struct heal *heal)
{
    const struct heal_options *o = &heal->options;
    const char *revision = view_revision(o->arena, o->view, o->app->name);
    if (!json_at(canary_of(heal), "status", "paused", NULL) || !revision)
        return;
    struct json_object *request =
        user_json(o->arena,
                  "{'apiVersion':'flagger.app/v1alpha1','kind':'ReleaseRequest','metadata':{"
                  "'name':'NAME','namespace':'test'},'spec':{'action':'resume','by':'user'}}",
                  o->app->name, NULL);
    json_set_str(json_sub(request, "spec"), "revision", revision);
    ask(heal, KUBE_CREATE, &user_requests, NULL, request);
}

static void tell_lost(struct heal *heal)
{
    const struct heal_options *o = &heal->options;
    struct json_object *canary = canary_of(heal);
    struct json_object *status = json_copy(o->arena, json_at(canary, "status", NULL));
    const struct warning *warning = view_warning(o->view, o->app->name);
    if (status)
        json_object_object_del(status, "acceptedSpec");
    judge_break(o->judge, o->app, "lost",
                "%d s after all was put right, the last version does not serve; last Warning "
                "(%d s ago): %s; status %s",
                LIMIT_MS / 1000,
                warning ? (int)((clock_monotonic_ms() - warning->at_ms) / 1000) : -1,
                warning ? warning->message : "none", json_text(o->arena, status));
}

void heal_step(struct heal *heal)
{
    static void (*const steps[])(struct heal * heal) = {[HEAL_OBJECTS] = put_objects,
                                                        [HEAL_CANARY] = put_canary,
                                                        [HEAL_SPEC] = put_spec,
                                                        [HEAL_TARGET] = put_target};
    int64_t now = clock_monotonic_ms();
    if (heal->state == HEAL_DONE || now < heal->next_ms || heal->waiting > 0)
        return;
    heal->next_ms = now + PAUSE_MS;
    if (judge_broken(heal->options.judge, heal->options.app)) {
        heal->state = HEAL_DONE;
    } else if (now - heal->began_ms > LIMIT_MS) {
        tell_lost(heal);
        heal->state = HEAL_DONE;
    } else if (heal->state == HEAL_WATCHING && !canary_of(heal)) {
        heal->state = HEAL_CANARY; /* its deletion was not known yet when it was looked at */
    } else if (heal->state == HEAL_WATCHING) {
        delete_left_routes(heal);
        raise_primary(heal);
        resume(heal);
        try_again(heal, now);
        if (!begin_anew(heal, now) && has_arrived(heal))
            heal->state = HEAL_DONE;
    } else {
        steps[heal->state](heal);
    }
}
