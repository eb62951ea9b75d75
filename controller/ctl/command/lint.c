#include "ctl/lint/lint.h"

#include "ctl/ctl.h"
#include "ctl/manifests.h"
#include "ctl/output.h"
#include "router/router.h"

static struct {
    const char *mesh_provider, *namespace_;
    int64_t floor_ms;
    bool no_cross_namespace_refs;
} opt;

static const struct option_row rows[] = {
    OPTION(STRING, "mesh-provider", &opt.mesh_provider, .value = SETTINGS_MESH_PROVIDER,
           .arg = "NAME", .help = "the controller's --mesh-provider: of a Canary that names none"),
    OPTION(DURATION, "min-analysis-interval", &opt.floor_ms, .value = SETTINGS_MIN_INTERVAL,
           .arg = "DURATION", .help = "the controller's --min-analysis-interval"),
    OPTION(BOOL, "no-cross-namespace-refs", &opt.no_cross_namespace_refs,
           .help = "the controller's --no-cross-namespace-refs"),
    OPTION(STRING, "namespace", &opt.namespace_, .arg = "NAME",
           .help = "(-n) of objects in the files that name none"),
    {0}};

struct counts {
    int of[2]; /* by level */
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

static void print_text(const struct ctl *ctl, const struct lint_mistake *first,
                       const struct counts *counts)
{
    for (const struct lint_mistake *mistake = first; mistake; mistake = mistake->next)
        print_line(ctl, mistake);
    fprintf(ctl->err, "%d error%s and %d warning%s in %zu object%s\n", counts->of[LINT_ERROR],
            plural(counts->of[LINT_ERROR]), counts->of[LINT_WARNING],
            plural(counts->of[LINT_WARNING]), counts->objects, plural((int)counts->objects));
}

static void print_data(const struct ctl *ctl, const struct lint_mistake *first,
                       const struct counts *counts)
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
    print_object(ctl, out);
}

static int run(struct ctl *ctl)
{
    struct settings settings = settings_default;
    struct lint *lint = lint_new(ctl->arena, &settings);
    struct counts counts = {0};
    struct errinfo ei;

    settings.mesh_provider = opt.mesh_provider;
    settings.no_cross_namespace_refs = opt.no_cross_namespace_refs;
    settings.min_analysis_interval_ms = opt.floor_ms;
    lint_namespace(lint, opt.namespace_);
    if (!router_find(opt.mesh_provider))
        return ctl_fail(ctl, CTL_USAGE, "lint: --mesh-provider: expected one of %s, found \"%s\"",
                        router_names(ctl->arena), opt.mesh_provider);
    for (int i = 0; i < ctl->n_args; i++) {
        char *text;
        size_t len;
        if (input_read(ctl->arena, ctl->args[i], LINT_MAX_BYTES, &text, &len, &ei) != ERR_OK)
            return ctl_fail(ctl, CTL_USAGE, "lint: %s", ei.text);
        lint_add(lint, input_name(ctl->args[i]), text, len);
    }
    const struct lint_mistake *first = lint_run(lint);
    for (const struct lint_mistake *mistake = first; mistake; mistake = mistake->next)
        counts.of[mistake->level]++;
    counts.objects = lint_objects(lint);
    if (ctl->output == CTL_TEXT)
        print_text(ctl, first, &counts);
    else
        print_data(ctl, first, &counts);
    return counts.of[LINT_ERROR] > 0 ? CTL_SERVER : CTL_DONE;
}

const struct ctl_command ctl_lint = {
    .name = "lint",
    .summary = "Finds all mistakes of manifests, each with its line, before they are applied.",
    .usage = "FILE...",
    .help =
        "Reads Canaries, MetricTemplates, AlertProviders and ReleaseRequests; \"-\" is the "
        "standard input. Other "
        "objects in the files, such as the Deployment of a Canary, are looked at where a Canary "
        "names them. No cluster is asked.\n\n"
        "Exit code: 0 without errors, 1 with errors, 2 for a wrong command line or a file that "
        "cannot be read. Warnings are told and are no errors.\n\n"
        "Examples:\n"
        "    {ctl} lint deploy/*.yaml\n"
        "    helm template shop | {ctl} lint -\n"
        "    {ctl} lint -o json canary.yaml\n",
    .rows = rows,
    .accepts = CTL_OFFLINE | CTL_OUT_DATA,
    .min_args = 1,
    .max_args = -1,
    .completes = "file",
    .run = run,
};
