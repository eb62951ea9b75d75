#include "random_edits/round.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "random_edits/heal.h"
#include "random_edits/rest.h"
#include "random_edits/track.h"
#include "test/kinds.h"

enum {
    POLL_MS = 100,
    APPS = 16,
    START_MS = 90 * 1000,
    DRAIN_MS = 15000,
    RATE = 8,         /* requests a second of each stream */
    AFTER_MS = 15000, /* so long a violation is waited for that came while there were edits */
};

enum round_state { ROUND_STARTING, ROUND_EDITING, ROUND_RESTING, ROUND_HEALING, ROUND_LAST_REST };

struct round {
    const struct round_options *options;
    struct arena *arena;
    struct loop *loop;
    struct http_client *http, *outside;
    struct kube_client *kube;
    struct stage *stage;
    struct view *view;
    struct clients *clients;
    struct judge *judge;
    struct timer *poll;
    const struct app *apps[APPS];
    size_t n_apps;
    bool counted[APPS];
    struct track *tracks[APPS + 1];
    size_t n_tracks;
    struct heal *heals[APPS];
    struct rest *rest;
    enum round_state state;
    int64_t began_ms, looked_ms, lag_ms; /* monotonic; the longest time without a look */
    int64_t edited_ms;                   /* the last edit was made; 0 if not yet */
    int refused, waiting;
    struct json_object *list;
    const char *trouble;
    struct json_object *seen; /* what the judge has; the view goes before it is reported */
};

/* Nobody edits it. */
static const struct app control = {.name = "control", .about = "nobody edits it"};

static void end_round(struct round *round, const char *trouble)
{
    if (trouble && !round->trouble)
        round->trouble = trouble;
    loop_drain(round->loop);
}

/* --- the beginning */

static void on_created(void *arg, const struct kube_result *result)
{
    struct round *round = arg;
    round->waiting--;
    if (result->err != ERR_OK && result->err != ERR_CANCELLED)
        end_round(round, arena_strdup(round->arena, result->info->text));
}

static void create(struct round *round, const struct kube_resource *resource,
                   struct json_object *body)
{
    struct kube_request request = {.verb = KUBE_CREATE,
                                   .resource = resource,
                                   .namespace_ = resource->cluster_scoped ? NULL : USER_NAMESPACE,
                                   .body = body,
                                   .purpose = KUBE_LEASE};
    round->waiting++;
    kube_send(round->kube, &request, on_created, round);
}

static void create_app(struct round *round, const struct app *app)
{
    struct arena *a = round->arena;
    create(round, &kube_deployments, app_deployment(a, app, app->name, "v1"));
    create(round, &kube_deployments,
           app_deployment(a, app, arena_printf(a, "%s-two", app->name), "v1"));
    if (app->other)
        create(round, &kube_deployments, app_other(a, app));
    if (app->hashed)
        create(round, &kube_configmaps, app_hashed_map(a, app, "v1"));
    if (app->configs) {
        create(round, &kube_configmaps, app_config_map(a, app));
        create(round, &kube_secrets, app_secret(a, app));
    }
    if (app->scaler)
        create(round, &kube_hpas, app_scaler(a, app));
    create(round, &user_canaries, app_canary(a, app, stage_hooks(round->stage)));
    clients_add(round->clients, app);
    judge_add(round->judge, app);
}

static void create_all(struct round *round)
{
    struct arena *a = round->arena;
    create(round, &kube_deployments, app_deployment(a, &control, "control", "v1"));
    create(round, &kube_services,
           user_json(a,
                     "{'apiVersion':'v1','kind':'Service','metadata':{'name':'NAME',"
                     "'namespace':'test'},'spec':{'selector':{'app':'NAME'},'ports':[{"
                     "'name':'http','port':8080,'targetPort':9898}]}}",
                     "control", NULL));
    create(round, &kube_services,
           user_json(a,
                     "{'apiVersion':'v1','kind':'Service','metadata':{'name':'bystander',"
                     "'namespace':'test'},'spec':{'selector':{'app':'control'},'ports':[{"
                     "'name':'http','port':8080,'targetPort':9898}]}}",
                     NULL, NULL));
    clients_add(round->clients, &control);
    for (size_t i = 0; i < round->n_apps; i++)
        create_app(round, round->apps[i]);
}

