#include "model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "looks.h"
#include "router/shared/services.h"
#include "test/health.h"
#include "test/rows.h"
#include "tick/wake.h"

struct happening {
    uint32_t event, version;
    uint32_t place;
    /* --- identity ends */
    uint32_t value; /* version + 1 */
};

/* --- what happens */

static void touch(struct json_object *tree)
{
    struct json_object *metadata = json_sub(tree, "metadata");

    json_set_int(metadata, "generation", json_int_at(metadata, 1, "generation", NULL) + 1);
}

static bool push(struct arena *arena, struct json_object *tree, const struct event *event)
{
    struct json_object *before = json_copy(arena, tree);

    event->kind->push(tree, event->number);
    if (json_same(before, tree))
        return false;
    touch(tree);
    return true;
}

static bool settle(struct arena *arena, struct json_object *tree, const struct event *event)
{
    (void)arena;
    return event->kind->settle(tree, (enum health)event->number);
}

static bool take_over(struct arena *arena, struct json_object *tree, const struct event *event)
{
    if (event->kind->take_over) {
        event->kind->take_over(tree);
        return true;
    }
    struct json_object *given = json_at(tree, "spec", "parentRefs", NULL);
    struct json_object *status =
        rows_json(arena, "{'parents':[{'controllerName':'example.com/gateway','conditions':[{"
                         "'type':'Accepted','status':'True'}]}]}");
    struct json_object *parent = json_elem(json_at(status, "parents", NULL), 0);

    json_set(parent, "parentRef", json_elem(given, 0));
    json_set_int(json_elem(json_at(parent, "conditions", NULL), 0), "observedGeneration",
                 json_int_at(tree, 1, "metadata", "generation", NULL));
    json_set(tree, "status", status);
    return true;
}

/* Texts that are one of the first two times become the other. */
static bool grow_old(struct json_object *tree, const char *const from[2], const char *to)
{
    bool any = false;

    if (json_object_is_type(tree, json_type_array)) {
        for (size_t i = 0; i < json_len(tree); i++)
            any = grow_old(json_elem(tree, i), from, to) || any;
    }
    if (!json_object_is_type(tree, json_type_object))
        return any;
    json_object_object_foreach(tree, key, value)
    {
        const char *text = json_str_at(tree, key, NULL);
        if (text && (strcmp(text, from[0]) == 0 || strcmp(text, from[1]) == 0)) {
            json_object_set_string(value, to);
            any = true;
        }
        any = grow_old(value, from, to) || any;
    }
    return any;
}

static bool pass_time(struct arena *arena, struct json_object *tree, const struct event *event)
{
    bool days = event->number == EVENT_DAYS;
    const char *const from[2] = {ticks_now, days ? ticks_lately : ticks_now};

    (void)arena;
    bool looked = looks_grow_old(tree);
    return grow_old(tree, from, days ? ticks_past : ticks_lately) || looked;
}

static bool pass_look(struct arena *arena, struct json_object *tree, const struct event *event)
{
    (void)arena;
    (void)event;
    return looks_grow_old(tree);
}

/* Where no other time passes, that between moving traffic and taking away what it came from does.
 */
static bool pass_pause(struct arena *arena, struct json_object *tree, const struct event *event)
{
    struct json_object *conditions = json_at(tree, "status", "conditions", NULL);
    const char *const from[2] = {ticks_now, ticks_now};
    bool any = looks_grow_old(tree);

    (void)arena;
    (void)event;
    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        if (type && (strcmp(type, "Drained") == 0 || strcmp(type, "PortsFollowed") == 0 ||
                     strcmp(type, "RouteReplaced") == 0))
            any = grow_old(json_elem(conditions, i), from, ticks_lately) || any;
    }
    return any;
}

/* Handled where it is called: the object is replaced or goes. */
static bool do_deed(struct arena *arena, struct json_object *tree, const struct event *event)
{
    (void)arena;
    (void)tree;
    (void)event;
    return true;
}

