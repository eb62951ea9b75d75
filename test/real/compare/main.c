/* flagger-testcompare: options and wiring. */
#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/option.h"
#include "base/yaml.h"
#include "net/child/child.h"
#include "real/compare.h"

static struct {
    const char *sandbox, *real, *recorded, *record, *requests, *allowed;
    bool verbose;
} opt;

static const struct option_row rows[] = {
    OPTION(STRING, "sandbox", &opt.sandbox, .arg = "PATH", .help = "kubeconfig of flagger-sandbox"),
    OPTION(STRING, "real", &opt.real, .arg = "PATH", .help = "kubeconfig of the real API server"),
    OPTION(STRING, "recorded", &opt.recorded, .arg = "FILE",
           .help = "what a real API server has answered, in place of --real"),
    OPTION(STRING, "record", &opt.record, .arg = "FILE",
           .help = "file to write the answers of --real to"),
    OPTION(STRING, "requests", &opt.requests, .arg = "FILE", .help = "YAML: what is sent to both"),
    OPTION(STRING, "allowed", &opt.allowed, .arg = "FILE",
           .help = "YAML: the differences that are meant to be, each with its reason"),
    OPTION(BOOL, "verbose", &opt.verbose, .help = "also print the differences that are explained"),
    {0},
};

static const struct option_program program = {
    .name = "flagger-testcompare",
    .summary = "Sends the same requests to flagger-sandbox and to a real API server, and prints "
               "where the answers differ.",
    .synopsis = "--sandbox PATH --real PATH|--recorded FILE --requests FILE --allowed FILE",
    .rows = rows,
};

enum { FILE_MAX = 4 * 1024 * 1024 };

/* All documents of a file that are arrays, in one. */
static enum err read_rows(struct arena *arena, const char *path, struct json_object **out,
                          struct errinfo *ei)
{
    struct json_object *documents = NULL;
    enum err err = yaml_parse_file(arena, path, FILE_MAX, &documents, ei);
    *out = json_own(arena, json_object_new_array());
    for (size_t i = 0; err == ERR_OK && i < json_len(documents); i++)
        for (size_t k = 0; k < json_len(json_elem(documents, i)); k++)
            json_object_array_add(*out, json_object_get(json_elem(json_elem(documents, i), k)));
    return err;
}

static enum err read_all(struct arena *arena, struct compare_options *options,
                         struct kube_config configs[2], struct errinfo *ei)
{
    enum err err = kube_config_load(arena, &(struct kube_config_source){.kubeconfig = opt.sandbox},
                                    &configs[0], ei);
    if (err == ERR_OK && opt.recorded)
        err = read_rows(arena, opt.recorded, &options->recorded, ei);
    else if (err == ERR_OK)
        err = kube_config_load(arena, &(struct kube_config_source){.kubeconfig = opt.real},
                               &configs[1], ei);
    if (err == ERR_OK)
        err = read_rows(arena, opt.requests, &options->requests, ei);
    if (err == ERR_OK)
        err = read_rows(arena, opt.allowed, &options->allowed, ei);
    options->sandbox = &configs[0];
    options->real = &configs[1];
    options->record = opt.record ? json_own(arena, json_object_new_array()) : NULL;
    options->verbose = opt.verbose;
    return err;
}

/* As YAML, an answer a line, so that two recordings can be compared. */
static enum err write_record(struct json_object *answers, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    struct buf text;
    buf_init(&text, FILE_MAX);
    buf_puts(&text,
             "# What a kube-apiserver answered to requests.yaml, without what differs by nature; "
             "test/real/run differences writes it with --record.\n");
    for (size_t i = 0; i < json_len(answers); i++)
        buf_printf(&text, "- %s\n", json_text_sorted(arena, json_elem(answers, i)));
    enum err err = file_write(opt.record, text.data, text.len, 0644, ei);
    buf_fini(&text);
    arena_free(arena);
    return err;
}

int main(int argc, char **argv)
{
    child_main(argc, argv);
    struct arena *arena = arena_new();
    struct errinfo ei = {0};
    struct kube_config configs[2];
    struct compare_options options = {0};
    int status = 2;

    option_parse(&program, arena, argc, argv);
    if (read_all(arena, &options, configs, &ei) != ERR_OK) {
        log_error("start_failed", NULL, ei.text);
        goto out;
    }
    struct loop *loop = loop_new(5000);
    struct http_client *http =
        http_client_new(loop, &(struct http_client_options){.user_agent = program.name});
    struct compare *compare = compare_new(loop, http, &options);
    loop_run(loop);
    status = compare_report(compare) > 0;
    if (options.record && write_record(options.record, &ei) != ERR_OK)
        log_error("record_failed", NULL, ei.text);
    http_client_free(http);
    compare_free(compare);
    loop_free(loop);
out:
    metrics_reset();
    arena_free(arena);
    return status;
}
