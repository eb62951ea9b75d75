#include "linearizability/clients.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "linearizability/wire.h"

enum {
    TIMEOUT_MS = 2000, /* less than a gate's own patience: it may still do what was given up */
    BACK_OFF_MS = 200, /* after nobody answered */
    STALE_MS = 500,    /* how old an answer LIE_STALE gives */
    LIE_ONE_IN = 20,   /* how often LIE_LOST and LIE_DOUBLE lie */
    CHECKS_PERCENT = 85,
    MAX_URLS = 8,
    MAX_TOLD = 5,
};

/* The gates everybody asks for, few so that they get into each other's way, and none with so many
 * passes that what is of unknown outcome could explain anything. Under a quorum the
 * first three people are the approvers (test/linearizability/run). */
static const struct plan {
    const char *name;
    int quorum;
    int hooks, revisions, people; /* how many of the model's are used */
    bool as_in_flagger;           /* changed by /gate/open and /gate/close */
} plans[] = {
    {.name = "flagger",
     .quorum = 1,
     .hooks = 1,
     .revisions = 1,
     .people = 4,
     .as_in_flagger = true},
    {.name = "solo", .quorum = 1, .hooks = 1, .revisions = 1, .people = 4},
    {.name = "hooks", .quorum = 1, .hooks = 3, .revisions = 1, .people = 4},
    {.name = "revisions", .quorum = 1, .hooks = 1, .revisions = 3, .people = 4},
    {.name = "both", .quorum = 1, .hooks = 2, .revisions = 2, .people = 4},
    {.name = "pair", .quorum = 2, .hooks = 1, .revisions = 1, .people = 3},
    {.name = "trio", .quorum = 3, .hooks = 1, .revisions = 2, .people = 3},
};
enum { PLANS = sizeof(plans) / sizeof(plans[0]) };

struct client {
    struct crowd *crowd;
    struct arena *arena; /* of the request under way */
    int number, plan;
    struct step step;
    int64_t begin;
    char id[32]; /* "-" for a check */
};

struct crowd {
    const struct clients_options *options;
    struct loop *loop;
    struct http_client *checks, *changes;
    const char *urls[MAX_URLS];
    size_t n_urls;
    uint64_t random;
    int64_t next_id;
    size_t busy;
    bool over;
    struct {
        int64_t at;
        enum said open;
    } stale[PLANS][MODEL_HOOKS][MODEL_REVISIONS];
    struct clients_result result;
};

static int64_t now_ns(void)
{
    return (int64_t)uv_hrtime();
}

static uint64_t any(struct crowd *crowd, uint64_t below)
{
    crowd->random ^= crowd->random << 13;
    crowd->random ^= crowd->random >> 7;
    crowd->random ^= crowd->random << 17;
    return (crowd->random >> 11) % below;
}

static void ask(void *arg);

/* The last client that is done ends the run. */
static void next(struct client *client, int64_t pause_ms)
{
    struct crowd *crowd = client->crowd;
    if (!crowd->over) {
        timer_start(crowd->loop, pause_ms, 0, ask, client);
        return;
    }
    if (--crowd->busy == 0)
        loop_drain(crowd->loop);
}

static const char *word(enum said said)
{
    static const char *const words[] = {
        [SAID_NO] = "no", [SAID_YES] = "yes", [SAID_REFUSED] = "refused", [NOT_TOLD] = "-"};
    return words[said];
}

static void record(const struct client *client, const struct wire_answer *answer)
{
    static const char *const outcomes[] = {"ok", "failed", "unknown"};
    struct crowd *crowd = client->crowd;
    const struct step *step = &client->step;
    char seq[24] = "-";
    if (answer->seq >= 0)
        snprintf(seq, sizeof(seq), "%" PRId64, answer->seq);
    fprintf(crowd->options->out, "%" PRId64 " %" PRId64 " %s %s %s %s %s %s %s %s %s %s\n",
            client->begin, now_ns(), outcomes[answer->outcome], plans[client->plan].name,
            wire_asks[step->ask], wire_hooks[step->hook], wire_revisions[step->revision],
            wire_people[step->person], word(answer->said.changed), word(answer->said.open), seq,
            client->id);
    crowd->result.ok += answer->outcome == OUTCOME_OK;
    crowd->result.failed += answer->outcome == OUTCOME_FAILED;
    crowd->result.unknown += answer->outcome == OUTCOME_UNKNOWN;
}

static void complain(struct crowd *crowd, const struct client *client,
                     const struct http_result *result)
{
    if (crowd->result.wrong++ < MAX_TOLD)
        fprintf(stderr, "WRONG: %s of gate %s answered %d %.300s\n", wire_asks[client->step.ask],
                plans[client->plan].name, result->status, result->body);
}

static void on_answer(void *arg, const struct http_result *result)
{
    struct client *client = arg;
    struct crowd *crowd = client->crowd;
    struct wire_answer answer = wire_read(client->arena, &client->step, result);
    if (answer.wrong)
        complain(crowd, client, result);
    record(client, &answer);
    if (client->step.ask == ASK_CHECK && answer.outcome == OUTCOME_OK) {
        const struct step *step = &client->step;
        crowd->stale[client->plan][step->hook][step->revision].at = now_ns();
        crowd->stale[client->plan][step->hook][step->revision].open = answer.said.open;
    }
    next(client, answer.outcome == OUTCOME_OK
                     ? (int64_t)any(crowd, (uint64_t)crowd->options->pause_ms + 1)
                     : BACK_OFF_MS);
}

