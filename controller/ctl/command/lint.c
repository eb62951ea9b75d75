#include "ctl/lint/lint.h"

#include "ctl/ctl.h"
#include "ctl/inputs.h"
#include "ctl/output.h"
#include "router/router.h"

static struct {
    const char *mesh_provider, *namespace_, *selector_labels;
    int64_t floor_ms;
    bool no_cross_namespace_refs, verbose;
    struct inputs inputs;
} opt;

static const struct option_row rows[] = {
    OPTION(STRING, "mesh-provider", &opt.mesh_provider, .value = SETTINGS_MESH_PROVIDER,
           .arg = "NAME", .help = "the controller's --mesh-provider: of a Canary that names none"),
    OPTION(DURATION, "min-analysis-interval", &opt.floor_ms, .value = SETTINGS_MIN_INTERVAL,
           .arg = "DURATION", .help = "the controller's --min-analysis-interval"),
    OPTION(STRING, "selector-labels", &opt.selector_labels, .value = SETTINGS_SELECTOR_LABELS,
           .arg = "LABELS", .help = "the controller's --selector-labels"),
    OPTION(BOOL, "no-cross-namespace-refs", &opt.no_cross_namespace_refs,
           .help = "the controller's --no-cross-namespace-refs"),
    OPTION(STRING, "namespace", &opt.namespace_, .arg = "NAME",
           .help = "(-n) of objects in the files that name none"),
    OPTION(BOOL, "verbose", &opt.verbose, .help = "(-v) name the documents that are left out"),
    INPUTS_ROWS(&opt.inputs),
    {0}};

struct counts {
    int of[2]; /* number of mistakes by level */
    size_t objects;
};

