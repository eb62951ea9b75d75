/* flagger-demo-app: options and wiring. */
#include <stdlib.h>

#include "app/demo.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/option_rows.h"

static struct {
    const char *address, *image, *version, *pod;
    int64_t port, error_percent, latency_ms, jitter_ms, ready_delay_ms;
    const char *crash;
} opt;

static const struct option_row rows[] = {
    OPTION(INT, "port", &opt.port, .env = "PORT", .value = "9898", .min = 0, .max = 65535,
           .arg = "PORT", .help = "port to listen on; 0 takes a free one", .group = "Where"),
    OPTION_ROW_ADDRESS(&opt.address, .value = "0.0.0.0", .group = "Where"),
    OPTION(STRING, "pod", &opt.pod, .env = "HOSTNAME", .value = "", .arg = "NAME",
           .help = "pod name that replies carry", .group = "Where"),
    OPTION(STRING, "image", &opt.image, .env = "DEMO_IMAGE", .value = "demo-app", .arg = "IMAGE",
           .help = "image name whose tag says version and behaviour: "
                   "demo-app:2.0.0[-errors[N]][-slow[DURATION]][-crash[DURATION]]",
           .group = "Behaviour"),
    OPTION(STRING, "app-version", &opt.version, .env = "DEMO_VERSION", .arg = "VERSION",
           .help = "version that replies carry, instead of the tag's", .group = "Behaviour"),
    OPTION(INT, "error-percent", &opt.error_percent, .env = "DEMO_ERROR_PERCENT", .value = "-1",
           .min = -1, .max = 100, .arg = "N",
           .help = "answers N of 100 requests with 500, evenly spread; -1 leaves it to the tag",
           .group = "Behaviour"),
    OPTION(DURATION, "latency", &opt.latency_ms, .env = "DEMO_LATENCY", .value = "0s",
           .arg = "DURATION", .help = "time that each answer takes; 0s leaves it to the tag",
           .group = "Behaviour"),
    OPTION(DURATION, "jitter", &opt.jitter_ms, .env = "DEMO_JITTER", .value = "0s",
           .arg = "DURATION", .help = "lets the latency vary by up to so much, both ways",
           .group = "Behaviour"),
    OPTION(DURATION, "ready-delay", &opt.ready_delay_ms, .env = "DEMO_READY_DELAY", .value = "0s",
           .arg = "DURATION", .help = "answers 503 on /readyz for so long", .group = "Behaviour"),
    OPTION(STRING, "crash-after", &opt.crash, .env = "DEMO_CRASH", .arg = "DURATION",
           .help = "exits with status 1 after this time", .group = "Behaviour"),
    {0},
};

static const struct option_program program = {
    .name = "flagger-demo-app",
    .summary = "a small HTTP service whose releases can go well or badly",
    .synopsis = "[OPTION...]",
    .details = "Serves /, /version, /headers, /echo, /status/CODE, /delay/SECONDS, /healthz, "
               "/readyz and /metrics.\n"
               "DEMO_MESSAGE sets the greeting of /. SIGTERM: not ready any more, ends when the "
               "open requests are\n"
               "answered.\n\n"
               "  flagger-demo-app --port 9898 --image demo-app:3.0.0-errors50",
    .rows = rows,
};

#ifdef __SANITIZE_ADDRESS__
/*
 * The leak check at exit is left to demo_test: it stops its own threads by ptrace, and hangs now
 * and then when a supervisor's signals to all descendants come in between.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

static void crash(void *arg)
{
    (void)arg;
    log_error("crash", NULL, "the app ends on purpose");
    _Exit(1);
}

static void forget_crash(void *arg)
{
    timer_stop(arg);
}

/* Options over the tag. */
static enum err read_behaviour(struct arena *arena, struct behaviour *out, struct errinfo *ei)
{
    enum err err = behaviour_of_image(arena, opt.image, out, ei);
    if (err != ERR_OK)
        return err;
    if (opt.version)
        out->version = opt.version;
    if (opt.error_percent >= 0)
        out->error_percent = opt.error_percent;
    if (opt.latency_ms > 0)
        out->latency_ms = opt.latency_ms;
    if (opt.crash && *opt.crash &&
        (err = duration_parse_ms(opt.crash, &out->crash_after_ms, ei)) != ERR_OK)
        return err_wrap(ei, err, "crash-after");
    return ERR_OK;
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    struct errinfo ei = {0};
    struct demo_options options = {0};
    struct demo *demo = NULL;
    int status = 2;

    option_parse(&program, arena, argc, argv);
    struct loop *loop = loop_new(30 * 1000);
    if (read_behaviour(arena, &options.behaviour, &ei) != ERR_OK)
        goto out;
    options.address = opt.address;
    options.port = (int)opt.port;
    options.pod = opt.pod;
    options.jitter_ms = opt.jitter_ms;
    options.ready_delay_ms = opt.ready_delay_ms;
    status = 1;
    if (options.behaviour.crash_after_ms == 0)
        crash(NULL);
    if (demo_new(loop, &options, &demo, &ei) != ERR_OK)
        goto out;
    struct timer *timer = options.behaviour.crash_after_ms > 0
                              ? timer_start(loop, options.behaviour.crash_after_ms, 0, crash, NULL)
                              : NULL;
    if (timer)
        loop_on_drain(loop, forget_crash, timer);
    log_info("listening", NULL, "the demo app listens", LOG_STR("address", opt.address),
             LOG_INT("port", demo_port(demo)), LOG_STR("version", options.behaviour.version));
    status = loop_run(loop);
    demo_free(demo);
out:
    if (ei.text[0])
        log_error("start_failed", NULL, ei.text);
    loop_free(loop);
    arena_free(arena);
    return status;
}