static void on_namespace(void *arg, const struct kube_result *result)
{
    struct round *round = arg;
    struct errinfo ei;
    if (result->err == ERR_CANCELLED)
        return;
    if (result->err != ERR_OK && result->status != 409) {
        end_round(round, arena_strdup(round->arena, result->info->text));
        return;
    }
    create_all(round);
    if (stage_start_controller(round->stage, &ei) != ERR_OK)
        end_round(round, arena_strdup(round->arena, ei.text));
    judge_controller(round->judge, true, false);
}

static void create_namespace(struct round *round)
{
    struct kube_request request = {
        .verb = KUBE_CREATE,
        .resource = &kube_namespaces,
        .body = user_json(round->arena,
                          "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'test'}}", NULL,
                          NULL),
        .purpose = KUBE_LEASE};
    kube_send(round->kube, &request, on_namespace, round);
}

/* --- edits */

/* As the controller's log has it. */
static const char *now_text(char text[CLOCK_TEXT])
{
    enum { FROM = 11, TO = 23 };
    clock_rfc3339_micro(clock_wall_ms(), text);
    text[TO] = '\0';
    return text + FROM;
}

static int on_made(void *arg, const struct line *line)
{
    char now[CLOCK_TEXT];
    struct round *round = arg;
    const char *text = line_text(round->arena, line);
    if (!round->options->quiet)
        printf("%s  %s\n", now_text(now), text);
    json_object_array_add(round->list, json_object_new_string(text));
    return (int)json_len(round->list);
}

static void on_refused(void *arg, const struct line *line, const char *text)
{
    char now[CLOCK_TEXT];
    struct round *round = arg;
    round->refused++;
    if (!round->options->quiet)
        printf("%s  %s: %.160s\n", now_text(now), line_text(round->arena, line), text);
}

static void add_track(struct round *round, const struct app *app)
{
    const struct round_options *o = round->options;
    struct track_options options = {
        .arena = round->arena,
        .kube = round->kube,
        .http = round->outside,
        .view = round->view,
        .judge = round->judge,
        .stage = round->stage,
        .app = app,
        .pick = o->lines ? NULL : pick_new(round->arena, app, o->seed, o->without),
        .lines = o->lines,
        .n_lines = o->n_lines,
        .until_ms = o->lines ? 0 : clock_monotonic_ms() + o->edit_ms,
        .made = on_made,
        .refused = on_refused,
        .arg = round,
    };
    round->tracks[round->n_tracks++] = track_new(&options);
}

static bool all_begun(struct round *round)
{
    bool all = round->waiting == 0;
    for (size_t i = 0; i < round->n_apps; i++) {
        struct json_object *canary = view_get(round->view, &user_canaries, round->apps[i]->name);
        const char *phase = json_str_at(canary, "status", "phase", NULL);
        bool begun = phase && strcmp(phase, "Initialized") == 0 &&
                     clients_all_get(round->clients, round->apps[i], "v1");
        if (begun && !round->counted[i]) {
            round->counted[i] = true;
            clients_count(round->clients, round->apps[i]);
        }
        all = all && round->counted[i];
    }
    return all;
}

static void step_starting(struct round *round)
{
    char now[CLOCK_TEXT];
    if (!all_begun(round)) {
        if (clock_monotonic_ms() - round->began_ms > START_MS)
            end_round(round, "the apps are not under care in time");
        return;
    }
    clients_count(round->clients, &control);
    for (size_t i = 0; i < round->n_apps; i++)
        add_track(round, round->apps[i]);
    add_track(round, NULL);
    if (!round->options->quiet)
        printf("%s  all are under care\n", now_text(now));
    round->state = ROUND_EDITING;
}

static void begin_rest(struct round *round, enum round_state state)
{
    int64_t last = 0;
    for (size_t i = 0; i < round->n_tracks; i++)
        if (track_last_ms(round->tracks[i]) > last)
            last = track_last_ms(round->tracks[i]);
    round->rest = rest_new(&(struct rest_options){.arena = round->arena,
                                                  .kube = round->kube,
                                                  .view = round->view,
                                                  .judge = round->judge,
                                                  .apps = round->apps,
                                                  .n_apps = round->n_apps,
                                                  .since_ms = last});
    if (round->edited_ms == 0)
        round->edited_ms = clock_monotonic_ms();
    round->state = state;
}

