#include "real/releases.h"

#include <string.h>

#include "health.h"
#include "random_edits/invariant.h"

enum {
    SAMPLES = 256,
    WITHIN_MS = 5000, /* how long ago a pod may have been seen that a step counts on */
    OWNED_MS = 2000,  /* in which a controller learns of a new autoscaler */
};

/* Ready pods of both sides. */
struct sample {
    int64_t at_ms;
    size_t primary, canary;
};

/* A Canary, and what is remembered of it. */
struct release {
    struct release *next;
    struct app app; /* its name is that of the target and of the Services */
    struct sample samples[SAMPLES];
    size_t n_samples;
    const char *admitted; /* the checksum that its gate has let in last, "" none; NULL: not asked */
    const char *owner;    /* what is wrong, and has been told */
    const char *told, *health;
};

struct releases {
    struct arena *arena;
    struct view *view;
    struct release *first;
    int64_t now_ms, scaler_ms; /* when an autoscaler was changed */
    void (*fn)(void *arg, const char *rule, const char *sentence);
    void *arg;
};

/* Tells a sentence when it is another one than at the last look; NULL: all is well. */
static void tell(struct releases *releases, const char *rule, const char **known,
                 const char *sentence)
{
    bool same = sentence && *known && strcmp(sentence, *known) == 0;
    *known = sentence;
    if (sentence && !same)
        releases->fn(releases->arg, rule, sentence);
}

static struct release *release_named(struct releases *releases, const char *pattern,
                                     const char *name)
{
    for (struct release *it = releases->first; it; it = it->next)
        if (strcmp(user_name(releases->arena, pattern, it->app.name), name) == 0)
            return it;
    return NULL;
}

static const char *name_of(struct json_object *object)
{
    const char *name = json_str_at(object, "metadata", "name", NULL);
    return name ? name : "";
}

static struct json_object *canary_of(const struct releases *releases, const struct release *release)
{
    return view_get(releases->view, &user_canaries, release->app.name);
}

/* Canaries whose target, Services and name are one; of others nothing is asked here. */
static struct release *release_of(struct releases *releases, struct json_object *canary)
{
    const char *name = name_of(canary);
    const char *kind = json_str_at(canary, "spec", "targetRef", "kind", NULL);
    const char *target = json_str_at(canary, "spec", "targetRef", "name", NULL);
    const char *service = json_str_at(canary, "spec", "service", "name", NULL);
    struct release *release = release_named(releases, "NAME", name);
    if (release || !kind || !target || strcmp(kind, "Service") == 0 || strcmp(target, name) != 0 ||
        (service && strcmp(service, name) != 0))
        return release;
    release = ARENA_NEW(releases->arena, struct release);
    *release =
        (struct release){.next = releases->first, .app.name = arena_strdup(releases->arena, name)};
    releases->first = release;
    return release;
}

/* --- owner */

static bool is_set_up(struct json_object *canary)
{
    const char *phase = json_str_at(canary, "status", "phase", NULL);
    return phase && strcmp(phase, "Initializing") != 0 && strncmp(phase, "Terminat", 8) != 0 &&
           !json_at(canary, "metadata", "deletionTimestamp", NULL);
}

static void check_owners(struct releases *releases)
{
    for (struct release *it = releases->first; it; it = it->next)
        tell(releases, "owner", &it->owner,
             is_set_up(canary_of(releases, it))
                 ? invariant_owner(releases->arena, releases->view, &it->app)
                 : NULL);
}

/* --- capacity */

static size_t ready_pods(const struct releases *releases, const struct release *release,
                         const char *service)
{
    const char *name = user_name(releases->arena, service, release->app.name);
    struct json_object *selector =
        json_at(view_get(releases->view, &kube_services, name), "spec", "selector", NULL);
    return view_pods(releases->view, selector, true);
}

static void take_samples(struct releases *releases)
{
    for (struct release *it = releases->first; it; it = it->next)
        it->samples[it->n_samples++ % SAMPLES] =
            (struct sample){.at_ms = releases->now_ms,
                            .primary = ready_pods(releases, it, "NAME-primary"),
                            .canary = ready_pods(releases, it, "NAME-canary")};
}

/* The least and the most of the last seconds, and of the moment before them. */
static struct sides sides_of(const struct releases *releases, const struct release *release)
{
    struct sides out = {.primary_least = SIZE_MAX, .canary_least = SIZE_MAX};
    size_t kept = release->n_samples < SAMPLES ? release->n_samples : SAMPLES;
    for (size_t i = 1; i <= kept; i++) {
        const struct sample *it = &release->samples[(release->n_samples - i) % SAMPLES];
        out.primary_least = it->primary < out.primary_least ? it->primary : out.primary_least;
        out.primary_most = it->primary > out.primary_most ? it->primary : out.primary_most;
        out.canary_least = it->canary < out.canary_least ? it->canary : out.canary_least;
        out.canary_most = it->canary > out.canary_most ? it->canary : out.canary_most;
        if (releases->now_ms - it->at_ms > WITHIN_MS)
            break;
    }
    return out;
}

static void check_step(struct releases *releases, struct json_object *before,
                       struct json_object *now)
{
    struct release *release = release_named(releases, "NAME", name_of(now));
    if (!release || !invariant_is_by_controller(before, now) ||
        invariant_any_capacity(canary_of(releases, release)))
        return;
    struct sides sides = sides_of(releases, release);
    const char *none = NULL;
    tell(releases, "capacity", &none,
         invariant_capacity(releases->arena, before, now, &sides,
                            invariant_most(releases->view, release->app.name)));
}