static uint16_t deed_on(struct model *model, int place, const struct event *event, uint16_t version)
{
    struct arena *arena = arena_new();
    uint16_t out = version;

    if (event->makes)
        out = version == ABSENT ? objects_put(model->objects, place, rows_json(arena, event->patch))
                                : version;
    else if (version == ABSENT)
        out = ABSENT;
    else if (!event->deletes)
        out = objects_apply(model->objects, place, version,
                            objects_patch(model->objects, rows_json(arena, event->patch)));
    else if (json_len(json_at(objects_tree(model->objects, place, version), "metadata",
                              "finalizers", NULL)) == 0)
        out = ABSENT;
    else
        out = objects_apply(
            model->objects, place, version,
            objects_patch(model->objects, rows_json(arena, "{'metadata':{'deletionTimestamp':"
                                                           "'2023-11-14T22:13:20Z'}}")));
    arena_free(arena);
    return out;
}

static uint16_t change(struct model *model, int place, const struct event *event, uint16_t version)
{
    struct arena *arena = arena_new();
    struct json_object *tree = json_copy(arena, objects_tree(model->objects, place, version));
    uint16_t out = version;

    if (event->change == do_deed)
        out = deed_on(model, place, event, version);
    else if (tree && event->change(arena, tree, event))
        out = objects_put(model->objects, place, tree);
    arena_free(arena);
    return out;
}

static uint16_t happen_at(struct model *model, int event, int place, uint16_t version)
{
    struct happening identity = {
        .event = (uint32_t)event, .version = version, .place = (uint32_t)place};
    uint32_t number = pool_put(&model->happened, &identity, NULL);
    struct happening *found = pool_at(&model->happened, number);

    if (!found->value)
        found->value = 1u + change(model, place, &model->events[event], version);
    return (uint16_t)(found->value - 1);
}

/* Where the pods of the target or of the primary are told of; -1: nowhere. */
static int pods_place(struct model *model, const struct cluster *cluster, enum role role)
{
    int place = model->place[role];
    char key[100];

    if (!model->kind->named)
        return place;
    const char *name = model->kind->named(objects_tree(model->objects, place, cluster->at[place]),
                                          role == ROLE_PRIMARY);
    if (!name)
        return -1;
    snprintf(key, sizeof(key), "revisions/%s", name);
    return objects_place(model->objects, key);
}

bool model_happen(struct model *model, int event, struct cluster *cluster)
{
    const struct event *what = &model->events[event];
    int first = what->place < 0 ? 0 : what->place;
    int last = what->place < 0 ? objects_places(model->objects) - 1 : what->place;
    bool any = false;

    if (what->change == settle)
        first = last = pods_place(model, cluster, event < 3 ? ROLE_TARGET : ROLE_PRIMARY);
    for (int place = first; place >= 0 && place <= last; place++) {
        uint16_t version = happen_at(model, event, place, cluster->at[place]);
        any = any || version != cluster->at[place];
        cluster->at[place] = version;
    }
    return any;
}

/* --- which events there are */

static void add_event(struct model *model, struct event event)
{
    assert(model->n_events < MAX_EVENTS);
    model->events[model->n_events++] = event;
}

/* In the order of model.h. */
static void add_world(struct model *model)
{
    static const char *const what[2][3] = {
        {"the canary's pods get ready", "the canary's pods are not ready",
         "the canary's pods run into their deadline"},
        {"the primary's pods get ready", "the primary's pods are not ready",
         "the primary's pods run into their deadline"}};

    for (int side = 0; side < 2; side++) {
        for (int health = 0; health < 3; health++)
            add_event(model,
                      (struct event){.what = what[side][health],
                                     .place = model->place[side == 0 ? ROLE_TARGET : ROLE_PRIMARY],
                                     .change = settle,
                                     .kind = model->kind,
                                     .number = health});
    }
    add_event(model, (struct event){.what = "the gateway takes over the route",
                                    .place = model->place[ROLE_ROUTE],
                                    .change = take_over,
                                    .kind = model->kind});
    add_event(model,
              (struct event){.what = "an interval passes",
                             .place = -1,
                             .change = model->scenario->world & WORLD_TIME_PASSES ? pass_time
                                                                                  : pass_pause,
                             .number = EVENT_MINUTES});
    add_event(model, (struct event){.what = "time passes, beyond every deadline",
                                    .place = -1,
                                    .change = pass_time,
                                    .number = EVENT_DAYS});
    add_event(model, (struct event){.what = "it is time for a look",
                                    .place = model->place[ROLE_CANARY],
                                    .change = pass_look});
}

