/* flagger-loadtester: options and wiring. */
#define _GNU_SOURCE /* environ */
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/option.h"
#include "base/quantity.h"
#include "kube/config.h"
#include "loadtester/load/loads.h"
#include "loadtester/task_user.h"
#include "loadtester/tester_api.h"

static struct {
    const char *address, *log_level, *namespace_regexp, *gate_url, *ca_file;
    const char *token_file, *tls_cert, *tls_key, *tls_client_ca;
    const char *allow_command, *policy, *pass_env, *task_memory, *task_user, *api_key_dir;
    const char *job_templates, *job_namespace, *job_log_bytes, *kubeconfig;
    int64_t job_max_pods, job_max_duration, job_max_rate;
    int64_t port, probe_port, timeout, max_running, max_per_canary, max_queued;
    int64_t task_processes, task_files, task_cpu, task_nice;
    bool allow_shell, seccomp, new_privileges;
} opt;

static const struct option_row rows[] = {
    OPTION(INT, "port", &opt.port, .value = "9090", .min = 0, .max = 65535, .arg = "PORT",
           .help = "port to listen on; 0 takes a free one"),
    OPTION(
        INT, "probe-port", &opt.probe_port, .value = "0", .min = 0, .max = 65535, .arg = "PORT",
        .help =
            "port of its own for /healthz, /readyz and /metrics, without TLS, for probes that show "
            "no certificate; 0 is none: they are at --port"),
    OPTION_ROW_ADDRESS(&opt.address, .value = "0.0.0.0"),
    OPTION(DURATION, "timeout", &opt.timeout, .value = "1h", .arg = "DURATION",
           .help = "a task that runs longer is ended"),
    OPTION(STRING, "namespace-regexp", &opt.namespace_regexp, .arg = "REGEXP",
           .help =
               "run tasks only for Canaries of namespaces that match (extended regular expression, "
               "not anchored)"),
    OPTION(
        STRING, "gate-url", &opt.gate_url, .env = "GATE_URL", .arg = "URL",
        .help =
            "flagger-gate, to which /gate/ and /rollback/ are passed on; without it gates are kept "
            "in memory, and a restart closes them"),
    OPTION(STRING, "ca-file", &opt.ca_file, .arg = "FILE",
           .help =
               "authorities (PEM) whose certificates flagger-gate, Concord and nGrinder may show, "
               "beside the system's; read again when it changes"),
    OPTION_ROW_LOG_LEVEL(&opt.log_level),
    OPTION_ROWS_ZAP(),
    OPTION(STRING, "token-file", &opt.token_file, .arg = "FILE", .group = "Access",
           .help =
               "bearer tokens, one a line, one of which every request must bring; what follows a "
               "blank "
               "(a role and a name, for the gate) has no effect here; read again when it changes"),
    OPTION_ROW_TLS_CERT(&opt.tls_cert, .group = "Access"),
    OPTION_ROW_TLS_KEY(&opt.tls_key, .group = "Access"),
    OPTION(STRING, "tls-client-ca", &opt.tls_client_ca, .arg = "FILE", .group = "Access",
           .help = "authority whose certificate every client must show"),
    OPTION(
        STRING, "policy", &opt.policy, .arg = "FILE,...", .group = "Allowed commands",
        .help =
            "commands that tasks may run, with the flags, values and arguments that each may have "
            "(YAML; deploy/loadtester/policies has some); they are run without a shell"),
    OPTION(
        STRING, "allow-command", &opt.allow_command, .arg = "NAME,...", .group = "Allowed commands",
        .help = "commands that tasks may run with any arguments, by name or path, without a shell; "
                "many "
                "tools read files and run programs when their arguments say so, and need --policy "
                "instead. With neither option tasks may run anything in a shell"),
    OPTION(BOOL, "allow-shell", &opt.allow_shell, .group = "Allowed commands",
           .help =
               "cmd and bash tasks run in a shell although --allow-command is given, which then "
               "bounds helm and kubectl only"),
    OPTION(STRING, "pass-env", &opt.pass_env, .arg = "NAME,...", .group = "Allowed commands",
           .help =
               "environment variables that tasks see beside the usual ones (PATH, HOME, proxies, "
               "HELM_*, KUBECONFIG); NAME* stands for all that begin so"),
    OPTION(STRING, "api-key-dir", &opt.api_key_dir, .arg = "DIR", .group = "Allowed commands",
           .help = "directory in which the apiKeyPath of concord tasks must be; without it they "
                   "name none"),
    OPTION(INT, "max-running", &opt.max_running, .value = "256", .min = 1, .max = 4096, .arg = "N",
           .group = "Limits", .help = "tasks at once in all"),
    OPTION(INT, "max-per-canary", &opt.max_per_canary, .value = "32", .min = 1, .max = 4096,
           .arg = "N", .group = "Limits", .help = "tasks at once for one Canary"),
    OPTION(INT, "max-queued", &opt.max_queued, .value = "256", .min = 0, .max = 65536, .arg = "N",
           .group = "Limits", .help = "tasks that wait for a place; more are answered 429"),
    OPTION(
        STRING, "task-memory", &opt.task_memory, .value = "0", .arg = "QUANTITY", .group = "Limits",
        .help =
            "memory of a task's processes together, e.g. 512Mi; a task that takes more is ended; 0 "
            "is no limit"),
    OPTION(INT, "task-processes", &opt.task_processes, .value = "1024", .min = 0, .max = 1000000,
           .arg = "N", .group = "Limits",
           .help =
               "processes and threads of a task together; a task that makes more is ended; 0 is no "
               "limit"),
    OPTION(INT, "task-files", &opt.task_files, .value = "65536", .min = 16, .max = 10000000,
           .arg = "N", .group = "Limits", .help = "open files of each process of a task"),
    OPTION(DURATION, "task-cpu", &opt.task_cpu, .value = "0", .arg = "DURATION", .group = "Limits",
           .help = "processor time of each process of a task; 0 is no limit"),
    OPTION(INT, "task-nice", &opt.task_nice, .value = "5", .min = 0, .max = 19, .arg = "N",
           .group = "Limits", .help = "nice value of tasks"),
    OPTION(
        STRING, "job-templates", &opt.job_templates, .arg = "DIR", .group = "Load from many pods",
        .help =
            "folder of templates of Jobs and TestRuns (NAME.yaml), of which tasks of the types job "
            "and k6 name one; read when one is named. Without it, and --job-namespace, these types "
            "are refused"),
    OPTION(STRING, "job-namespace", &opt.job_namespace, .arg = "NAMESPACE",
           .group = "Load from many pods",
           .help = "namespace of all these Jobs and TestRuns, the only one that needs rights"),
    OPTION(INT, "job-max-pods", &opt.job_max_pods, .value = "16", .min = 1, .max = 256, .arg = "N",
           .group = "Load from many pods", .help = "parallelism that a webhook may ask for"),
    OPTION(DURATION, "job-max-duration", &opt.job_max_duration, .value = "15m", .arg = "DURATION",
           .group = "Load from many pods",
           .help = "duration that a webhook may ask for; Jobs are ended five minutes after it"),
    OPTION(INT, "job-max-rate", &opt.job_max_rate, .value = "10000", .min = 1, .max = 100000000,
           .arg = "N", .group = "Load from many pods",
           .help = "requests a second that a webhook may ask for, of all pods together"),
    OPTION(STRING, "job-log-bytes", &opt.job_log_bytes, .value = "64Mi", .arg = "QUANTITY",
           .group = "Load from many pods",
           .help = "log of a pod that is read for its results; a longer one is a failure"),
    OPTION(STRING, "kubeconfig", &opt.kubeconfig, .arg = "FILE", .group = "Load from many pods",
           .help = "access to the API server, for these Jobs; without it $KUBECONFIG, the "
                   "service account of the pod, or ~/.kube/config"),
    OPTION(STRING, "task-user", &opt.task_user, .env = "LOADTESTER_TASK_USER", .arg = "UID[:GID]",
           .group = "Privileges",
           .help = "user and group that tasks run as; needs root here, of whose capabilities "
                   "SETUID, SETGID and KILL are enough. FIRST-LAST[:GID] gives each namespace a "
                   "user of its own, with a HOME of its own, and all of them the further group"),
    OPTION(BOOL, "new-privileges", &opt.new_privileges, .group = "Privileges",
           .help = "set-user-id programs such as ping work in tasks"),
    OPTION(BOOL, "seccomp", &opt.seccomp, .group = "Privileges",
           .help =
               "refuse tasks the system calls of administrators, debuggers and container escapes"),
    {0}};

