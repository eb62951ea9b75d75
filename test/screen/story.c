#include "screen/story.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "net/child/child.h"

/* How long a release that waits at the gate is left there, and how long the dust settles after one.
 */
enum {
    AT_THE_GATE_MS = 3000,
    SETTLE_MS = 3000,
    INIT_DEADLINE_MS = 90000,
    COMMAND_TIMEOUT_MS = 20000
};

enum story_state {
    STORY_INITIALIZING,
    STORY_IDLE,     /* counting what an idle canary costs */
    STORY_COUNTING, /* reading the second count */
    STORY_STARTING, /* kubectl set image */
    STORY_RUNNING,  /* until the outcome */
    STORY_SETTLING,
    STORY_DONE,
};

struct story {
    struct story_options options;
    enum story_state state;
    int at; /* index of the release */
    bool gate_opened;
    struct timer *timer, *deadline;
    struct child *command;
    struct kube_call *count_call;
    int64_t count_before, idle_requests;
    char trouble[512];
};

static void start_release(void *arg);

static void story_set_state(struct story *story, enum story_state state)
{
    static const unsigned allowed[] = {
        [STORY_INITIALIZING] = 1u << STORY_IDLE | 1u << STORY_DONE,
        [STORY_IDLE] = 1u << STORY_COUNTING | 1u << STORY_DONE,
        [STORY_COUNTING] = 1u << STORY_STARTING | 1u << STORY_DONE,
        [STORY_STARTING] = 1u << STORY_RUNNING | 1u << STORY_DONE,
        [STORY_RUNNING] = 1u << STORY_SETTLING | 1u << STORY_DONE,
        [STORY_SETTLING] = 1u << STORY_STARTING | 1u << STORY_DONE,
    };
    assert(allowed[story->state] & 1u << state);
    story->state = state;
}

static void finish(struct story *story)
{
    timer_stop(story->deadline);
    story->deadline = NULL;
    story_set_state(story, STORY_DONE);
    story->options.done(story->options.arg);
}