static void add_pushes(struct model *model)
{
    static const char *const what[] = {"", "revision 1 is pushed", "revision 2 is pushed",
                                       "revision 3 is pushed"};

    for (int revision = 1; revision <= model->scenario->revisions; revision++)
        add_event(model, (struct event){.what = what[revision],
                                        .place = model->place[ROLE_TARGET],
                                        .change = push,
                                        .kind = model->kind,
                                        .number = revision});
}

static void add_deeds(struct model *model)
{
    const struct scenario *scenario = model->scenario;

    for (int i = 0; i < MAX_DEEDS && scenario->deeds[i].what; i++) {
        const struct deed *deed = &scenario->deeds[i];
        add_event(model, (struct event){.what = deed->what,
                                        .place = objects_place(model->objects, deed->key),
                                        .change = do_deed,
                                        .patch = deed->patch,
                                        .deletes = !deed->patch,
                                        .makes = deed->makes});
    }
}

/* Workloads beside podinfo do as their controller wants: their pods get ready. */
static bool settle_other(struct arena *arena, struct json_object *tree, const struct event *event)
{
    const char *name = json_str_at(tree, "metadata", "name", NULL);
    const char *kind = json_str_at(tree, "kind", NULL);

    (void)arena;
    return name && kind && strncmp(name, "other", 5) == 0 && strcmp(kind, "Deployment") == 0 &&
           event->kind->settle(tree, HEALTH_READY);
}

static void add_others(struct model *model)
{
    for (int i = 0; i < MAX_OBJECTS && model->scenario->objects[i].key; i++) {
        if (strcmp(model->scenario->objects[i].key, "deployments/other") == 0)
            add_event(model, (struct event){.what = "the pods of other workloads get ready",
                                            .place = -1,
                                            .change = settle_other,
                                            .kind = model->kind});
    }
}

static int place_of(struct model *model, const char *plural, const char *name)
{
    char key[100];

    snprintf(key, sizeof(key), "%s/%s", plural, name);
    return objects_place(model->objects, key);
}

/* What a metric that stays away leads to is walked without the judge. */
static void ask_less(struct ticks *ticks)
{
    uint8_t allowed[QUESTIONS];

    memset(allowed, 0xff, sizeof(allowed));
    allowed[Q_METRIC] = 1 << PASS | 1 << FAIL;
    ticks_allow(ticks, allowed);
}

/* The parts that only some scenarios have. */
static void add_parts(struct model *model)
{
    static const struct {
        enum role role;
        const char *key;
        void (*tell)(struct ticks *ticks, int place);
    } parts[] = {{ROLE_RIVAL, "canaries/rival", ticks_rival},
                 {ROLE_FLAGS, "flags/controller", ticks_flags},
                 {ROLE_REFUSALS, "refusals/podinfo", ticks_refusals}};

    for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++) {
        model->place[parts[part].role] = -1;
        for (int i = 0; i < MAX_OBJECTS && model->scenario->objects[i].key; i++) {
            if (strcmp(model->scenario->objects[i].key, parts[part].key) != 0)
                continue;
            model->place[parts[part].role] = objects_place(model->objects, parts[part].key);
            parts[part].tell(model->ticks, model->place[parts[part].role]);
        }
    }
}

struct model *model_new(const struct scenario *scenario)
{
    struct model *model = heap_alloc(sizeof(*model));
    const struct kind *kind = kind_find(scenario->kind);