static void step_editing(struct round *round)
{
    char now[CLOCK_TEXT];
    bool done = true;
    for (size_t i = 0; i < round->n_tracks; i++) {
        track_step(round->tracks[i]);
        /* A controller's edits do not keep the round going. */
        done = done && track_done(round->tracks[i]);
    }
    if (!done)
        return;
    if (!round->options->quiet)
        printf("%s  no more edits\n", now_text(now));
    begin_rest(round, ROUND_RESTING);
}

static void step_resting(struct round *round)
{
    char now[CLOCK_TEXT];
    rest_step(round->rest);
    if (!rest_done(round->rest))
        return;
    if (round->state == ROUND_LAST_REST) {
        end_round(round, NULL);
        return;
    }
    if (!round->options->quiet)
        printf("%s  at rest; all is put right\n", now_text(now));
    for (size_t i = 0; i < round->n_apps; i++)
        round->heals[i] = heal_new(&(struct heal_options){.arena = round->arena,
                                                          .kube = round->kube,
                                                          .view = round->view,
                                                          .judge = round->judge,
                                                          .stage = round->stage,
                                                          .clients = round->clients,
                                                          .app = round->apps[i]});
    round->state = ROUND_HEALING;
}

static void step_healing(struct round *round)
{
    char now[CLOCK_TEXT];
    bool done = true;
    for (size_t i = 0; i < round->n_apps; i++) {
        heal_step(round->heals[i]);
        done = done && heal_done(round->heals[i]);
    }
    if (!done)
        return;
    if (!round->options->quiet)
        printf("%s  the last version serves\n", now_text(now));
    begin_rest(round, ROUND_LAST_REST);
}

/* Of a round that looks for one violation only. */
static bool has_ended(const struct round *round)
{
    size_t count;
    if (!round->options->kind)
        return false;
    const struct violation *list = judge_violations(round->judge, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].kind, round->options->kind) == 0)
            return true;
    int moment = round->options->moment;
    return (int)round->state > moment &&
           (moment != ROUND_EDITING || clock_monotonic_ms() - round->edited_ms > AFTER_MS);
}

static void on_poll(void *arg)
{
    static void (*const steps[])(struct round * round) = {[ROUND_STARTING] = step_starting,
                                                          [ROUND_EDITING] = step_editing,
                                                          [ROUND_RESTING] = step_resting,
                                                          [ROUND_HEALING] = step_healing,
                                                          [ROUND_LAST_REST] = step_resting};
    struct round *round = arg;
    int64_t now = clock_monotonic_ms();
    const char *what;
    if (round->looked_ms && now - round->looked_ms - POLL_MS > round->lag_ms)
        round->lag_ms = now - round->looked_ms - POLL_MS;
    round->looked_ms = now;
    if (stage_broken(round->stage, round->arena, &what)) {
        judge_break(round->judge, NULL, "ended", "%s", what);
        end_round(round, what);
        return;
    }
    judge_moment(round->judge, (int)round->state);
    judge_add_sample(round->judge);
    if (has_ended(round))
        end_round(round, NULL);
    else
        steps[round->state](round);
}

/* --- wiring */

static void choose_apps(struct round *round)
{
    const struct round_options *o = round->options;
    for (const struct app *app = apps; app->name; app++) {
        bool wanted = !o->lines;
        for (size_t i = 0; o->lines && i < o->n_lines; i++)
            wanted |= o->lines[i].app == app;
        if (wanted && round->n_apps < APPS)
            round->apps[round->n_apps++] = app;
    }
}

static void on_failed(void *arg, const struct failure *failure)
{
    struct round *round = arg;
    if (round->state != ROUND_STARTING || failure->app != &control)
        judge_failure(round->judge, failure);
}

static void on_change(void *arg, const struct kube_resource *resource, struct json_object *before,
                      struct json_object *now)
{
    struct round *round = arg;
    judge_change(round->judge, resource, before, now);
}

static void on_hook(void *arg, const char *app, const char *hook, const char *checksum, bool passes)
{
    struct round *round = arg;
    judge_hook(round->judge, app, hook, checksum, passes);
}

static struct json_object *seen_of(const struct round *round)
{
    const struct judge_seen seen = judge_seen(round->judge);
    struct json_object *out = json_own(round->arena, json_object_new_object());
    json_set_int(out, "statuses", seen.statuses);
    json_set_int(out, "services", seen.services);
    json_set_int(out, "steps", seen.steps);
    json_set_int(out, "numbers", seen.numbers);
    json_set_int(out, "gates", seen.gates);
    json_set_int(out, "shares", seen.shares);
    json_set_int(out, "refusals", seen.refusals);
    return out;
}

