/* backtest: past releases, replayed under other policies. */
#include <string.h>

#include "ctl/backtest/course.h"
#include "ctl/output.h"
#include "ctl/read.h"

enum { MOST_POLICIES = 8, SECOND_MS = 1000 };

static struct {
    const char *const *judge, *const *counts;
    bool propose;
} opt;

static const struct option_row rows[] = {
    OPTION(LIST, "judge", &opt.judge, .arg = "FILE",
           .help = "a policy: a Canary, or what stands in its spec.analysis (judge, metrics); may "
                   "be given several times, a column each"),
    OPTION(LIST, "counts", &opt.counts, .arg = "FILE",
           .help = "the releases are in this file, and no cluster is asked; may be given several "
                   "times, and further arguments are files then"),
    OPTION(BOOL, "propose", &opt.propose,
           .help = "prints a judge under which no release that was promoted would have been rolled "
                   "back, and what it finds"),
    {0}};

/* Releases and policies, and the result for each pair. */
struct comparison {
    struct arena *arena;
    struct pasts pasts;
    struct policy policies[MOST_POLICIES];
    int n_policies;
    struct replay *replays; /* by release, then by policy */
};

/* Mistakes of the command line are reported first. */
static bool needs_no_server(void)
{
    return opt.counts[0] != NULL || (opt.judge[0] == NULL && !opt.propose);
}

static const struct replay *replay_at(const struct comparison *table, int release, int policy)
{
    return &table->replays[release * table->n_policies + policy];
}

static int count_pasts(const struct comparison *table)
{
    int n = 0;

    for (const struct past *past = table->pasts.first; past; past = past->next)
        n++;
    return n;
}

/* --- the result */

static bool was_rolled_back(const struct past *past)
{
    return strcmp(past->outcome, "failed") == 0;
}

/* Cancelled releases have no outcome to compare with. */
static bool is_otherwise(const struct past *past, const struct replay *replay)
{
    if (replay->end == REPLAY_UNKNOWN)
        return false;
    if (strcmp(past->outcome, "promoted") == 0)
        return replay->end != REPLAY_PROMOTED;
    return was_rolled_back(past) ? replay->end != REPLAY_ROLLED_BACK
                                 : replay->end == REPLAY_ROLLED_BACK;
}

struct sums {
    int of[REPLAY_ROLLED_BACK + 1]; /* by enum replay_end */
    int good, bad; /* releases rolled back that had been promoted, and that had failed */
    int otherwise;
    double requests, fewer; /* requests to canaries that were rolled back */
    int64_t seconds;        /* the same for the time */
};

static struct sums sum_up(const struct comparison *table, int policy)
{
    struct sums sums = {0};
    int i = 0;

    for (const struct past *past = table->pasts.first; past; past = past->next, i++) {
        const struct replay *replay = replay_at(table, i, policy);
        sums.of[replay->end]++;
        sums.otherwise += is_otherwise(past, replay);
        if (replay->end != REPLAY_ROLLED_BACK)
            continue;
        sums.good += strcmp(past->outcome, "promoted") == 0;
        sums.bad += was_rolled_back(past);
        sums.requests += replay->requests;
        sums.fewer += past->requests - replay->requests;
        sums.seconds += replay->at_s;
    }
    return sums;
}

/* --- text */

static const char *span(const struct comparison *table, int64_t seconds)
{
    return print_span(table->arena, seconds * SECOND_MS);
}

static const char *cell(const struct ctl *ctl, const struct comparison *table,
                        const struct past *past, const struct replay *replay)
{
    double fewer = past->requests - replay->requests;
    const char *text = replay_end_name(replay->end);
    bool tells = *replay->why && (ctl->output == CTL_WIDE || replay->end == REPLAY_UNKNOWN);

    if (replay->end == REPLAY_UNDER_WAY)
        text = "would still be under way";
    if (replay->end == REPLAY_ROLLED_BACK)
        text = fewer > 0
                   ? arena_printf(ctl->arena, "rolled back after %s, %.0f requests earlier",
                                  span(table, replay->at_s), fewer)
                   : arena_printf(ctl->arena, "rolled back after %s", span(table, replay->at_s));
    return tells ? arena_printf(ctl->arena, "%s: %s", text, replay->why) : text;
}