    assert(kind);
    *model = (struct model){.scenario = scenario, .kind = kind, .objects = objects_new()};
    model->place[ROLE_CANARY] = place_of(model, "canaries", "podinfo");
    model->place[ROLE_TARGET] = place_of(model, kind->plural, "podinfo");
    model->place[ROLE_PRIMARY] = place_of(model, kind->plural, "podinfo-primary");
    model->place[ROLE_APEX] = place_of(model, "services", "podinfo");
    model->place[ROLE_ROUTE] = place_of(model, "httproutes", "podinfo");
    if (scenario->canary && strstr(scenario->canary, "\"kubernetes\"") &&
        (strstr(scenario->canary, "\"steps\"") || strstr(scenario->canary, "\"bake\"")))
        model->place[ROLE_ROUTE] = model->place[ROLE_APEX];
    if (kind->named) /* it is all in one object */
        model->place[ROLE_PRIMARY] = model->place[ROLE_ROUTE] = model->place[ROLE_TARGET];
    model->place[ROLE_CONFIG] = place_of(model, "configmaps", "settings");
    model->place[ROLE_CONFIG_COPY] = place_of(model, "configmaps", "settings-primary");
    model->place[ROLE_COPY] = place_of(model, "services", "podinfo-canary");
    model->place[ROLE_SCALER_COPY] = place_of(model, "horizontalpodautoscalers", "podinfo-primary");
    model->ticks = ticks_new(model->objects, model->place[ROLE_CANARY]);
    if (scenario->judged)
        ask_less(model->ticks);
    add_parts(model);
    if (strstr(scenario->name, "in a row"))
        ticks_remember(model->ticks);
    if (scenario->canary && strstr(scenario->canary, "revisions")) /* of spec.rollback */
        ticks_lead_back(model->ticks);
    if (scenario->canary && strstr(scenario->canary, "maxDuration"))
        ticks_date(model->ticks);
    pool_init(&model->happened, offsetof(struct happening, value), sizeof(struct happening));
    pool_init(&model->clusters, sizeof(struct cluster), sizeof(struct cluster));
    add_world(model);
    add_pushes(model);
    add_deeds(model);
    add_others(model);
    return model;
}

void model_free(struct model *model)
{
    for (int i = 0; i < SLOTS; i++) {
        free(model->looks[i]);
        free(model->hashes[i]);
    }
    pool_fini(&model->happened);
    pool_fini(&model->clusters);
    ticks_free(model->ticks);
    objects_free(model->objects);
    free(model);
}

struct cluster model_start(struct model *model)
{
    struct arena *arena = arena_new();
    struct cluster cluster = {0};
    struct objects *objects = model->objects;

    cluster.at[model->place[ROLE_CANARY]] =
        objects_put(objects, model->place[ROLE_CANARY], scenario_canary(arena, model->scenario));
    cluster.at[model->place[ROLE_TARGET]] =
        objects_put(objects, model->place[ROLE_TARGET], rows_json(arena, model->kind->object));
    for (int i = 0; i < MAX_OBJECTS && model->scenario->objects[i].key; i++) {
        const struct given *given = &model->scenario->objects[i];
        int place = objects_place(objects, given->key);
        struct json_object *tree =
            json_merge(arena, objects_tree(objects, place, cluster.at[place]),
                       rows_json(arena, given->object));
        cluster.at[place] = objects_put(objects, place, tree);
    }
    model_happen(model, HEALTH_READY, &cluster);
    arena_free(arena);
    return cluster;
}

void model_settle(struct model *model, struct cluster *cluster, enum health target,
                  enum health primary)
{
    if (model->kind->take_over) /* says which revision is the target's */
        model_happen(model, EVENT_GATEWAY, cluster);
    /* What is at zero can only be at rest. */
    model_happen(model, HEALTH_READY, cluster);
    model_happen(model, (int)target, cluster);
    model_happen(model, 3 + HEALTH_READY, cluster);
    model_happen(model, 3 + (int)primary, cluster);
    if (model->events[model->n_events - 1].change == settle_other)
        model_happen(model, model->n_events - 1, cluster);
    if (model->scenario->world & WORLD_GATEWAY_LAGS)
        model_happen(model, EVENT_GATEWAY, cluster);
}

bool model_wait(struct model *model, struct cluster *cluster)
{
    return model_happen(model, EVENT_MINUTES, cluster) ||
           (model->scenario->world & WORLD_TIME_PASSES && model_happen(model, EVENT_DAYS, cluster));
}

/* --- what of it is news */