extern const char loadtester_help[]; /* help.txt */
static const struct option_program program = {
    .name = "flagger-loadtester",
    .summary =
        "Runs load tests and checks for releases, as webhooks of Canary objects ask for them.",
    .synopsis = "[OPTION...]",
    .details = loadtester_help,
    .rows = rows,
};

struct tester {
    struct arena *arena;
    struct tester_api api;
    struct http_client *client;
    struct task_users *users;
    regex_t namespaces;
    struct load_policy load;
    struct kube_config kube_config;
    struct http_client *kube_http;
    struct kube_client *kube; /* NULL if load from many pods is disabled */
};

static void on_drain(void *arg)
{
    struct tester *tester = arg;

    runner_stop(tester->api.runner);
    loads_stop(tester->api.loads);
    kube_client_free(tester->kube);
    tester->kube = NULL;
    if (tester->api.tokens)
        tokens_stop(tester->api.tokens);
}

static enum err read_limits(struct child_limits *limits, struct errinfo *ei)
{
    *limits = (struct child_limits){.processes = opt.task_processes,
                                    .cpu_s = (opt.task_cpu + 999) / 1000,
                                    .files = opt.task_files,
                                    .nice = opt.task_nice,
                                    .no_new_privileges = !opt.new_privileges,
                                    .filter = opt.seccomp,
                                    .first_victim = true};
    if (opt.seccomp && opt.new_privileges)
        return err_set(ei, ERR_INVALID,
                       "--seccomp and --new-privileges: the kernel does not do both");
    if (quantity_whole(opt.task_memory, &limits->memory, NULL) != ERR_OK || limits->memory < 0)
        return err_set(ei, ERR_INVALID,
                       "--task-memory: expected a quantity such as 512Mi, found \"%.80s\"",
                       opt.task_memory);
    /* tasks share a user: room for a few large ones, and a limit between two checks of the
     * process tree */
    limits->user_processes = 4 * opt.task_processes;
    return ERR_OK;
}

