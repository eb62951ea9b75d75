/* convert: turns Rollouts of Argo into Deployments, Canaries and MetricTemplates. */
#include "ctl/convert/rollout.h"

#include <string.h>

#include "ctl/ctl.h"
#include "ctl/inputs.h"
#include "ctl/output.h"

static struct {
    const char *namespace_, *gate, *only, *rollout;
    bool live, fields;
    struct inputs inputs;
} opt;

static const struct option_row rows[] = {
    OPTION(STRING, "gate", &opt.gate, .value = "http://flagger-gate.flagger/gate/check",
           .arg = "URL", .help = "the gate that is asked where a Rollout waited for a person"),
    OPTION(BOOL, "live", &opt.live,
           .help =
               "writes the order of a switch without an outage as well: which command when, and "
               "what serves then"),
    OPTION(STRING, "only", &opt.only, .arg = "KINDS",
           .help = "writes only documents of these kinds, such as Deployment,Canary"),
    OPTION(STRING, "rollout", &opt.rollout, .arg = "NAME",
           .help = "converts only the Rollout of this name"),
    OPTION(BOOL, "fields", &opt.fields,
           .help = "prints the table of fields and their counterparts, and reads no file"),
    OPTION(STRING, "namespace", &opt.namespace_, .arg = "NAME",
           .help = "(-n) of objects in the files that name none"),
    INPUTS_ROWS(&opt.inputs),
    {0}};

/* The word, quoted for a shell. */
static const char *quoted(const struct ctl *ctl, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./=,:@%+";
    const char *out = "'";

    if (*word && strspn(word, plain) == strlen(word))
        return word;
    for (; *word; word++)
        out = *word == '\'' ? arena_printf(ctl->arena, "%s'\\''", out)
                            : arena_printf(ctl->arena, "%s%c", out, *word);
    return arena_printf(ctl->arena, "%s'", out);
}

static const char *command_line(const struct ctl *ctl)
{
    const char *text = arena_printf(ctl->arena, "%s convert", ctl->program);

    for (int i = 0; i < ctl->n_args; i++)
        text = arena_printf(ctl->arena, "%s %s", text, quoted(ctl, ctl->args[i]));
    for (const char *const *file = opt.inputs.files; file && *file; file++)
        text = arena_printf(ctl->arena, "%s -f %s", text, quoted(ctl, *file));
    if (opt.inputs.recursive)
        text = arena_printf(ctl->arena, "%s -R", text);
    if (opt.inputs.kustomize && *opt.inputs.kustomize)
        text = arena_printf(ctl->arena, "%s -k %s", text, quoted(ctl, opt.inputs.kustomize));
    if (opt.namespace_ && *opt.namespace_)
        text = arena_printf(ctl->arena, "%s -n %s", text, quoted(ctl, opt.namespace_));
    return text;
}

static int print(struct ctl *ctl, const struct conversion *conversion)
{
    size_t mistakes = json_len(conversion->mistakes);

    const char *text = convert_text(conversion);

    if (opt.only && *opt.only && !strstr(text, "kind: ") && mistakes == 0)
        return ctl_fail(
            ctl, CTL_SERVER,
            "convert: --only: nothing is written of a kind in \"%s\"; kinds are written "
            "as in Deployment,Canary",
            opt.only);
    fputs(text, ctl->out);
    for (size_t i = 0; i < mistakes; i++)
        (void)ctl_fail(ctl, CTL_SERVER, "convert: %s",
                       json_object_get_string(json_elem(conversion->mistakes, i)));
    if (conversion->lost > 0 && !opt.only)
        fprintf(ctl->err, "%d field%s without a counterpart: see the list at the end\n",
                conversion->lost, conversion->lost == 1 ? "" : "s");
    return mistakes > 0 ? CTL_SERVER : CTL_DONE;
}

static int run(struct ctl *ctl)
{
    struct manifests manifests = {.arena = ctl->arena, .namespace_ = opt.namespace_};
    const struct convert_options options = {
        .namespace_ = opt.namespace_,
        .rollout = opt.rollout,
        .gate = opt.gate,
        .live = opt.live,
        .only = opt.only && *opt.only ? option_split(ctl->arena, opt.only) : NULL,
        .command = command_line(ctl)};
    struct errinfo ei;

    if (opt.fields) {
        fputs(convert_fields(ctl->arena), ctl->out);
        return CTL_DONE;
    }
    if (strncmp(opt.gate, "http://", 7) != 0 && strncmp(opt.gate, "https://", 8) != 0)
        return ctl_fail(ctl, CTL_USAGE,
                        "convert: --gate: expected a URL with http:// or https://, found \"%s\"",
                        opt.gate);
    if (manifests_read(&manifests, &opt.inputs, ctl->args, ctl->n_args, &ei) != ERR_OK)
        return ctl_fail(ctl, CTL_USAGE, "convert: %s", ei.text);
    const struct conversion *conversion = convert_objects(ctl->arena, &options, manifests.objects);
    if (conversion->found == 0)
        return ctl_fail(
            ctl, CTL_SERVER, "convert: there is no Rollout of argoproj.io%s%s in these files",
            opt.rollout && *opt.rollout ? " with the name " : "", opt.rollout ? opt.rollout : "");
    return print(ctl, conversion);
}

const struct ctl_command ctl_convert = {
    .name = "convert",
    .summary = "Converts Rollouts of Argo into Canaries, and says what has no counterpart.",
    .usage = "[FILE...] [-f FILE] [-k FOLDER]",
    .help =
        "Reads Rollouts with their AnalysisTemplates, Services, routes and autoscalers, and prints "
        "a Deployment, a Canary and MetricTemplates for each, as YAML. A comment stands at each "
        "place where something changes its meaning or must be changed; a list at the end has what "
        "has no counterpart here, why, and what to do. \"-\" is the standard input. No cluster is "
        "asked. The table of all fields is in deploy/manual/argo.md.\n\n"
        "Exit code: 0 when all Rollouts were converted, 1 when one cannot be, or there is none, "
        "which is told, 2 for a wrong command line or a file that cannot be read.\n\n"
        "Examples:\n"
        "    {ctl} convert rollout.yaml analysis.yaml service.yaml > canary.yaml\n"
        "    {ctl} lint canary.yaml && {ctl} plan canary.yaml\n"
        "    {ctl} convert --live rollout.yaml service.yaml\n",
    .rows = rows,
    .accepts = CTL_OFFLINE,
    .max_args = -1,
    .completes = "file",
    .run = run,
};
