/* flagger-loadtester: options and wiring. */
#include "base/expo.h"
#include "base/log.h"
#include "base/option.h"
#include "loadtester/api.h"

static struct {
    const char *address, *log_level, *namespace_regexp;
    int64_t port, timeout;
} opt;

#define NO_ZAP "accepted for Flagger's manifests; has no effect: the log is always JSON lines"

static const struct option_row rows[] = {
    {.name = "port",
     .type = OPTION_INT,
     .at = &opt.port,
     .value = "9090",
     .min = 0,
     .max = 65535,
     .arg = "PORT",
     .help = "port to listen on; 0 takes a free one"},
    {.name = "address",
     .type = OPTION_STRING,
     .at = &opt.address,
     .value = "0.0.0.0",
     .arg = "ADDRESS",
     .help = "address to listen on"},
    {.name = "timeout",
     .type = OPTION_DURATION,
     .at = &opt.timeout,
     .value = "1h",
     .arg = "DURATION",
     .help = "a task that runs longer is ended"},
    {.name = "namespace-regexp",
     .type = OPTION_STRING,
     .at = &opt.namespace_regexp,
     .arg = "REGEXP",
     .help = "run tasks only for Canaries of namespaces that match (extended regular expression, "
             "not anchored)"},
    {.name = "log-level",
     .type = OPTION_STRING,
     .at = &opt.log_level,
     .value = "info",
     .choices = log_level_names,
     .arg = "LEVEL",
     .help = "least severe level that is logged"},
    {.name = "zap-replace-globals", .type = OPTION_IGNORED, .help = NO_ZAP},
    {.name = "zap-encoding", .type = OPTION_IGNORED, .arg = "ENCODING", .help = NO_ZAP},
    {0}};

static const struct option_program program = {
    .name = "flagger-loadtester",
    .summary =
        "Runs load tests and checks for releases, as webhooks of Canary objects ask for them.",
    .synopsis = "[OPTION...]",
    .details = "POST / takes the payload of a Canary's webhook and runs what its metadata says:\n"
               "\n"
               "    metadata:\n"
               "      type: cmd                # in the background, answered 202 at once; bash "
               "waits for the end\n"
               "      cmd: hey -z 1m -q 10 http://podinfo-canary.test/\n"
               "\n"
               "The same task of a Canary is not started twice while it runs. GET /tasks shows "
               "what runs and what ran,\n"
               "with exit statuses. Commands run with this process' rights: let only the "
               "controller reach the port.\n"
               "Nothing a task has started outlives it, nor this process.",
    .rows = rows,
};

static void on_drain(void *arg)
{
    struct tester_api *api = arg;
    runner_stop(api->runner);
}

static int serve(struct tester_api *api)
{
    struct errinfo info = {0};
    struct loop *loop = loop_new(30000);
    struct http_server *server = NULL;
    struct http_server_options options = {.address = opt.address,
                                          .port = (int)opt.port,
                                          .routes = tester_routes,
                                          .arg = api,
                                          .max_body = WEBHOOK_MAX_BYTES,
                                          .name = "flagger_loadtester"};
    int status = 1;
    api->runner = runner_new(loop, opt.timeout);
    if (http_server_new(loop, &options, &server, &info) != ERR_OK) {
        log_error("start_failed", NULL, info.text);
    } else {
        loop_on_drain(loop, on_drain, api);
        log_info("started", NULL, "waiting for tasks", LOG_STR("version", FLAGGER_VERSION),
                 LOG_INT("port", http_server_port(server)));
        status = loop_run(loop);
        http_server_free(server);
    }
    loop_free(loop);
    runner_free(api->runner);
    return status;
}

static int run(void)
{
    struct tester_api api = {0};
    regex_t namespaces;
    bool limited = opt.namespace_regexp && *opt.namespace_regexp;
    if (limited) {
        int failed = regcomp(&namespaces, opt.namespace_regexp, REG_EXTENDED | REG_NOSUB);
        if (failed) {
            char text[128];
            const char *why = text;
            regerror(failed, &namespaces, text, sizeof(text));
            log_error("start_failed", NULL, "--namespace-regexp is not a regular expression",
                      LOG_STR("value", opt.namespace_regexp), LOG_STR("error", why));
            return 2;
        }
        api.namespaces = &namespaces;
    }
    int status = serve(&api);
    if (limited)
        regfree(&namespaces);
    return status;
}

int main(int argc, char **argv)
{
    child_main(argc, argv);
    struct arena *arena = arena_new();
    option_parse(&program, arena, argc, argv);
    log_set_level(opt.log_level);
    int status = run();
    expo_reset();
    arena_free(arena);
    return status;
}
