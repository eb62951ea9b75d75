/* history: the releases that a Canary remembers (status.history), and the one under way. */
#include <string.h>

#include "base/clock.h"
#include "ctl/output.h"
#include "ctl/read.h"
#include "ctl/state.h"

static const char *text_of(struct json_object *entry, const char *key)
{
    const char *text = json_str_at(entry, key, NULL);

    return text ? text : "";
}

/* The duration so far or in total; "-" if its start was not seen. */
static const char *duration_of(const struct ctl *ctl, struct json_object *entry)
{
    const char *ended = json_str_at(entry, "ended", NULL);
    int64_t from, to = clock_wall_ms();

    if (clock_parse(text_of(entry, "began"), &from, NULL) != ERR_OK ||
        (ended && clock_parse(ended, &to, NULL) != ERR_OK))
        return "-";
    return print_span(ctl->arena, to > from ? to - from : 0);
}

static enum print_color color_of(const char *outcome)
{
    return strcmp(outcome, "promoted") == 0 ? PRINT_GREEN
           : strcmp(outcome, "failed") == 0 ? PRINT_RED
                                            : PRINT_YELLOW;
}

static void put(const struct ctl *ctl, struct columns *columns, struct json_object *entry)
{
    const char *outcome = json_str_at(entry, "outcome", NULL);
    const char *ended = json_str_at(entry, "ended", NULL);

    outcome = outcome ? outcome : "running";
    columns_put(columns, PRINT_BOLD, text_of(entry, "revision"));
    columns_put(columns, color_of(outcome), outcome);
    columns_put(columns, PRINT_DIM, ended ? print_age(ctl->arena, ended, clock_wall_ms()) : "-");
    columns_put(columns, PRINT_PLAIN, duration_of(ctl, entry));
    columns_put(columns, PRINT_PLAIN, text_of(entry, "image"));
    columns_put(columns, PRINT_PLAIN, text_of(entry, "reason"));
}

static void print_table(const struct ctl *ctl, struct json_object *list)
{
    static const struct columns_head heads[] = {
        {"REVISION", 0}, {"OUTCOME", 0}, {"ENDED", 1}, {"TOOK", 2},
        {"IMAGE", 3},    {"REASON", 0},  {0}};
    struct columns *columns = columns_new(ctl, heads);

    for (size_t i = 0; i < json_len(list); i++)
        put(ctl, columns, json_elem(list, i));
    columns_print(columns, NULL);
}

static bool is_same(struct json_object *one, struct json_object *other)
{
    return strcmp(text_of(one, "at"), text_of(other, "at")) == 0 &&
           strcmp(text_of(one, "by"), text_of(other, "by")) == 0 &&
           strcmp(text_of(one, "action"), text_of(other, "action")) == 0;
}

static bool holds(struct json_object *list, struct json_object *request)
{
    for (size_t i = 0; i < json_len(list); i++)
        if (is_same(json_elem(list, i), request))
            return true;
    return false;
}

/* The ReleaseRequests for a release, including late ones about its revision; only the last ones are
 * recorded. */
static struct json_object *requests_of(const struct ctl *ctl, struct json_object *entry,
                                       struct json_object *latest)
{
    struct json_object *own = json_at(entry, "requests", NULL);
    struct json_object *out = json_own(ctl->arena, json_object_new_array());

    for (size_t i = 0; i < json_len(latest); i++) {
        struct json_object *one = json_elem(latest, i);
        if (strcmp(text_of(one, "revision"), text_of(entry, "revision")) == 0 && !holds(own, one))
            json_object_array_add(out, json_object_get(one));
    }
    for (size_t i = 0; i < json_len(own); i++)
        json_object_array_add(out, json_object_get(json_elem(own, i)));
    return out;
}

/* Prints the approvals at its gates and the requests of users. */
static void print_people(const struct ctl *ctl, struct json_object *entry,
                         struct json_object *asked)
{
    const char *gates = glance_approvals(ctl->arena, entry);
    const char *first =
        arena_printf(ctl->arena, "%s  ", print_clean(ctl->arena, text_of(entry, "revision")));