static enum print_color color_of(const struct past *past, const struct replay *replay)
{
    return replay->end == REPLAY_UNKNOWN    ? PRINT_DIM
           : is_otherwise(past, replay)     ? PRINT_YELLOW
           : replay->end == REPLAY_PROMOTED ? PRINT_GREEN
                                            : PRINT_RED;
}

static void print_releases(const struct ctl *ctl, const struct comparison *table)
{
    struct columns_head heads[5 + MOST_POLICIES + 1] = {
        {"CANARY", 2}, {"REVISION", 1}, {"ENDED", 0}, {"AFTER", 3}, {"REQUESTS", 3}};
    int i = 0;

    for (int k = 0; k < table->n_policies; k++)
        heads[5 + k].text = table->policies[k].name;
    struct columns *columns = columns_new(ctl, heads);
    for (const struct past *past = table->pasts.first; past; past = past->next, i++) {
        columns_put(columns, PRINT_BOLD, past->canary);
        columns_put(columns, PRINT_PLAIN, past->revision);
        columns_put(columns, PRINT_PLAIN, was_rolled_back(past) ? "rolled back" : past->outcome);
        columns_put(columns, PRINT_PLAIN, span(table, past->end_s));
        columns_put(columns, PRINT_PLAIN, arena_printf(ctl->arena, "%.0f", past->requests));
        for (int k = 0; k < table->n_policies; k++)
            columns_put(columns, color_of(past, replay_at(table, i, k)),
                        cell(ctl, table, past, replay_at(table, i, k)));
    }
    columns_print(columns, NULL);
}

static void print_summary(const struct ctl *ctl, const struct comparison *table, int policy)
{
    const struct sums sums = sum_up(table, policy);
    int rolled = sums.of[REPLAY_ROLLED_BACK];
    const char *text = arena_printf(
        ctl->arena,
        "%d of %d releases would have ended otherwise: %d rolled back (%d that had failed, %d that "
        "had been promoted), %d promoted, %d still under way, %d unknown",
        sums.otherwise, count_pasts(table), rolled, sums.bad, sums.good, sums.of[REPLAY_PROMOTED],
        sums.of[REPLAY_UNDER_WAY], sums.of[REPLAY_UNKNOWN]);

    if (rolled > 0)
        text = arena_printf(ctl->arena,
                            "%s; until a rollback %s and %.0f requests of the canary on average, "
                            "%.0f fewer than there were",
                            text, span(table, sums.seconds / rolled), sums.requests / rolled,
                            sums.fewer / rolled);
    print_wrapped(
        ctl,
        arena_printf(ctl->arena, "%s: ", print_clean(ctl->arena, table->policies[policy].name)),
        text);
}

/* Caveats about the result, each printed once. */
static void print_notes(const struct ctl *ctl, const struct comparison *table)
{
    int n = count_pasts(table) * table->n_policies;
    bool open = false;

    for (int i = 0; i < n; i++) {
        const char *note = table->replays[i].note;
        bool told = !note;
        open = open || table->replays[i].end == REPLAY_UNDER_WAY;
        for (int k = 0; k < i && !told; k++)
            told = table->replays[k].note && strcmp(table->replays[k].note, note) == 0;
        if (!told)
            print_wrapped(ctl, "Note: ", note);
    }
    if (open)
        print_wrapped(ctl, "Note: ",
                      "what would still be under way has no end here: nobody knows the traffic "
                      "that would have come after the real one.");
    if (table->pasts.running > 0)
        print_wrapped(
            ctl, "Note: ",
            arena_printf(ctl->arena, "left out, for still under way: %d", table->pasts.running));
}