static uint64_t hash_of(struct model *model, int place, uint16_t version)
{
    if (version >= model->n_hashes[place]) {
        uint32_t more = 2u * version + 64;
        model->hashes[place] = heap_grow(model->hashes[place], more * sizeof(uint64_t));
        memset(model->hashes[place] + model->n_hashes[place], 0,
               (more - model->n_hashes[place]) * sizeof(uint64_t));
        model->n_hashes[place] = more;
    }
    uint64_t *hash = &model->hashes[place][version];
    if (!*hash)
        *hash = wake_spec_hash(objects_tree(model->objects, place, version),
                               model->kind->take_over ? kube_knative_services.news : NULL);
    return *hash;
}

bool model_is_news(struct model *model, const struct cluster *before, const struct cluster *after,
                   uint32_t places, bool hears_status)
{
    for (int place = 0; place < objects_places(model->objects); place++) {
        uint16_t was = before->at[place], is = after->at[place];
        if (was == is || !(places >> place & 1))
            continue;
        struct wake_change change = {
            .known = 1,
            .now = 2,
            .status_only = was != ABSENT && is != ABSENT &&
                           hash_of(model, place, was) == hash_of(model, place, is),
            .is_canary = place == model->place[ROLE_CANARY],
        };
        if (wake_news(&change, hears_status) == WAKE_NEWS)
            return true;
    }
    return false;
}

/* --- how it looks */

static struct json_object *backend(struct json_object *rule, const char *name)
{
    struct json_object *backends = json_at(rule, "backendRefs", NULL);

    for (size_t i = 0; i < json_len(backends); i++) {
        const char *found = json_str_at(json_elem(backends, i), "name", NULL);
        if (found && strcmp(found, name) == 0)
            return json_elem(backends, i);
    }
    return NULL;
}

static void look_at_route(struct look *look, struct json_object *route)
{
    struct json_object *rules = json_at(route, "spec", "rules", NULL);
    const char *text = json_object_to_json_string(route);

    look->adds_up = true;
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *primary = backend(json_elem(rules, i), "podinfo-primary");
        struct json_object *canary = backend(json_elem(rules, i), "podinfo-canary");
        int64_t weight = json_int_at(canary, 1, "weight", NULL);
        int64_t sum = weight + json_int_at(primary, -1, "weight", NULL);
        look->canary_serves = look->canary_serves || (canary && weight > 0);
        look->rest = look->splits && primary && !canary;
        if (!primary || !canary)
            continue;
        if (weight < 0 || weight > sum || (sum != 100 && sum != 1000 && sum != WEIGHT_ALL))
            look->adds_up = false;
        look->splits = true;
        look->canary_weight = (int16_t)weight_of_total(weight, sum);
    }
    look->mirrored = strstr(text, "RequestMirror") != NULL;
    look->alone = !strstr(text, "-primary") && !strstr(text, "-canary");
    look->settled = json_int_at(route, 1, "metadata", "generation", NULL) == 1;
}

/* The apex Service of a Canary with shares by number of pods is its route. */
static void look_at_shares(struct look *look, struct json_object *service)
{
    struct json_object *selector = json_at(service, "spec", "selector", NULL);
    const char *app = json_str_at(selector, "app", NULL);
    struct arena *arena = arena_new();
    int weight;

    services_share(arena, service, &weight);
    look->canary_weight = (int16_t)weight;
    look->canary_serves = weight > 0;
    look->selects_primary = !app || strcmp(app, "podinfo-primary") == 0;
    look->adds_up = weight == 0 || (weight == WEIGHT_ALL ? !look->selects_primary : !app);
    look->alone = !look->selects_primary;
    look->splits = look->settled = true;
    arena_free(arena);
}

static void look_at_traffic(struct look *look, struct json_object *service)
{
    struct json_object *traffic = json_at(service, "spec", "traffic", NULL);
    int64_t latest = 0, named = 0;

    for (size_t i = 0; i < json_len(traffic); i++) {
        bool is_named = json_str_at(json_elem(traffic, i), "revisionName", NULL);
        *(is_named ? &named : &latest) += json_int_at(json_elem(traffic, i), 0, "percent", NULL);
        look->splits = look->splits || is_named;
    }
    look->alone = !look->splits;
    look->adds_up = !traffic || latest + named == 100;
    look->canary_weight = (int16_t)(look->splits ? latest * WEIGHT_PERCENT : 0);
    look->canary_serves = look->canary_weight > 0;
    look->settled = json_int_at(service, 1, "metadata", "generation", NULL) == 1;
}