static void give_up(struct story *story, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void give_up(struct story *story, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(story->trouble, sizeof(story->trouble), fmt, args);
    va_end(args);
    finish(story);
}

static void on_deadline(void *arg)
{
    struct story *story = arg;
    story->deadline = NULL;
    if (story->state == STORY_INITIALIZING)
        give_up(story, "the canary was not initialised within %d s", INIT_DEADLINE_MS / 1000);
    else
        give_up(story, "version %s had no outcome within %lld s",
                story->options.releases[story->at].version,
                (long long)story->options.deadline_ms / 1000);
}

/* --- commands that a person would type */

static void on_command(void *arg, const struct child_result *result)
{
    struct story *story = arg;
    story->command = NULL;
    if (story->state == STORY_DONE)
        return;
    if (result->err != ERR_OK)
        give_up(story, "%s", result->info->text);
    else if (result->exit_status != 0)
        give_up(story, "a command failed: %.300s", result->output);
    else if (story->state == STORY_STARTING)
        story_set_state(story, STORY_RUNNING);
}

static void run_command(struct story *story, const char *const *argv)
{
    struct child_spec spec = {.argv = argv, .timeout_ms = COMMAND_TIMEOUT_MS};
    story->command = child_spawn(story->options.loop, &spec, on_command, story);
}

static void open_gate(void *arg)
{
    struct story *story = arg;
    const struct story_options *o = &story->options;
    story->timer = NULL;
    if (story->state != STORY_RUNNING)
        return;
    char *body = heap_printf("{\"name\":\"%s\",\"namespace\":\"%s\"}", o->canary, o->namespace_);
    char *url = heap_printf("%s/gate/open", o->gate_url);
    screen_note(o->screen, "$ curl -d '%s' %s", body, url);
    char *headers = heap_printf("@%s", o->gate_headers ? o->gate_headers : "/dev/null");
    const char *const argv[] = {"curl", "-sS", "--fail-with-body", "-H", headers, "-d", body,
                                url,    NULL};
    run_command(story, argv);
    free(headers);
    free(body);
    free(url);
}

/* --- what an idle canary costs */

static void on_count(void *arg, const struct kube_result *result)
{
    struct story *story = arg;
    story->count_call = NULL;
    if (result->err == ERR_CANCELLED || story->state == STORY_DONE)
        return;
    /* "busy" is what is neither a watch nor the renewal of a lease. */
    int64_t count = result->err == ERR_OK
                        ? json_int_at(result->body, 0, "agents", "flagger-controller", "busy", NULL)
                        : -1;
    if (story->state == STORY_IDLE) {
        story->count_before = count;
        return;
    }
    if (count >= 0 && story->count_before >= 0)
        story->idle_requests = count - story->count_before;
    start_release(story);
}

static void ask_count(struct story *story)
{
    struct kube_request request = {.verb = KUBE_GET, .raw_path = "/sandbox/stats"};
    story->count_call = kube_send(story->options.kube, &request, on_count, story);
}

static void end_idle(void *arg)
{
    struct story *story = arg;
    story->timer = NULL;
    story_set_state(story, STORY_COUNTING);
    if (story->options.idle_ms > 0)
        ask_count(story);
    else
        start_release(story);
}

static void begin_idle(void *arg)
{
    struct story *story = arg;
    traffic_start(story->options.traffic);
    story->timer = timer_start(story->options.loop, story->options.idle_ms, 0, end_idle, story);
    if (story->options.idle_ms > 0)
        ask_count(story);
}

/* The gateway takes up the route, and what the initialisation still has to say is said, before
 * users come. */
static void initialized(struct story *story)
{
    timer_stop(story->deadline);
    story->deadline = NULL;
    story_set_state(story, STORY_IDLE);
    story->timer = timer_start(story->options.loop, SETTLE_MS, 0, begin_idle, story);
}

/* --- releases */

static void start_release(void *arg)
{
    struct story *story = arg;
    const struct story_options *o = &story->options;
    struct release *release = &o->releases[story->at];
    story->timer = NULL;
    story->gate_opened = !release->gated;
    observe_steps(o->observe, &release->first_step);
    release->began_ms = clock_monotonic_ms();
    o->screen->version = release->version;
    screen_title(o->screen, "%s", release->title);
    screen_note(o->screen, "$ kubectl -n %s set image deployment/%s %s=%s:%s", o->namespace_,
                o->canary, o->container, o->image, release->tag);
    story_set_state(story, STORY_STARTING);
    char *target = heap_printf("deployment/%s", o->canary);
    char *image = heap_printf("%s=%s:%s", o->container, o->image, release->tag);
    const char *const argv[] = {"kubectl", "--kubeconfig", o->kubeconfig, "-n",  o->namespace_,
                                "set",     "image",        target,        image, NULL};
    run_command(story, argv);
    free(target);
    free(image);
    timer_stop(story->deadline);
    story->deadline = timer_start(o->loop, o->deadline_ms, 0, on_deadline, story);
}

static void end_release(struct story *story, struct step step)
{
    const struct story_options *o = &story->options;
    struct release *release = &o->releases[story->at];
    size_t count;
    observe_steps(o->observe, &count);
    release->last_step = count - 1;
    release->ended_ms = step.at_ms;
    release->ended_as = step.phase;
    story_set_state(story, STORY_SETTLING);
    if (++story->at == o->n_releases) {
        finish(story);
        return;
    }
    timer_stop(story->deadline);
    story->deadline = NULL;
    story->timer = timer_start(o->loop, SETTLE_MS, 0, start_release, story);
}

void story_changed(struct story *story)
{
    struct step step = observe_now(story->options.observe);
    if (story->state == STORY_DONE)
        return;
    if (story->state == STORY_INITIALIZING) {
        /* Succeeded: an earlier story has left a good version behind. */
        if ((step.phase == PHASE_Initialized || step.phase == PHASE_Succeeded) &&
            !observe_draining(story->options.observe))
            initialized(story);
        return;
    }
    if (story->state != STORY_RUNNING && story->state != STORY_STARTING)
        return;
    if (step.phase == PHASE_Waiting && !story->gate_opened) {
        story->gate_opened = true;
        story->timer = timer_start(story->options.loop, AT_THE_GATE_MS, 0, open_gate, story);
    }
    bool ended = step.phase == PHASE_Succeeded || step.phase == PHASE_Failed;
    if (story->state == STORY_RUNNING && ended &&
        step.at_ms > story->options.releases[story->at].began_ms)
        end_release(story, step);
}

struct story *story_new(const struct story_options *options)
{
    struct story *story = heap_alloc(sizeof(*story));
    *story = (struct story){.options = *options, .count_before = -1, .idle_requests = -1};
    story->deadline = timer_start(options->loop, INIT_DEADLINE_MS, 0, on_deadline, story);
    return story;
}

void story_free(struct story *story)
{
    if (!story)
        return;
    timer_stop(story->timer);
    timer_stop(story->deadline);
    free(story);
}

const char *story_trouble(const struct story *story)
{
    return story->trouble;
}

int64_t story_idle_requests(const struct story *story)
{
    return story->idle_requests;
}