/* Also the folder for tasks' temporary files. */
static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");

    return folder && *folder ? folder : "/tmp";
}

static void warn_of_open_doors(const struct tester_api *api)
{
    if (!api->policy.commands)
        log_warn("any_command", NULL,
                 "tasks may run any command in a shell, as Flagger's load tester lets them; "
                 "--policy bounds them");
    if (opt.allow_command && *opt.allow_command)
        log_warn("any_argument", NULL,
                 "the commands of --allow-command take any arguments, and may read files and run "
                 "programs by them; --policy bounds these too");
    if (!child_can_watch())
        log_warn("not_watched", NULL,
                 "this kernel does not tell the processes of a task (CONFIG_PROC_CHILDREN): "
                 "--task-processes and --task-memory hold each user and process only");
    if (!opt.token_file && !opt.tls_client_ca)
        log_warn("anybody", NULL,
                 "whoever reaches this port may run tasks; --token-file or --tls-client-ca bounds "
                 "them");
    if (!opt.gate_url || !*opt.gate_url)
        log_warn("gates_in_memory", NULL,
                 "gates are kept in memory and a restart closes them; --gate-url passes them on to "
                 "flagger-gate");
}

/* A policy lets commands read only the files that it names; without one, tasks need a user of
 * their own. */
static enum err check_secrets(const struct task_users *users, struct errinfo *ei)
{
    struct child_limits limits = {0};

    const struct secret_file files[] = {{"token-file", opt.token_file},
                                        {"tls-key", opt.tls_key},
                                        {"api-key-dir", opt.api_key_dir},
                                        {NULL, NULL}};

    task_users_first(users, &limits);
    if (limits.uid <= 0 && opt.policy && *opt.policy)
        return ERR_OK;
    return secrets_check(files, &limits, ei);
}

static enum err read_policy(struct tester *tester, struct errinfo *ei)
{
    struct task_policy *policy = &tester->api.policy;
    bool named = opt.allow_command && *opt.allow_command, ruled = opt.policy && *opt.policy;