static void print_line(const struct ctl *ctl, const struct lint_mistake *mistake)
{
    bool error = mistake->level == LINT_ERROR;
    const char *level =
        print_in(ctl, error ? PRINT_RED : PRINT_YELLOW, lint_level_name(mistake->level));

    fprintf(ctl->out, "%s:%zu:%zu: %s: %s%s%s\n", print_clean(ctl->arena, mistake->file),
            mistake->line, mistake->column, level, print_clean(ctl->arena, mistake->path),
            *mistake->path ? ": " : "", print_clean(ctl->arena, mistake->text));
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* Documents that were left out are counted, and listed with -v. */
static void print_text(const struct ctl *ctl, const struct lint_mistake *first,
                       const struct lint_skipped *skipped, const struct counts *counts)
{
    int left_out = 0;

    for (const struct lint_mistake *mistake = first; mistake; mistake = mistake->next)
        print_line(ctl, mistake);
    for (; skipped; skipped = skipped->next, left_out++)
        if (opt.verbose)
            fprintf(ctl->err, "%s: left out: %s\n", print_clean(ctl->arena, skipped->file),
                    skipped->why);
    fprintf(ctl->err, "%d error%s and %d warning%s in %zu object%s", counts->of[LINT_ERROR],
            plural(counts->of[LINT_ERROR]), counts->of[LINT_WARNING],
            plural(counts->of[LINT_WARNING]), counts->objects, plural((int)counts->objects));
    if (left_out > 0)
        fprintf(ctl->err, "; %d document%s left out%s", left_out, plural(left_out),
                opt.verbose ? "" : " (-v names them)");
    fputc('\n', ctl->err);
}

static struct json_object *skipped_as_data(const struct lint_skipped *skipped)
{
    struct json_object *list = json_object_new_array();

    for (; skipped; skipped = skipped->next) {
        struct json_object *row = json_object_new_object();
        json_set_str(row, "file", skipped->file);
        json_set_str(row, "why", skipped->why);
        json_object_array_add(list, row);
    }
    return list;
}

static void print_data(const struct ctl *ctl, const struct lint_mistake *first,
                       const struct lint_skipped *skipped, const struct counts *counts)
{
    struct json_object *out = json_own(ctl->arena, json_object_new_object());
    struct json_object *list = json_object_new_array();

    json_set_int(out, "errors", counts->of[LINT_ERROR]);
    json_set_int(out, "warnings", counts->of[LINT_WARNING]);
    json_set_int(out, "objects", (int64_t)counts->objects);
    json_object_object_add(out, "mistakes", list);
    for (const struct lint_mistake *mistake = first; mistake; mistake = mistake->next) {
        struct json_object *row = json_object_new_object();
        json_set_str(row, "level", lint_level_name(mistake->level));
        json_set_str(row, "file", mistake->file);
        json_set_int(row, "line", (int64_t)mistake->line);
        json_set_int(row, "column", (int64_t)mistake->column);
        json_set_str(row, "object", mistake->object);
        json_set_str(row, "path", mistake->path);
        json_set_str(row, "message", mistake->text);
        json_object_array_add(list, row);
    }
    json_object_object_add(out, "leftOut", skipped_as_data(skipped));
    print_object(ctl, out);
}

static int run(struct ctl *ctl)
{
    struct settings settings = settings_default;
    struct lint *lint = lint_new(ctl->arena, &settings);
    const struct input *input;
    struct counts counts = {0};
    struct errinfo ei;

    settings.mesh_provider = opt.mesh_provider;
    settings.no_cross_namespace_refs = opt.no_cross_namespace_refs;
    settings.selector_labels = option_split(ctl->arena, opt.selector_labels);
    settings.min_analysis_interval_ms = opt.floor_ms;
    lint_namespace(lint, opt.namespace_);
    if (!router_find(opt.mesh_provider))
        return ctl_fail(ctl, CTL_USAGE, "lint: --mesh-provider: expected one of %s, found \"%s\"",
                        router_names(ctl->arena), opt.mesh_provider);
    if (inputs_read(ctl->arena, &opt.inputs, ctl->args, ctl->n_args, &input, &ei) != ERR_OK)
        return ctl_fail(ctl, CTL_USAGE, "lint: %s", ei.text);
    for (; input; input = input->next)
        lint_add(lint, input->name, input->text, input->len, input->found);
    const struct lint_mistake *first = lint_run(lint);
    for (const struct lint_mistake *mistake = first; mistake; mistake = mistake->next)
        counts.of[mistake->level]++;
    counts.objects = lint_objects(lint);
    if (ctl->output == CTL_TEXT)
        print_text(ctl, first, lint_skipped(lint), &counts);
    else
        print_data(ctl, first, lint_skipped(lint), &counts);
    return counts.of[LINT_ERROR] > 0 ? CTL_SERVER : CTL_DONE;
}

const struct ctl_command ctl_lint = {
    .name = "lint",
    .summary = "Finds all mistakes of manifests, each with its line, before they are applied.",
    .usage = "[FILE...] [-f FILE] [-k FOLDER]",
    .help =
        "Reads Canaries, MetricTemplates, AlertProviders and ReleaseRequests; \"-\" is the "
        "standard input, and a folder stands for the files .yaml, .yml and .json in it. Other "
        "objects in the files, such as the Deployment of a Canary, are looked at where a Canary "
        "names them. A Canary without a namespace is in that of its workload, wherever that is. "
        "No cluster is asked.\n\n"
        "What is no object is left out: values files, JSON patches, the patches that a "
        "kustomization.yaml among the files names, Helm templates in a folder.\n\n"
        "Exit code: 0 without errors, 1 with errors, 2 for a wrong command line or a file that "
        "cannot be read. Warnings are told and are no errors.\n\n"
        "Examples:\n"
        "    {ctl} lint deploy/*.yaml\n"
        "    {ctl} lint -R -f clusters/\n"
        "    {ctl} lint -k overlays/production\n"
        "    helm template shop | {ctl} lint -\n"
        "    {ctl} lint -o json canary.yaml\n",
    .rows = rows,
    .accepts = CTL_OFFLINE | CTL_OUT_DATA,
    .max_args = -1,
    .completes = "file",
    .run = run,
};