    if (*gates)
        print_wrapped(ctl, first, gates);
    for (size_t i = 0; i < json_len(asked); i++) {
        struct json_object *one = json_elem(asked, i);
        print_wrapped(ctl, first,
                      arena_printf(ctl->arena, "%s by %s (%s)%s%s", text_of(one, "action"),
                                   text_of(one, "by"), text_of(one, "outcome"),
                                   *text_of(one, "why") ? ": " : "", text_of(one, "why")));
    }
}

/* latest: status.requests. If a revision was released twice, it has two entries; the requests are
 * shown with the later one. */
static void print_all_people(const struct ctl *ctl, struct json_object *list,
                             struct json_object *latest)
{
    bool headed = false;

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *entry = json_elem(list, i);
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |=
                strcmp(text_of(json_elem(list, k), "revision"), text_of(entry, "revision")) == 0;
        struct json_object *asked = requests_of(ctl, entry, again ? NULL : latest);
        if (!*glance_approvals(ctl->arena, entry) && json_len(asked) == 0)
            continue;
        if (!headed)
            fprintf(ctl->out, "\n%s\n", print_in(ctl, PRINT_BOLD, "PEOPLE"));
        headed = true;
        print_people(ctl, entry, asked);
    }
}

/* Revisions that wait until the release has ended, in the controller's words; "" if there are
 * none. */
static const char *waiting_of(struct json_object *canary)
{
    struct json_object *condition = glance_condition(canary, "Superseded");
    const char *status = json_str_at(condition, "status", NULL);

    return status && strcmp(status, "True") == 0 ? text_of(condition, "message") : "";
}

/* The releases, newest first. */
static struct json_object *releases_of(const struct ctl *ctl, struct json_object *canary)
{
    struct json_object *list = json_own(ctl->arena, json_object_new_array());
    struct json_object *running = json_at(canary, "status", "release", NULL);
    struct json_object *past = json_at(canary, "status", "history", NULL);

    if (running)
        json_object_array_add(list, json_object_get(running));
    for (size_t i = 0; i < json_len(past); i++)
        json_object_array_add(list, json_object_get(json_elem(past, i)));
    return list;
}

static int run(struct ctl *ctl)
{
    struct json_object *canary;
    int code = read_canary(ctl, ctl->args[0], &canary);

    if (code != CTL_DONE)
        return code;
    struct json_object *list = releases_of(ctl, canary);
    if (ctl->output != CTL_TEXT) {
        const char *namespace_ = json_str_at(canary, "metadata", "namespace", NULL);
        struct json_object *out = json_own(ctl->arena, json_object_new_object());
        json_set_str(
            out, "canary",
            arena_printf(ctl->arena, "%s/%s", namespace_ ? namespace_ : "default", ctl->args[0]));
        json_set(out, "releases", list);
        if (*waiting_of(canary))
            json_set_str(out, "waiting", waiting_of(canary));
        print_object(ctl, out);
    } else if (json_len(list) > 0) {
        print_table(ctl, list);
        print_all_people(ctl, list, json_at(canary, "status", "requests", NULL));
        if (*waiting_of(canary)) {
            fprintf(ctl->out, "\n%s\n", print_in(ctl, PRINT_BOLD, "WAITING"));
            print_wrapped(ctl, "", waiting_of(canary));
        }
    } else {
        fprintf(ctl->err,
                "%s remembers no release: none has begun since flagger-c looks after it, or the "
                "CustomResourceDefinition is Flagger's, which keeps none.\n",
                print_clean(ctl->arena, ctl->args[0]));
    }
    return CTL_DONE;
}

const struct ctl_command ctl_history = {
    .name = "history",
    .summary = "Shows the last releases of a Canary, how long they took, how they ended and why.",
    .usage = "NAME",
    .help =
        "The release that runs comes first, then the last ten, the newest first. With -o json "
        "or -o yaml each has its steps, the values of its checks, what the judge has counted, what "
        "hooks have answered and what people asked for; backtest --counts reads it. Below the list "
        "stands who has let a release through at its "
        "gates, and who has asked something of it, and which revisions wait behind the release "
        "that runs "
        "(analysis.onNewRevision).\n"
        "\n"
        "Examples:\n"
        "    {ctl} history podinfo -n test\n"
        "    {ctl} history podinfo -n test -o json\n",
    .accepts = CTL_OUT_DATA,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = run,
};