static void print_text(const struct ctl *ctl, const struct comparison *table)
{
    print_releases(ctl, table);
    fputc('\n', ctl->out);
    for (int i = 0; i < table->n_policies; i++)
        print_summary(ctl, table, i);
    print_notes(ctl, table);
}

/* --- data */

static struct json_object *replay_data(const struct comparison *table, const struct past *past,
                                       int release, int policy)
{
    const struct replay *replay = replay_at(table, release, policy);
    struct json_object *data = json_own(table->arena, json_object_new_object());

    json_set_str(data, "policy", table->policies[policy].name);
    json_set_str(data, "outcome", replay_end_name(replay->end));
    json_set_bool(data, "otherwise", is_otherwise(past, replay));
    json_set_int(data, "after", replay->at_s);
    json_set_int(data, "requests", (int64_t)replay->requests);
    json_set_int(data, "earlier", (int64_t)(past->requests - replay->requests));
    if (*replay->why)
        json_set_str(data, "reason", replay->why);
    json_set_str(data, "note", replay->note);
    return data;
}

static struct json_object *policy_data(const struct comparison *table, int policy)
{
    const struct sums sums = sum_up(table, policy);
    struct json_object *data = json_own(table->arena, json_object_new_object());

    json_set_str(data, "policy", table->policies[policy].name);
    json_set_int(data, "otherwise", sums.otherwise);
    json_set_int(data, "rolledBack", sums.of[REPLAY_ROLLED_BACK]);
    json_set_int(data, "rolledBackOfFailed", sums.bad);
    json_set_int(data, "rolledBackOfPromoted", sums.good);
    json_set_int(data, "promoted", sums.of[REPLAY_PROMOTED]);
    json_set_int(data, "underWay", sums.of[REPLAY_UNDER_WAY]);
    json_set_int(data, "unknown", sums.of[REPLAY_UNKNOWN]);
    json_set_int(data, "requestsUntilRollbacks", (int64_t)sums.requests);
    json_set_int(data, "requestsFewer", (int64_t)sums.fewer);
    json_set_int(data, "secondsUntilRollbacks", sums.seconds);
    return data;
}

/* The releases in the format of --counts, with their outcomes under the policies. */
static void print_data(const struct ctl *ctl, const struct comparison *table)
{
    struct json_object *out = json_own(ctl->arena, json_object_new_object());
    struct json_object *releases = json_object_new_array(), *policies = json_object_new_array();
    int i = 0;

    json_object_object_add(out, "releases", releases);
    json_object_object_add(out, "policies", policies);
    for (const struct past *past = table->pasts.first; past; past = past->next, i++) {
        struct json_object *release = json_copy(ctl->arena, past->json);
        struct json_object *replays = json_object_new_array();
        json_set_str(release, "canary", past->canary);
        json_object_object_add(release, "replays", replays);
        for (int k = 0; k < table->n_policies; k++)
            json_object_array_add(replays, json_object_get(replay_data(table, past, i, k)));
        json_object_array_add(releases, json_object_get(release));
    }
    for (int k = 0; k < table->n_policies; k++)
        json_object_array_add(policies, json_object_get(policy_data(table, k)));
    print_object(ctl, out);
}

/* Every Canary with a release that would have ended differently, once. */
static void print_names(const struct ctl *ctl, const struct comparison *table)
{
    const char *told = "";
    int i = 0;

    for (const struct past *past = table->pasts.first; past; past = past->next, i++) {
        const char *slash = strchr(past->canary, '/');
        bool otherwise = false;
        for (int k = 0; k < table->n_policies; k++)
            otherwise |= is_otherwise(past, replay_at(table, i, k));
        if (!otherwise || strcmp(told, past->canary) == 0)
            continue;
        print_name(ctl, "canary.flagger.app", slash ? slash + 1 : past->canary);
        told = past->canary;
    }
}

/* --- a proposal */