static bool is_refused(struct json_object *spec)
{
    struct json_object *analysis = json_at(spec, "analysis", NULL);
    const char *interval = json_str_at(analysis, "interval", NULL);
    const char *provider = json_str_at(spec, "provider", NULL);

    return (provider && strcmp(provider, "nobody") == 0) || !interval ||
           strcmp(interval, "soon") == 0 || json_int_at(analysis, -1, "stepWeight", NULL) == 0;
}

static void look_at_canary(struct look *look, struct json_object *canary)
{
    struct json_object *status = json_at(canary, "status", NULL);

    look->refused = is_refused(json_at(canary, "spec", NULL));
    look->says = json_str_at(status, "phase", NULL) && json_at(status, "canaryWeight", NULL);
    look->fault = health_fault(canary);
}

static bool is_workload(const struct model *model, int place)
{
    if (model->kind->named)
        return strncmp(objects_key(model->objects, place), "revisions/", 10) == 0;
    if (strncmp(objects_key(model->objects, place), "deployments/", 12) == 0)
        return true; /* also one that is nobody's target yet */
    return place == model->place[ROLE_TARGET] || place == model->place[ROLE_PRIMARY];
}

static void look_at(struct model *model, struct look *look, int place, struct json_object *tree)
{
    const struct kind *kind = model->kind;

    look->known = true;
    look->labelled = json_at(tree, "metadata", "labels", "team", NULL) != NULL;
    if (place == model->place[ROLE_CANARY])
        look_at_canary(look, tree);
    if (!tree)
        return;
    if (is_workload(model, place)) {
        look->ready = kind->ready(tree);
        look->stuck = kind->stuck(tree);
        look->answers = look->ready ||
                        json_int_at(tree, 0, "status", "availableReplicas", NULL) > 0 ||
                        json_int_at(tree, 0, "status", "numberAvailable", NULL) > 0;
        look->at_zero = kind->at_zero(tree);
        look->revision = (int8_t)kind->revision(tree);
    } else if (place == model->place[ROLE_ROUTE]) {
        if (kind->named)
            look_at_traffic(look, tree);
        else if (place == model->place[ROLE_APEX])
            look_at_shares(look, tree);
        else
            look_at_route(look, tree);
    } else if (place == model->place[ROLE_APEX]) {
        const char *selected = json_str_at(tree, "spec", "selector", "app", NULL);
        look->selects_primary = selected && strcmp(selected, "podinfo-primary") == 0;
    } else if (place == model->place[ROLE_COPY]) {
        look->revision = (int8_t)(kind->copied ? kind->revision(tree) : 0);
    } else if (place == model->place[ROLE_CONFIG] || place == model->place[ROLE_CONFIG_COPY]) {
        const char *color = json_str_at(tree, "data", "color", NULL);
        look->revision = color && strcmp(color, "blue") == 0 ? 4 : 0;
    }
}

const struct look *model_look(struct model *model, const struct cluster *cluster, enum role role)
{
    static const struct look nothing = {.known = true};
    bool pods = role == ROLE_TARGET || role == ROLE_PRIMARY;
    int place = pods ? pods_place(model, cluster, role) : model->place[role];

    return place < 0 ? &nothing : model_look_at(model, cluster, place);
}

const struct look *model_look_at(struct model *model, const struct cluster *cluster, int place)
{
    uint16_t version = cluster->at[place];
    if (version >= model->n_looks[place]) {
        uint32_t more = 2u * version + 64;
        model->looks[place] = heap_grow(model->looks[place], more * sizeof(struct look));
        memset(model->looks[place] + model->n_looks[place], 0,
               (more - model->n_looks[place]) * sizeof(struct look));
        model->n_looks[place] = more;
    }
    struct look *look = &model->looks[place][version];
    if (!look->known)
        look_at(model, look, place, objects_tree(model->objects, place, version));
    return look;
}

