/*
 * flagger-screen: tells the demo's stories against a running sandbox and checks how they end.
 * test/demo sets the stage.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/option.h"
#include "net/child/child.h"
#include "screen/summary.h"

static struct {
    const char *kubeconfig, *namespace_, *canary, *container, *image, *url, *host, *gate,
        *gate_headers, *stats, *report;
    int64_t rate, idle, deadline;
    bool epilogue;
} opt;

static const struct option_row rows[] = {
    OPTION(STRING, "kubeconfig", &opt.kubeconfig, .arg = "PATH", .help = "of the sandbox"),
    OPTION(STRING, "namespace", &opt.namespace_, .value = "test", .arg = "NAME",
           .help = "of the Canary"),
    OPTION(STRING, "canary", &opt.canary, .value = "podinfo", .arg = "NAME",
           .help = "the Canary and its target Deployment"),
    OPTION(STRING, "container", &opt.container, .value = "podinfod", .arg = "NAME",
           .help = "container whose image is changed"),
    OPTION(STRING, "image", &opt.image, .value = "demo-app", .arg = "NAME",
           .help = "image without the tag"),
    OPTION(STRING, "url", &opt.url, .arg = "URL", .help = "where the client sends requests"),
    OPTION(STRING, "host", &opt.host, .value = "app.example.com", .arg = "NAME",
           .help = "Host header of the client's requests"),
    OPTION(INT, "rate", &opt.rate, .value = "100", .min = 1, .max = 10000, .arg = "N",
           .help = "requests a second"),
    OPTION(STRING, "gate", &opt.gate, .arg = "URL", .help = "base URL of the gate"),
    OPTION(STRING, "gate-headers", &opt.gate_headers, .arg = "FILE",
           .help = "headers that the gate wants of who opens it, such as a token"),
    OPTION(DURATION, "idle", &opt.idle, .value = "10s", .arg = "DURATION",
           .help = "how long the idle canary's requests are counted; 0s: not at all"),
    OPTION(DURATION, "deadline", &opt.deadline, .value = "2m", .arg = "DURATION",
           .help = "a release that takes longer has failed"),
    OPTION(BOOL, "epilogue", &opt.epilogue,
           .help = "release a good version at the end, so that a healthy canary is left behind"),
    OPTION(STRING, "report", &opt.report, .arg = "FILE", .help = "write the summary as JSON"),
    {0},
};

static const struct option_program program = {
    .name = "flagger-screen",
    .summary = "Releases three versions in the sandbox, watches traffic from outside, and checks "
               "how each ends.",
    .synopsis = "--kubeconfig PATH --url URL --gate URL [OPTION...]",
    .rows = rows,
};

enum { REFRESH_MS = 500 };

static struct release releases[] = {
    {.tag = "2.0.0",
     .version = "2.0.0",
     .title = "Version 2 waits at the gate, is let through, and is promoted",
     .outcome = PHASE_Succeeded,
     .gated = true},
    {.tag = "3.0.0-errors50",
     .version = "3.0.0",
     .title = "Version 3 answers every second request with 5xx and is rolled back",
     .outcome = PHASE_Failed},
    {.tag = "4.0.0-slow800ms",
     .version = "4.0.0",
     .title = "Version 4 takes 800 ms an answer and is rolled back",
     .outcome = PHASE_Failed},
    {.tag = "5.0.0",
     .version = "5.0.0",
     .title = "Epilogue: version 5 is good and is promoted",
     .outcome = PHASE_Succeeded},
};
enum { N_RELEASES = sizeof(releases) / sizeof(releases[0]) };

struct stage {
    struct loop *loop;
    struct http_client *http, *outside;
    struct kube_client *kube;
    struct observe *observe;
    struct traffic *traffic;
    struct screen screen;
    struct story *story;
    struct timer *refresh;
    struct timer *line; /* a line of the table is due */
};

/* A status and its events come together: one line for what came within that time. */
enum { LINE_MS = 150 };

static void on_line(void *arg)
{
    struct stage *stage = arg;
    stage->line = NULL;
    screen_step(&stage->screen);
}

static void on_changed(void *arg)
{
    struct stage *stage = arg;
    if (!stage->line)
        stage->line = timer_start(stage->loop, LINE_MS, 0, on_line, stage);
    if (stage->story)
        story_changed(stage->story);
}

