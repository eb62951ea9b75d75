/* get: all Canaries as a table, or one as a tree. */
#include <string.h>

#include "base/clock.h"
#include "ctl/ctl.h"
#include "ctl/facts.h"
#include "ctl/output.h"
#include "ctl/state.h"
#include "ctl/why/why.h"
#include "proto/weight.h"

enum { BAR = 10 };

static const char *share_text(const struct ctl *ctl, const struct glance *at)
{
    return arena_printf(ctl->arena, "%s %s", print_bar(ctl->arena, weight_percent(at->weight), BAR),
                        glance_share(ctl->arena, at));
}

static void put_row(const struct ctl *ctl, struct columns *columns, struct json_object *canary)
{
    struct glance at;

    glance_at(ctl->arena, canary, &at);
    if (!ctl->namespace_)
        columns_put(columns, PRINT_PLAIN, at.namespace_);
    columns_put(columns, PRINT_BOLD, at.name);
    columns_put(columns, glance_color(at.phase), *at.phase ? at.phase : "-");
    columns_put(columns, PRINT_PLAIN, share_text(ctl, &at));
    columns_put(columns, PRINT_YELLOW, *at.reason ? at.reason : "-");
    columns_put(columns, PRINT_DIM, print_age(ctl->arena, at.since, clock_wall_ms()));
    columns_put(columns, PRINT_DIM, *at.revision ? at.revision : "-");
    columns_put(columns, at.failed_checks ? PRINT_RED : PRINT_PLAIN,
                arena_printf(ctl->arena, "%d/%d", at.failed_checks, at.threshold));
}

static void print_table(const struct ctl *ctl, struct json_object *list)
{
    static const struct columns_head heads[] = {{"NAMESPACE", 0}, {"NAME", 0},   {"PHASE", 0},
                                                {"WEIGHT", 0},    {"REASON", 1}, {"SINCE", 2},
                                                {"REVISION", 4},  {"FAILED", 3}, {0}};
    struct columns *columns = columns_new(ctl, heads + (ctl->namespace_ ? 1 : 0));

    for (size_t i = 0; i < json_len(list); i++)
        put_row(ctl, columns, json_elem(list, i));
    columns_print(columns, NULL);
}

static void print_list(const struct ctl *ctl, struct json_object *list)
{
    if (ctl->output == CTL_JSON || ctl->output == CTL_YAML) {
        struct json_object *out = json_own(ctl->arena, json_object_new_object());
        json_set_str(out, "apiVersion", "v1");
        json_set_str(out, "kind", "List");
        json_set(out, "items", list);
        print_object(ctl, out);
    } else if (ctl->output == CTL_NAME) {
        for (size_t i = 0; i < json_len(list); i++)
            print_name(ctl, "canary.flagger.app",
                       json_str_at(json_elem(list, i), "metadata", "name", NULL));
    } else if (json_len(list) > 0) {
        print_table(ctl, list);
    } else if (ctl->namespace_) {
        fprintf(ctl->err, "There are no Canaries in namespace \"%s\"; %s get -A lists all.\n",
                ctl->namespace_, ctl->program);
    } else {
        fputs("There are no Canaries.\n", ctl->err);
    }
}

static int get_all(struct ctl *ctl)
{
    const struct read_what what = {
        .resource = &read_canaries, .namespace_ = ctl->namespace_, .selector = ctl->selector};
    struct json_object *list;
    struct errinfo ei = {0};
    enum err err = read_list(ctl, &what, &list, &ei);

    if (err != ERR_OK)
        return read_fail(ctl, err, &ei);
    print_list(ctl, list);
    return CTL_DONE;
}

/* Why it waits; NULL if all is well. The gate is not queried, because the tree is redrawn every few
 * seconds. */
static const char *waits_for(const struct ctl *ctl, const struct facts *facts)
{
    struct why_answer answer;

    why_of(ctl->arena, ctl->program, facts, &answer);
    if (strcmp(answer.situation, "at-rest") == 0 || strcmp(answer.situation, "under-way") == 0)
        return NULL;
    return answer.text;
}

static int get_one(struct ctl *ctl)
{
    struct json_object *canary;
    struct facts facts;
    int code = read_canary(ctl, ctl->args[0], &canary);

    if (code != CTL_DONE)
        return code;
    if (ctl->output == CTL_NAME) {
        print_name(ctl, "canary.flagger.app", ctl->args[0]);
        return CTL_DONE;
    }
    facts_read(ctl, canary, &facts);
    if (ctl->output == CTL_JSON || ctl->output == CTL_YAML)
        print_object(ctl, show_data(ctl, &facts));
    else
        show_tree(ctl, &facts, waits_for(ctl, &facts));
    return CTL_DONE;
}

static int run(struct ctl *ctl)
{
    int (*draw)(struct ctl *) = ctl->n_args > 0 ? get_one : get_all;

    if (ctl->n_args > 0 && !ctl->namespace_)
        return ctl_fail(ctl, CTL_USAGE,
                        "get: a Canary is named within a namespace: -n NAMESPACE instead of -A");
    if (!ctl->watch)
        return draw(ctl);
    return live_run(ctl, ctl->n_args > 0 ? ctl->args[0] : NULL, draw);
}

const struct ctl_command ctl_get = {
    .name = "get",
    .summary = "Shows Canaries: all as a table, one with everything that belongs to it.",
    .usage = "[NAME]",
    .help =
        "Examples:\n"
        "    {ctl} get -A\n"
        "    {ctl} get -l team=shop -o name\n"
        "    {ctl} get podinfo -n test -w\n"
        "\n"
        "On a terminal, -w takes the screen and follows what happens; elsewhere it prints a line "
        "for each change. Of one Canary, -o wide shows every condition, and -o json what the "
        "tree shows; without a name, -o json gives the objects.\n",
    .accepts = CTL_ALL | CTL_SELECTOR | CTL_WATCH | CTL_OUT_NAME | CTL_OUT_WIDE | CTL_OUT_DATA,
    .max_args = 1,
    .completes = "canary",
    .run = run,
};