    policy->shell = !(named || ruled) || opt.allow_shell;
    policy->key_dir = opt.api_key_dir && *opt.api_key_dir ? opt.api_key_dir : NULL;
    if (ruled && (named || opt.allow_shell))
        return err_set(ei, ERR_INVALID,
                       "--policy goes with neither --allow-command nor --allow-shell, which let "
                       "what it forbids");
    if (ruled)
        return policy_read(tester->arena, option_split(tester->arena, opt.policy),
                           &policy->commands, ei);
    if (named)
        policy->commands =
            policy_of_names(tester->arena, option_split(tester->arena, opt.allow_command));
    return ERR_OK;
}

static enum err read_options(struct tester *tester, struct runner_options *options,
                             struct errinfo *ei)
{
    struct tester_api *api = &tester->api;
    enum err err = opt.ca_file && *opt.ca_file ? file_check(opt.ca_file, ei) : ERR_OK;

    if (err != ERR_OK)
        return err_wrap(ei, err, "--ca-file");
    if (opt.namespace_regexp && *opt.namespace_regexp) {
        int failed = regcomp(&tester->namespaces, opt.namespace_regexp, REG_EXTENDED | REG_NOSUB);
        char text[128];
        if (failed) {
            regerror(failed, &tester->namespaces, text, sizeof(text));
            return err_set(ei, ERR_INVALID,
                           "--namespace-regexp: \"%.80s\" is not a regular expression: %s",
                           opt.namespace_regexp, text);
        }
        api->namespaces = &tester->namespaces;
    }
    if ((opt.tls_cert == NULL) != (opt.tls_key == NULL) || (opt.tls_client_ca && !opt.tls_cert))
        return err_set(ei, ERR_INVALID,
                       "--tls-cert and --tls-key belong together, and --tls-client-ca needs both");
    err = read_policy(tester, ei);
    if (err != ERR_OK)
        return err;
    *options = (struct runner_options){
        .timeout_ms = opt.timeout,
        .max_running = (int)opt.max_running,
        .max_per_canary = (int)opt.max_per_canary,
        .max_queued = (int)opt.max_queued,
        .env =
            environment_for_tasks(tester->arena, environ,
                                  opt.pass_env ? option_split(tester->arena, opt.pass_env) : NULL),
    };
    err = read_limits(&options->limits, ei);
    if (err == ERR_OK)
        err = task_users_new(opt.task_user, temporary_folder(), &tester->users, ei);
    options->users = tester->users;
    return err == ERR_OK ? check_secrets(tester->users, ei) : err;
}

/* --- load from many pods */

static enum err read_load(struct tester *tester, struct errinfo *ei)
{
    struct load_policy *load = &tester->load;
    bool templates = opt.job_templates && *opt.job_templates;
    bool namespace_ = opt.job_namespace && *opt.job_namespace;

    if (templates != namespace_)
        return err_set(ei, ERR_INVALID, "--job-templates and --job-namespace belong together");
    if (!templates)
        return ERR_OK;
    if (!kube_is_label(opt.job_namespace))
        return err_set(ei, ERR_INVALID,
                       "--job-namespace: expected the name of a namespace, found \"%.80s\"",
                       opt.job_namespace);
    *load = (struct load_policy){.templates = opt.job_templates,
                                 .namespace_ = opt.job_namespace,
                                 .max_pods = opt.job_max_pods,
                                 .max_duration_ms = opt.job_max_duration,
                                 .max_rate = opt.job_max_rate};
    if (load->max_duration_ms < 1000)
        return err_set(ei, ERR_INVALID, "--job-max-duration: expected at least 1s");
    if (quantity_whole(opt.job_log_bytes, &load->max_log_bytes, NULL) != ERR_OK ||
        load->max_log_bytes < 1024)
        return err_set(ei, ERR_INVALID,
                       "--job-log-bytes: expected a quantity from 1Ki on such as 64Mi, found "
                       "\"%.80s\"",
                       opt.job_log_bytes);
    const struct kube_config_source source = {.kubeconfig = opt.kubeconfig};
    enum err err = kube_config_load(tester->arena, &source, &tester->kube_config, ei);
    tester->api.policy.load = load;
    return err == ERR_OK ? ERR_OK : err_wrap(ei, err, "--job-namespace needs an API server");
}