static void on_refresh(void *arg)
{
    struct stage *stage = arg;
    screen_refresh(&stage->screen);
}

static void on_done(void *arg)
{
    struct stage *stage = arg;
    loop_drain(stage->loop);
}

static void on_drain(void *arg)
{
    struct stage *stage = arg;
    timer_stop(stage->refresh);
    stage->refresh = NULL;
    if (stage->line)
        screen_step(&stage->screen);
    timer_stop(stage->line);
    stage->line = NULL;
    traffic_stop(stage->traffic);
    observe_stop(stage->observe);
    kube_client_free(stage->kube);
    stage->kube = NULL;
}

static void set_stage(struct stage *stage, const struct kube_config *config)
{
    stage->loop = loop_new(15000);
    stage->http =
        http_client_new(stage->loop, &(struct http_client_options){.user_agent = "flagger-screen"});
    /* A slow version ties up connections: there must be enough of them. */
    stage->outside = http_client_new(
        stage->loop, &(struct http_client_options){
                         .max_per_host = 1024, .max_total = 1024, .user_agent = "outside"});
    stage->kube = kube_client_new(stage->loop, stage->http, config,
                                  &(struct kube_client_options){.user_agent = "flagger-screen"});
    stage->observe =
        observe_new(stage->loop, stage->kube, opt.namespace_, opt.canary, on_changed, stage);
    stage->traffic = traffic_new(stage->loop, stage->outside, opt.url, opt.host, (int)opt.rate);
    stage->screen = (struct screen){.observe = stage->observe,
                                    .traffic = stage->traffic,
                                    .began_ms = clock_monotonic_ms(),
                                    .terminal = isatty(STDOUT_FILENO)};
    stage->refresh = timer_start(stage->loop, REFRESH_MS, REFRESH_MS, on_refresh, stage);
    loop_on_drain(stage->loop, on_drain, stage);
}

static int tell(const struct kube_config *config)
{
    struct stage stage = {0};
    set_stage(&stage, config);
    struct story_options options = {.loop = stage.loop,
                                    .kubeconfig = opt.kubeconfig,
                                    .namespace_ = opt.namespace_,
                                    .canary = opt.canary,
                                    .container = opt.container,
                                    .image = opt.image,
                                    .gate_url = opt.gate,
                                    .gate_headers = opt.gate_headers,
                                    .kube = stage.kube,
                                    .observe = stage.observe,
                                    .traffic = stage.traffic,
                                    .screen = &stage.screen,
                                    .releases = releases,
                                    .n_releases = opt.epilogue ? N_RELEASES : N_RELEASES - 1,
                                    .idle_ms = opt.idle,
                                    .deadline_ms = opt.deadline,
                                    .done = on_done,
                                    .arg = &stage};
    screen_title(&stage.screen, "Version 1 is taken under care");
    stage.story = story_new(&options);
    int status = loop_run(stage.loop);
    struct errinfo info = {0};
    if (!summary_print(&options, stage.story))
        status = 1;
    if (opt.report && summary_report(&options, stage.story, opt.report, &info) != ERR_OK) {
        fprintf(stderr, "flagger-screen: %s\n", info.text);
        status = 1;
    }
    story_free(stage.story);
    http_client_free(stage.outside);
    http_client_free(stage.http);
    loop_free(stage.loop);
    observe_free(stage.observe);
    traffic_free(stage.traffic);
    return status;
}

int main(int argc, char **argv)
{
    child_main(argc, argv);
    struct arena *arena = arena_new();
    option_parse(&program, arena, argc, argv);
    log_set_level("error");
    struct kube_config config;
    struct kube_config_source source = {.kubeconfig = opt.kubeconfig};
    struct errinfo info = {0};
    int status = 1;
    if (!opt.url || !opt.gate || !opt.kubeconfig)
        fprintf(stderr, "flagger-screen: --kubeconfig, --url and --gate are needed; try --help\n");
    else if (kube_config_load(arena, &source, &config, &info) != ERR_OK)
        fprintf(stderr, "flagger-screen: %s\n", info.text);
    else
        status = tell(&config);
    metrics_reset();
    arena_free(arena);
    return status;
}