/* Whether the request was answered by a lie; it is recorded like any other answer. */
static bool lied(struct client *client)
{
    struct crowd *crowd = client->crowd;
    const struct step *step = &client->step;
    struct wire_answer answer = {
        .outcome = OUTCOME_OK, .said = {.changed = NOT_TOLD, .open = NOT_TOLD}, .seq = -1};
    if (crowd->options->lie == LIE_STALE && step->ask == ASK_CHECK) {
        int64_t at = crowd->stale[client->plan][step->hook][step->revision].at;
        answer.said.open = crowd->stale[client->plan][step->hook][step->revision].open;
        if (at == 0 || now_ns() - at > (int64_t)STALE_MS * 1000000)
            return false;
    } else if (crowd->options->lie != LIE_LOST || step->ask != ASK_OPEN ||
               any(crowd, LIE_ONE_IN) != 0) {
        return false;
    } else {
        answer.said = (struct answer){.changed = SAID_YES, .open = SAID_YES};
    }
    record(client, &answer);
    return true;
}

static void choose(struct client *client)
{
    struct crowd *crowd = client->crowd;
    const struct plan *plan;
    bool check = any(crowd, 100) < CHECKS_PERCENT;
    client->plan = (int)any(crowd, PLANS);
    plan = &plans[client->plan];
    /* As often as it takes to open what was closed. */
    bool open = any(crowd, (uint64_t)plan->quorum + 1) > 0;
    client->step = (struct step){.ask = check  ? ASK_CHECK
                                        : open ? ASK_OPEN
                                               : ASK_CLOSE,
                                 .hook = (int)any(crowd, (uint64_t)plan->hooks),
                                 .revision = (int)any(crowd, (uint64_t)plan->revisions),
                                 .person = 1 + client->number % plan->people};
    if (client->step.ask == ASK_CLOSE)
        client->step.revision = 0;
    snprintf(client->id, sizeof(client->id), "-");
    if (!check && !plan->as_in_flagger)
        snprintf(client->id, sizeof(client->id), "c%" PRId64, crowd->next_id++);
}

static const char *token_of(const struct crowd *crowd, struct arena *arena, int person)
{
    size_t len = strlen(wire_people[person]);
    for (const char *const *at = crowd->options->tokens; at && *at; at++) {
        if (strncmp(*at, wire_people[person], len) == 0 && (*at)[len] == '=')
            return arena_printf(arena, "Bearer %s", *at + len + 1);
    }
    return NULL;
}

static void ask(void *arg)
{
    struct client *client = arg;
    struct crowd *crowd = client->crowd;
    arena_reset(client->arena);
    if (crowd->over) {
        next(client, 0);
        return;
    }
    choose(client);
    client->begin = now_ns();
    if (lied(client)) {
        next(client, 1 + (int64_t)any(crowd, (uint64_t)crowd->options->pause_ms + 1));
        return;
    }
    bool check = client->step.ask == ASK_CHECK;
    int voter = client->step.person;
    if (crowd->options->lie == LIE_DOUBLE && !check && any(crowd, LIE_ONE_IN) == 0)
        voter = 1 + voter % plans[client->plan].people;
    const char *token = token_of(crowd, client->arena, voter);
    const char *gate = plans[client->plan].name;
    const char *id = strcmp(client->id, "-") == 0 ? NULL : client->id;
    const char *body = wire_body(client->arena, &client->step, gate, id);
    struct http_header headers[] = {{"Content-Type", "application/json"},
                                    {token ? "Authorization" : "X-Nobody", token ? token : "1"},
                                    {check ? NULL : "Connection", "close"},
                                    {NULL, NULL}};
    struct http_request request = {
        .method = "POST",
        .url = arena_printf(client->arena, "%s%s", crowd->urls[any(crowd, crowd->n_urls)],
                            wire_path(client->arena, &client->step, gate, id)),
        .headers = headers,
        .body = body,
        .body_len = strlen(body),
        .timeout_ms = TIMEOUT_MS};
    http_send(check ? crowd->checks : crowd->changes, &request, on_answer, client);
}

static void on_over(void *arg)
{
    struct crowd *crowd = arg;
    crowd->over = true;
}

struct clients_result clients_run(const struct clients_options *options)
{
    struct http_client_options http = {
        .max_per_host = 64, .max_total = 256, .user_agent = "linear"};
    struct crowd crowd = {.options = options,
                          .loop = loop_new(1000),
                          .random = options->seed * 2654435761u + 88172645463325252u,
                          .next_id = options->first_id};
    struct client *clients = heap_array((size_t)options->count, sizeof(*clients));
    for (const char *const *url = options->urls; *url; url++) {
        assert(crowd.n_urls < MAX_URLS);
        crowd.urls[crowd.n_urls++] = *url;
    }
    crowd.checks = http_client_new(crowd.loop, &http);
    crowd.changes = http_client_new(crowd.loop, &http);
    fprintf(options->out, "barrier %" PRId64 "\n", now_ns());
    for (size_t i = 0; i < PLANS; i++)
        fprintf(options->out, "rules %s %d\n", plans[i].name, plans[i].quorum);
    timer_start(crowd.loop, options->seconds * 1000, 0, on_over, &crowd);
    for (int64_t i = 0; i < options->count; i++) {
        clients[i] = (struct client){.crowd = &crowd, .arena = arena_new(), .number = (int)i};
        crowd.busy++;
        timer_start(crowd.loop, 0, 0, ask, &clients[i]);
    }
    (void)!loop_run(crowd.loop);
    for (int64_t i = 0; i < options->count; i++)
        arena_free(clients[i].arena);
    free(clients);
    http_client_free(crowd.checks);
    http_client_free(crowd.changes);
    loop_free(crowd.loop);
    return crowd.result;
}