static void on_drain(void *arg)
{
    struct round *round = arg;
    round->seen = seen_of(round);
    timer_stop(round->poll);
    round->poll = NULL;
    clients_stop(round->clients);
    stage_on_hook(round->stage, NULL, NULL); /* the controller may call one still */
    view_free(round->view);
    kube_client_free(round->kube);
    http_client_free(round->outside);
    http_client_free(round->http);
}

static enum err set_up(struct round *round, struct errinfo *ei)
{
    static struct kube_config config;
    struct kube_config_source source = {0};
    round->loop = loop_new(DRAIN_MS);
    enum err err = stage_new(round->loop, round->arena, &round->options->stage, &round->stage, ei);
    if (err != ERR_OK)
        return err;
    source.kubeconfig = stage_kubeconfig(round->stage);
    err = kube_config_load(round->arena, &source, &config, ei);
    if (err != ERR_OK)
        return err;
    round->http = http_client_new(
        round->loop, &(struct http_client_options){.user_agent = "flagger-random-edits"});
    round->outside = http_client_new(
        round->loop, &(struct http_client_options){
                         .max_per_host = 1024, .max_total = 1024, .user_agent = "outside"});
    round->kube =
        kube_client_new(round->loop, round->http, &config,
                        &(struct kube_client_options){.user_agent = "flagger-random-edits"});
    round->view = view_new(round->loop, round->kube);
    round->judge = judge_new(round->arena, round->view, &control);
    view_on_change(round->view, on_change, round);
    stage_on_hook(round->stage, on_hook, round);
    round->clients =
        clients_new(&(struct clients_options){.loop = round->loop,
                                              .http = round->outside,
                                              .view = round->view,
                                              .gateway_port = stage_gateway_port(round->stage),
                                              .rate = RATE,
                                              .failed = on_failed,
                                              .arg = round});
    loop_on_drain(round->loop, on_drain, round);
    round->poll = timer_start(round->loop, POLL_MS, POLL_MS, on_poll, round);
    return ERR_OK;
}

static struct json_object *tell(struct round *round)
{
    struct json_object *out = json_own(round->arena, json_object_new_object());
    struct json_object *broken = json_own(round->arena, json_object_new_array());
    size_t count = 0;
    const struct violation *list = round->judge ? judge_violations(round->judge, &count) : NULL;
    json_set_str(out, "trouble", round->trouble);
    json_set_bool(out, "up", round->clients != NULL);
    json_set_int(out, "edits", (int64_t)json_len(round->list));
    json_set_int(out, "refused", round->refused);
    json_set_int(out, "lag_ms", round->lag_ms);
    json_set(out, "list", round->list);
    json_set(out, "violations", broken);
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_new_object();
        json_set_str(item, "app", list[i].app ? list[i].app->name : "controller");
        json_set_str(item, "kind", list[i].kind);
        json_set_str(item, "text", list[i].text);
        json_set_int(item, "edits", list[i].edits);
        json_set_int(item, "moment", list[i].moment);
        json_set(item, "state", list[i].state);
        json_object_array_add(broken, item);
    }
    if (!round->clients)
        return out;
    json_set_int(out, "requests", (int64_t)clients_requests(round->clients));
    json_set_int(out, "allowed", (int64_t)judge_allowed(round->judge));
    json_set_int(out, "failed", (int64_t)judge_failed(round->judge));
    json_set_int(out, "machine", (int64_t)judge_machine(round->judge));
    json_set(out, "seen", round->seen);
    return out;
}

struct json_object *round_run(struct arena *arena, const struct round_options *options)
{
    struct round *round = ARENA_NEW(arena, struct round);
    struct errinfo ei;
    *round = (struct round){.options = options,
                            .arena = arena,
                            .began_ms = clock_monotonic_ms(),
                            .list = json_own(arena, json_object_new_array())};
    choose_apps(round);
    if (set_up(round, &ei) != ERR_OK) {
        round->trouble = arena_strdup(arena, ei.text);
    } else {
        create_namespace(round);
        (void)loop_run(round->loop);
    }
    struct json_object *out = tell(round);
    clients_free(round->clients);
    stage_free(round->stage);
    loop_free(round->loop);
    return out;
}