/* --- number */

static void check_number(struct releases *releases, struct json_object *before,
                         struct json_object *now)
{
    struct release *primary = release_named(releases, "NAME-primary", name_of(now));
    struct release *release = primary ? primary : release_named(releases, "NAME", name_of(now));
    if (!release || releases->now_ms - releases->scaler_ms < OWNED_MS)
        return;
    const char *own =
        json_str_at(canary_of(releases, release), "spec", "autoscalerRef", "name", NULL);
    const char *none = NULL;
    if (own && primary)
        own = arena_printf(releases->arena, "%s-primary", own);
    tell(releases, "number", &none,
         invariant_number(releases->arena, releases->view, own, before, now));
}

/* --- gate */

static const char *hook_type(struct json_object *canary, const char *hook)
{
    struct json_object *hooks = json_at(canary, "spec", "analysis", "webhooks", NULL);
    for (size_t i = 0; i < json_len(hooks); i++) {
        const char *name = json_str_at(json_elem(hooks, i), "name", NULL);
        if (name && strcmp(name, hook) == 0)
            return json_str_at(json_elem(hooks, i), "type", NULL);
    }
    return NULL;
}

/* Hooks of a release are asked about what its gate has let in. A rollback hook may ask about what
 * was pushed behind it, and an event tells of anything. */
static void check_gate(struct releases *releases, struct json_object *call)
{
    static const char *const free_of_it[] = {"event", "rollback"};
    const char *name = json_str_at(call, "canary", NULL), *hook = json_str_at(call, "hook", NULL);
    const char *checksum = json_str_at(call, "checksum", NULL);
    struct release *release = name ? release_named(releases, "NAME", name) : NULL;
    const char *type = release && hook ? hook_type(canary_of(releases, release), hook) : NULL;
    if (!type || !checksum)
        return;
    for (size_t i = 0; i < sizeof(free_of_it) / sizeof(free_of_it[0]); i++)
        if (strcmp(type, free_of_it[i]) == 0)
            return;
    if (strcmp(type, "confirm-rollout") == 0) {
        if (json_bool_at(call, false, "passes", NULL))
            release->admitted = arena_strdup(releases->arena, checksum);
        else if (!release->admitted || strcmp(release->admitted, checksum) != 0)
            release->admitted = "";
        return;
    }
    const char *none = NULL;
    if (release->admitted && strcmp(release->admitted, checksum) != 0)
        tell(releases, "gate", &none,
             arena_printf(releases->arena,
                          "hook %s of Canary %s is asked about %s, and its gate has let in %s",
                          hook, name, checksum,
                          *release->admitted ? release->admitted : "nothing"));
}

/* --- told and health */

static void check_event(struct releases *releases, struct json_object *event)
{
    const char *about = json_str_at(event, "involvedObject", "name", NULL);
    struct release *release = about ? release_named(releases, "NAME", about) : NULL;
    view_event(releases->view, event, releases->now_ms);
    if (release)
        tell(
            releases, "told", &release->told,
            invariant_told(releases->arena, view_warning(releases->view, about), releases->now_ms));
}

static void check_status(struct releases *releases, struct json_object *canary)
{
    struct release *release = release_of(releases, canary);
    const char *fault = health_fault(canary);
    if (release)
        tell(releases, "health", &release->health,
             fault ? arena_printf(releases->arena, "the status of Canary %s: %s", name_of(canary),
                                  fault)
                   : NULL);
}

/* --- what comes */

static void on_change(void *arg, const struct kube_resource *resource, struct json_object *before,
                      struct json_object *now)
{
    struct releases *releases = arg;
    if (kube_resource_same(resource, &kube_hpas))
        releases->scaler_ms = releases->now_ms;
    else if (now && before && kube_resource_same(resource, &user_routes))
        check_step(releases, before, now);
    else if (now && before && kube_resource_same(resource, &kube_deployments))
        check_number(releases, before, now);
}

struct releases *releases_new(struct arena *arena,
                              void (*fn)(void *arg, const char *rule, const char *sentence),
                              void *arg)
{
    struct releases *releases = ARENA_NEW(arena, struct releases);
    *releases =
        (struct releases){.arena = arena, .view = view_new(NULL, NULL), .fn = fn, .arg = arg};
    view_on_change(releases->view, on_change, releases);
    return releases;
}

void releases_see(struct releases *releases, const char *kind, struct json_object *object,
                  bool gone, int64_t now_ms)
{
    static const struct kube_resource *const kinds[] = {
        &user_canaries, &kube_deployments, &kube_services, &user_routes, &user_pods, &kube_hpas,
    };
    releases->now_ms = now_ms;
    if (strcmp(kind, "Hook") == 0)
        check_gate(releases, object);
    else if (strcmp(kind, "Event") == 0 && !gone)
        check_event(releases, object);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i]->kind, kind) != 0)
            continue;
        view_put(releases->view, kinds[i], object, gone);
        if (kinds[i] == &user_canaries && !gone)
            check_status(releases, object);
        if (kinds[i] == &user_pods || kinds[i] == &kube_services)
            take_samples(releases);
        check_owners(releases);
    }
}

void releases_free(struct releases *releases)
{
    view_free(releases->view);
}
