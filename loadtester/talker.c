#include "loadtester/talker.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "loadtester/key_file.h"

enum { REQUEST_MS = 60000, CANCEL_MS = 5000, MAX_ANSWER = 256 * 1024 };

struct talker {
    struct loop *loop;
    struct http_client *client;
    const struct task_plan *plan;
    struct arena *arena;
    struct arena *step; /* of the request that was sent last or is the next */
    const char *secret;
    void (*note)(void *arg, const char *line);
    talker_done_fn done;
    void *arg;
    struct http_call *call; /* under way */
    struct timer *wait;     /* until the next request; or the end is told */
    struct timer *deadline;
    struct talk_request request; /* the next one */
    struct errinfo info;
    struct talker_result result;
    int64_t started_ms, timeout_ms;
    bool ending; /* no further step; the call under way, if any, is the last */
    bool stopped;
};

static void finish(void *arg)
{
    struct talker *talker = arg;

    talker->wait = NULL;
    timer_stop(talker->deadline);
    talker->result.elapsed_ms = clock_monotonic_ms() - talker->started_ms;
    talker->done(talker->arg, &talker->result);
    arena_free(talker->step);
    arena_free(talker->arena);
    free(talker);
}

/* Never from inside talker_start() or talker_stop(). */
static void end(struct talker *talker, const char *error)
{
    talker->ending = true;
    if (!talker->result.error)
        talker->result.error = error;
    timer_stop(talker->wait);
    talker->wait = timer_start(talker->loop, 0, 0, finish, talker);
}

static void send_request(struct talker *talker, int64_t timeout_ms, http_done_fn done)
{
    const struct talk_request *request = &talker->request;
    struct http_header headers[3] = {{NULL, NULL}};
    int n = 0;

    if (request->authorization)
        headers[n++] = (struct http_header){"Authorization", request->authorization};
    if (request->content_type)
        headers[n++] = (struct http_header){"Content-Type", request->content_type};
    struct http_request http = {.method = request->method,
                                .url = request->url,
                                .headers = headers,
                                .body = request->body,
                                .body_len = request->body ? strlen(request->body) : 0,
                                .timeout_ms = timeout_ms,
                                .max_body = MAX_ANSWER};
    talker->call = http_send(talker->client, &http, done, talker);
}

/* A conversation may go on for hours: what a step needs goes with it. */
static void next_step(struct talker *talker)
{
    arena_free(talker->step);
    talker->step = arena_new();
    talker->request = (struct talk_request){0};
}

static enum talk_next ask_type(struct talker *talker, const struct talk_answer *answer)
{
    next_step(talker);
    talker->info = (struct errinfo){0};
    return talker->plan->talk->next(talker->plan->talk_state, talker->step, talker->secret, answer,
                                    &talker->request, &talker->info);
}

static void on_told(void *arg, const struct http_result *result)
{
    struct talker *talker = arg;

    talker->call = NULL;
    if (result->err != ERR_OK)
        talker->note(talker->arg, result->info->text);
    end(talker, NULL);
}

/* The other service is told that nobody wants its work any more. */
static void tell(struct talker *talker)
{
    const struct talk *talk = talker->plan->talk;

    next_step(talker);
    if (talk->cancel &&
        talk->cancel(talker->plan->talk_state, talker->step, talker->secret, &talker->request))
        send_request(talker, CANCEL_MS, on_told);
    else
        end(talker, NULL);
}

static void step(struct talker *talker, const struct talk_answer *answer);

static void on_answer(void *arg, const struct http_result *result)
{
    struct talker *talker = arg;
    struct talk_answer answer = {.status = result->err == ERR_OK ? result->status : 0,
                                 .text = result->err == ERR_OK ? result->body : result->info->text};

    talker->call = NULL;
    if (!talker->ending) {
        step(talker, &answer);
        return;
    }
    /* Given up meanwhile: the answer may say by which name the work can be ended. */
    timer_stop(talker->wait);
    talker->wait = NULL;
    if (result->err == ERR_OK)
        (void)ask_type(talker, &answer);
    tell(talker);
}

static void on_wait(void *arg)
{
    struct talker *talker = arg;

    talker->wait = NULL;
    send_request(talker, REQUEST_MS, on_answer);
}

static void step(struct talker *talker, const struct talk_answer *answer)
{
    switch (ask_type(talker, answer)) {
    case TALK_SEND:
        talker->note(talker->arg, arena_printf(talker->step, "%s %s", talker->request.method,
                                               talker->request.url));
        talker->wait = timer_start(talker->loop, talker->request.wait_ms, 0, on_wait, talker);
        break;
    case TALK_DONE:
        end(talker, NULL);
        break;
    case TALK_FAILED:
        end(talker, talker->info.text);
        break;
    }
}

static void on_patience(void *arg)
{
    struct talker *talker = arg;

    talker->wait = NULL;
    http_cancel(talker->call);
}

/* No further step. An answer that is on its way is waited for a little. */
static void give_up(struct talker *talker, const char *why)
{
    if (talker->ending)
        return;
    talker->ending = true;
    talker->result.error = why;
    timer_stop(talker->wait);
    talker->wait = NULL;
    if (talker->call)
        talker->wait = timer_start(talker->loop, CANCEL_MS, 0, on_patience, talker);
    else
        tell(talker);
}

static void on_deadline(void *arg)
{
    struct talker *talker = arg;
    char limit[DURATION_TEXT];

    talker->deadline = NULL;
    talker->result.timed_out = true;
    give_up(talker, arena_printf(talker->arena, "timed out after %s",
                                 duration_format(talker->timeout_ms * 1000000, limit)));
}

void talker_stop(struct talker *talker)
{
    give_up(talker, "stopped, the load tester shuts down");
}

static void on_start(void *arg)
{
    struct talker *talker = arg;
    char *secret = NULL;

    talker->wait = NULL;
    if (talker->plan->talk_secret &&
        key_file_read(talker->arena, talker->plan->talk_secret_dir, talker->plan->talk_secret,
                      &secret, &talker->info) != ERR_OK) {
        end(talker, talker->info.text);
        return;
    }
    if (secret)
        talker->secret = secret;
    step(talker, NULL);
}

struct talker *talker_start(struct loop *loop, struct http_client *client,
                            const struct task_plan *plan, int64_t timeout_ms,
                            void (*note)(void *arg, const char *line), talker_done_fn done,
                            void *arg)
{
    struct talker *talker = heap_alloc(sizeof(*talker));

    *talker = (struct talker){.loop = loop,
                              .client = client,
                              .plan = plan,
                              .arena = arena_new(),
                              .step = arena_new(),
                              .secret = "",
                              .note = note,
                              .done = done,
                              .arg = arg,
                              .started_ms = clock_monotonic_ms(),
                              .timeout_ms = timeout_ms};
    talker->wait = timer_start(loop, 0, 0, on_start, talker);
    if (timeout_ms > 0)
        talker->deadline = timer_start(loop, timeout_ms, 0, on_deadline, talker);
    return talker;
}