static int print_proposal(struct ctl *ctl, const struct comparison *table)
{
    struct proposal proposal;
    struct errinfo ei;

    if (propose(ctl->arena, &table->pasts, &proposal, &ei) != ERR_OK)
        return ctl_fail(ctl, CTL_SERVER, "backtest: --propose: %s", ei.text);
    fprintf(ctl->out,
            "# It rolls back %d of the %d releases that were promoted, and %d of the %d that "
            "failed.\n",
            proposal.promoted_back, proposal.promoted, proposal.failed_back, proposal.failed);
    for (const struct promise *at = proposal.promises; at; at = at->next)
        fprintf(ctl->out, "# %s\n", print_clean(ctl->arena, promise_sentence(ctl->arena, at)));
    fputs(proposal.text, ctl->out);
    return CTL_DONE;
}

/* --- the command */

static int read_policies(struct ctl *ctl, struct comparison *table)
{
    struct errinfo ei;

    if (!opt.judge[0] && !opt.propose)
        return ctl_fail(
            ctl, CTL_USAGE,
            "backtest: expected --judge FILE, a policy to replay the releases under, or "
            "--propose");
    if (opt.judge[0] && opt.propose)
        return ctl_fail(ctl, CTL_USAGE,
                        "backtest: --propose makes a policy: expected no --judge beside it");
    if (opt.propose && ctl->output != CTL_TEXT && ctl->output != CTL_YAML)
        return ctl_fail(ctl, CTL_USAGE, "backtest: --propose prints YAML: expected no other -o");
    for (int i = 0; opt.judge[i]; i++) {
        if (i == MOST_POLICIES)
            return ctl_fail(ctl, CTL_USAGE, "backtest: expected at most %d times --judge",
                            (int)MOST_POLICIES);
        if (policy_read(ctl->arena, opt.judge[i], &table->policies[i], &ei) != ERR_OK)
            return ctl_fail(ctl, CTL_USAGE, "backtest: %s", ei.text);
        table->n_policies++;
    }
    return CTL_DONE;
}

static int read_files(struct ctl *ctl, struct comparison *table)
{
    struct errinfo ei;
    enum err err = ERR_OK;

    for (int i = 0; err == ERR_OK && opt.counts[i]; i++)
        err = pasts_add_file(ctl->arena, &table->pasts, opt.counts[i], &ei);
    for (int i = 0; err == ERR_OK && i < ctl->n_args; i++)
        err = pasts_add_file(ctl->arena, &table->pasts, ctl->args[i], &ei);
    return err == ERR_OK ? CTL_DONE : ctl_fail(ctl, CTL_USAGE, "backtest: %s", ei.text);
}

/* The named Canaries, or those that the flags select. */
static int read_cluster(struct ctl *ctl, struct comparison *table)
{
    const struct read_what what = {
        .resource = &read_canaries, .namespace_ = ctl->namespace_, .selector = ctl->selector};
    struct json_object *list = json_own(ctl->arena, json_object_new_array());
    struct errinfo ei;
    enum err err = ERR_OK;
    int code = CTL_DONE;

    if (ctl->n_args > 0 && !ctl->namespace_)
        return ctl_fail(
            ctl, CTL_USAGE,
            "backtest: a Canary is named within a namespace: -n NAMESPACE instead of -A");
    for (int i = 0; code == CTL_DONE && i < ctl->n_args; i++) {
        struct json_object *canary;
        code = read_canary(ctl, ctl->args[i], &canary);
        if (code == CTL_DONE)
            json_object_array_add(list, json_object_get(canary));
    }
    if (code != CTL_DONE)
        return code;
    if (ctl->n_args == 0 && (err = read_list(ctl, &what, &list, &ei)) != ERR_OK)
        return read_fail(ctl, err, &ei);
    for (size_t i = 0; err == ERR_OK && i < json_len(list); i++)
        err = pasts_add_canary(ctl->arena, &table->pasts, json_elem(list, i), &ei);
    return err == ERR_OK ? CTL_DONE : ctl_fail(ctl, CTL_SERVER, "backtest: %s", ei.text);
}