static void start_load(struct tester *tester, struct loop *loop)
{
    enum { POLL_MS = 2000 };
    const struct http_client_options http = {.user_agent = "flagger-loadtester"};
    const struct kube_client_options kube = {.user_agent = "flagger-loadtester"};

    if (!tester->api.policy.load)
        return;
    tester->kube_http = http_client_new(loop, &http);
    tester->kube = kube_client_new(loop, tester->kube_http, &tester->kube_config, &kube);
    tester->api.loads = loads_new(loop, tester->kube, &tester->load, POLL_MS);
}

/* A kubelet has no client certificate, even if --tls-client-ca requires one. */
static enum err serve_probes(struct loop *loop, struct http_server **out, struct errinfo *ei)
{
    enum { CONNECTIONS = 64 };
    static const struct http_route none[] = {{0}};
    const struct http_server_options options = {.address = opt.address,
                                                .port = (int)opt.probe_port,
                                                .routes = none,
                                                .max_connections = CONNECTIONS};

    return opt.probe_port ? http_server_new(loop, &options, out, ei) : ERR_OK;
}

/* Listens and serves until the loop has drained. */
static int serve(struct tester *tester, struct loop *loop, struct errinfo *ei)
{
    struct http_server *server = NULL, *probes = NULL;
    struct http_server_options options = {.address = opt.address,
                                          .port = (int)opt.port,
                                          .routes = tester_routes,
                                          .arg = &tester->api,
                                          .max_body = WEBHOOK_MAX_BYTES,
                                          .tls_cert_file = opt.tls_cert,
                                          .tls_key_file = opt.tls_key,
                                          .tls_client_ca_file = opt.tls_client_ca,
                                          .name = "flagger_loadtester"};

    if (serve_probes(loop, &probes, ei) != ERR_OK ||
        http_server_new(loop, &options, &server, ei) != ERR_OK) {
        http_server_free(probes);
        if (tester->api.tokens)
            tokens_stop(tester->api.tokens);
        return 1;
    }
    tester->api.server = server;
    loop_on_drain(loop, on_drain, tester);
    loop_take_hangup(loop, "a restart takes: options and their environment, the files of --policy");
    warn_of_open_doors(&tester->api);
    log_info("started", NULL, "waiting for tasks", LOG_STR("version", FLAGGER_VERSION),
             LOG_INT("port", http_server_port(server)));
    int status = loop_run(loop);
    http_server_free(server);
    http_server_free(probes);
    return status;
}

static int run(struct tester *tester)
{
    struct errinfo info = {0};
    struct runner_options options;
    struct tester_api *api = &tester->api;
    int status = 2;

    enum err err = read_options(tester, &options, &info);
    if (err == ERR_OK)
        err = read_load(tester, &info);
    if (err == ERR_OK) {
        struct loop *loop = loop_new(30000);
        child_adopt_orphans(loop);
        child_prepare();
        struct http_client_options client = {
            .user_agent = "flagger-loadtester",
            .ca_file = opt.ca_file && *opt.ca_file ? opt.ca_file : NULL,
        };
        api->loop = loop;
        options.client = tester->client = http_client_new(loop, &client);
        api->runner = runner_new(loop, &options);
        api->gates = gates_new(tester->client, opt.gate_url);
        start_load(tester, loop);
        if (opt.token_file && *opt.token_file)
            err = tokens_new(loop, opt.token_file, NULL, &api->tokens, &info);
        if (err == ERR_OK && api->tokens)
            tokens_on_changed(api->tokens, tester_tokens_changed, api);
        if (err == ERR_OK)
            status = serve(tester, loop, &info);
        loads_free(api->loads);
        kube_client_free(tester->kube);
        http_client_free(tester->kube_http);
        http_client_free(tester->client);
        gates_free(api->gates);
        loop_free(loop);
        runner_free(api->runner);
        tokens_free(api->tokens);
    }
    task_users_free(tester->users);
    if (*info.text)
        log_error("start_failed", NULL, info.text);
    if (api->namespaces)
        regfree(&tester->namespaces);
    return status;
}

int main(int argc, char **argv)
{
    child_main(argc, argv);
    struct tester tester = {.arena = arena_new()};
    option_parse_daemon(&program, tester.arena, argc, argv, &opt.log_level);
    int status = run(&tester);
    metrics_reset();
    arena_free(tester.arena);
    return status;
}