bool model_is_absent(const struct model *model, const struct cluster *cluster, enum role role)
{
    return cluster->at[model->place[role]] == ABSENT;
}

const struct canary *model_canary(struct model *model, const struct cluster *cluster)
{
    return ticks_canary(model->ticks, cluster->at[model->place[ROLE_CANARY]]);
}

int model_revision(struct model *model, const struct cluster *cluster)
{
    return model_look(model, cluster, ROLE_TARGET)->revision +
           model_look(model, cluster, ROLE_CONFIG)->revision;
}

int model_primary_revision(struct model *model, const struct cluster *cluster)
{
    return model_look(model, cluster, ROLE_PRIMARY)->revision +
           model_look(model, cluster, ROLE_CONFIG_COPY)->revision;
}

bool model_has_rival(struct model *model, const struct cluster *cluster)
{
    int place = model->place[ROLE_RIVAL];
    const char *target = place < 0
                             ? NULL
                             : json_str_at(objects_tree(model->objects, place, cluster->at[place]),
                                           "spec", "targetRef", "name", NULL);

    return target && strcmp(target, "podinfo") == 0;
}

/* --- what the API server refuses */

static struct json_object *refusals(struct model *model, const struct cluster *cluster)
{
    int place = model->place[ROLE_REFUSALS];

    return place < 0 ? NULL : objects_tree(model->objects, place, cluster->at[place]);
}

const char *model_refused(struct model *model, const struct cluster *cluster)
{
    return json_str_at(refusals(model, cluster), "refuses", NULL);
}

static void note(struct model *model, struct cluster *cluster, const char *met, bool tells)
{
    int place = model->place[ROLE_REFUSALS];
    struct arena *arena = arena_new();
    struct json_object *tree = json_copy(arena, refusals(model, cluster));

    json_set_str(tree, "met", met ? met : "");
    json_set(tree, "tells", json_own(arena, json_object_new_boolean(tells)));
    cluster->at[place] = objects_put(model->objects, place, tree);
    arena_free(arena);
}

void model_meet(struct model *model, struct cluster *cluster)
{
    struct json_object *known = refusals(model, cluster);
    const char *met = json_str_at(known, "met", NULL), *refused = model_refused(model, cluster);

    if (!met || strcmp(met, refused) != 0)
        note(model, cluster, refused, true);
}

void model_planned(struct model *model, struct cluster *cluster, bool held)
{
    struct json_object *known = refusals(model, cluster);
    const char *met = json_str_at(known, "met", NULL);

    if (met && *met)
        note(model, cluster, held ? met : NULL, false);
}

int model_weight(struct model *model, const struct cluster *cluster)
{
    return model_look(model, cluster, ROLE_ROUTE)->canary_weight;
}

static const char *tell_workload(struct model *model, struct arena *arena,
                                 const struct cluster *cluster, enum role role, int config)
{
    const struct look *look = model_look(model, cluster, role);

    if (cluster->at[model->place[role]] == ABSENT)
        return "absent";
    return arena_printf(arena, "%d%s %s", look->revision, config ? "'" : "",
                        look->at_zero ? "at zero"
                        : look->stuck ? "stuck"
                        : look->ready ? "ready"
                                      : "not ready");
}

const char *model_tell(struct model *model, struct arena *arena, const struct cluster *cluster)
{
    const struct canary *canary = model_canary(model, cluster);
    const struct canary_status *status = canary ? &canary->status : NULL;
    const struct look *route = model_look(model, cluster, ROLE_ROUTE);

    if (!canary)
        return "the Canary is gone";
    return arena_printf(
        arena,
        "phase %s, weight %s%s%s, status says %s, failed %d, iterations %d; target %s, primary %s",
        phase_name(status->phase), weight_text(arena, route->canary_weight),
        route->mirrored ? " mirrored" : "", route->settled ? "" : " not taken over",
        weight_text(arena, status->canary_weight), status->failed_checks, status->iterations,
        tell_workload(model, arena, cluster, ROLE_TARGET,
                      model_look(model, cluster, ROLE_CONFIG)->revision),
        tell_workload(model, arena, cluster, ROLE_PRIMARY,
                      model_look(model, cluster, ROLE_CONFIG_COPY)->revision));
}