static void replay_all(struct comparison *table)
{
    size_t n = (size_t)count_pasts(table) * (size_t)table->n_policies;
    struct replay *next = arena_array(table->arena, n + 1, sizeof(*next));

    table->replays = next;
    for (const struct past *past = table->pasts.first; past; past = past->next)
        for (int i = 0; i < table->n_policies; i++)
            *next++ = replay_run(table->arena, past, &table->policies[i]);
}

static int run(struct ctl *ctl)
{
    struct comparison *table = ARENA_NEW(ctl->arena, struct comparison);

    table->arena = ctl->arena;
    pasts_init(&table->pasts);
    int code = read_policies(ctl, table);
    if (code == CTL_DONE)
        code = opt.counts[0] ? read_files(ctl, table) : read_cluster(ctl, table);
    if (code != CTL_DONE)
        return code;
    if (opt.propose)
        return print_proposal(ctl, table);
    replay_all(table);
    if (ctl->output == CTL_NAME)
        print_names(ctl, table);
    else if (ctl->output == CTL_JSON || ctl->output == CTL_YAML)
        print_data(ctl, table);
    else if (table->pasts.first)
        print_text(ctl, table);
    else
        fprintf(ctl->err, "There is no release that has ended, and nothing to replay.\n");
    return CTL_DONE;
}

const struct ctl_command ctl_backtest = {
    .name = "backtest",
    .summary = "Replays past releases under another policy: which would have ended otherwise.",
    .usage = "[NAME...] (--judge FILE | --propose)",
    .help =
        "The releases are those that the Canaries remember, of all that the flags select where no "
        "name is given; or those of files. A policy is what stands in spec.analysis of a Canary, "
        "or a whole Canary: judge and metrics count, with their tolerances and thresholds; each "
        "file is a column. What is printed of a release: how it ended, after which time and how "
        "many requests of the canary, and how it would have ended.\n"
        "\n"
        "A judge needs counts, which are kept of releases that were judged. Thresholds need the "
        "values of their checks, of which the last 20 are kept; that of request-success-rate is "
        "made of the counts where there are any, once each interval of the policy. What was not "
        "kept is \"unknown\". Traffic, "
        "weights and the times of steps are as they were: a release that was rolled back, and "
        "would not have been, would still be under way. Of long releases neighbouring looks are "
        "kept as one, so that a verdict may come a look later than it would have. A number and "
        "latency with compare: primary are compared again, as far as the release compared them.\n"
        "\n"
        "--counts reads what -o json of history and backtest print, and Canaries, or lists of "
        "them, as YAML or JSON. By hand:\n"
        "\n"
        "    releases:\n"
        "    - revision: 597d8f496b\n"
        "      outcome: promoted # failed, cancelled\n"
        "      looks:\n"
        "      - name: request-success-rate\n"
        "        # seconds, weight, requests of the canary, failed, of the primary, failed\n"
        "        counts: [[10, 20, 100, 1, 400, 4], [20, 20, 110, 3, 390, 3]]\n"
        "\n"
        "--propose prints a judge for the Canary, to stand in spec.analysis: tolerances as small "
        "as "
        "they can be without rolling back a release that was promoted, and how small a regression "
        "it finds in nine of ten releases with the traffic of the last one.\n"
        "\n"
        "-o wide adds the reasons, -o name prints the Canaries of which a release would have "
        "ended otherwise.\n"
        "\n"
        "Examples:\n"
        "    {ctl} backtest podinfo -n test --judge strict.yaml --judge lenient.yaml\n"
        "    {ctl} backtest -A --judge strict.yaml -o name\n"
        "    {ctl} backtest podinfo -n test --propose\n"
        "    {ctl} history podinfo -n test -o json >counts.json\n"
        "    {ctl} backtest --counts counts.json --judge strict.yaml -o wide\n",
    .rows = rows,
    .accepts = CTL_ALL | CTL_SELECTOR | CTL_OUT_NAME | CTL_OUT_WIDE | CTL_OUT_DATA,
    .max_args = -1,
    .completes = "canary",
    .needs_no_server = needs_no_server,
    .run = run,
};
