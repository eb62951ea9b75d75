/* flagger-demo-app: options and wiring. */
#include <stdlib.h>

#include "app/demo.h"
#include "base/log.h"
#include "base/option.h"

static struct {
    const char *address, *image, *pod;
    int64_t port, ready_delay_ms;
} opt;

static const struct option_row rows[] = {
    OPTION(INT, "port", &opt.port, .env = "PORT", .value = "9898", .min = 0, .max = 65535,
           .arg = "PORT", .help = "port to listen on; 0 takes a free one", .group = "Where"),
    OPTION_ROW_ADDRESS(&opt.address, .value = "0.0.0.0", .group = "Where"),
    OPTION(STRING, "pod", &opt.pod, .env = "HOSTNAME", .value = "", .arg = "NAME",
           .help = "pod name that replies carry", .group = "Where"),
    OPTION(STRING, "image", &opt.image, .env = "DEMO_IMAGE", .value = "demo-app", .arg = "IMAGE",
           .help = "image name whose tag says version and behaviour: "
                   "demo-app:2.0.0[-errors[N]][-chance[N]][-load[N]][-leak[KIB]][-slow[DURATION]]"
                   "[-median[DURATION]][-crash[DURATION]]",
           .group = "Behaviour"),
    OPTION(DURATION, "ready-delay", &opt.ready_delay_ms, .env = "DEMO_READY_DELAY", .value = "0s",
           .arg = "DURATION", .help = "answers 503 on /readyz for so long", .group = "Behaviour"),
    {0},
};

static const struct option_program program = {
    .name = "flagger-demo-app",
    .summary = "a small HTTP service whose releases can go well or badly",
    .synopsis = "[OPTION...]",
    .details = "Serves /, /version, /headers, /echo, /status/CODE, /delay/SECONDS, /healthz, "
               "/readyz and /metrics.\n"
               "POST /unready/SECONDS: /readyz says 503 for so long.\n"
               "DEMO_MESSAGE sets the greeting of /. SIGTERM: not ready any more, ends when the "
               "open requests are\n"
               "answered.\n\n"
               "  flagger-demo-app --port 9898 --image demo-app:3.0.0-errors50",
    .rows = rows,
};

#ifdef __SANITIZE_ADDRESS__
/*
 * The leak check at exit is left to cases_test: it stops its own threads by ptrace, and hangs now
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

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    struct errinfo ei = {0};
    struct demo *demo = NULL;
    struct timer *timer = NULL;
    int status = 1;

    option_parse(&program, arena, argc, argv);
    struct loop *loop = loop_new(30 * 1000);
    struct demo_options options = {.address = opt.address,
                                   .port = (int)opt.port,
                                   .pod = opt.pod,
                                   .ready_delay_ms = opt.ready_delay_ms};
    if (behaviour_of_image(arena, opt.image, &options.behaviour, &ei) != ERR_OK)
        goto out;
    if (options.behaviour.crash_after_ms == 0)
        crash(NULL);
    if (demo_new(loop, &options, &demo, &ei) != ERR_OK)
        goto out;
    if (options.behaviour.crash_after_ms > 0)
        timer = timer_start(loop, options.behaviour.crash_after_ms, 0, crash, NULL);
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
