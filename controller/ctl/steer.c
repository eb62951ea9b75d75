#include "ctl/steer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "ctl/print.h"
#include "ctl/read.h"
#include "proto/phase.h"
#include "target/target.h"

enum { ANSWER_MS = 60 * 1000, END_MS = 60 * 60 * 1000, LOOK_MS = 250 };

static struct {
    const char *why, *revision;
    int64_t timeout_ms;
    bool yes, wait;
} opt;

const struct option_row steer_rows[] = {
    OPTION(STRING, "why", &opt.why, .arg = "TEXT",
           .help = "the reason, for the event, the status and the history"),
    OPTION(STRING, "revision", &opt.revision, .arg = "HASH",
           .help = "the revision that it is about; default the one that is released, or waits"),
    OPTION(BOOL, "yes", &opt.yes, .help = "(-y) does not ask back; nor without a terminal"),
    OPTION(BOOL, "wait", &opt.wait, .help = "waits until the release has ended as well"),
    OPTION(DURATION, "timeout", &opt.timeout_ms, .value = "0", .arg = "DURATION",
           .help =
               "longest wait for the controller's answer, 0: 1m; with --wait for the end of the "
               "release as well, 0: 1h"),
    {0}};

/* One who asks: a Canary, and the object that is written for it. */
struct asking {
    struct ctl *ctl;
    const char *name, *action, *revision, *by;
    const char *uid; /* of the request */
};

/* --- which revision */

static bool is_phase(struct json_object *canary, const char *const *names)
{
    const char *phase = json_str_at(canary, "status", "phase", NULL);

    for (; phase && *names; names++)
        if (strcmp(phase, *names) == 0)
            return true;
    return false;
}

/* Reads what the target's code asks for, until it has said what it is. */
static enum err ask_target(struct ctl *ctl, const struct target *target, struct tick *tick,
                           struct target_info *info, struct errinfo *ei)
{
    enum { ROUNDS = 10 };

    for (int round = 0; round < ROUNDS; round++) {
        tick_reset(tick);
        *info = (struct target_info){0};
        if (target->read(tick, info) != VERDICT_NEED_FACTS)
            return ERR_OK;
        for (const struct need *need = tick->needs; need; need = need->next) {
            struct json_object *object = NULL;
            enum err err = read_get(ctl, need->resource, need->namespace_, need->name, &object, ei);
            if (err != ERR_OK && err != ERR_NOT_FOUND)
                return err;
            fact_object(tick, need, err == ERR_OK ? object : NULL);
        }
    }
    return err_set(ei, ERR_INVALID, "the target cannot be read in %d rounds", ROUNDS);
}

/* The hash of what the target holds now; *out "" when it has none. */
static enum err read_target(struct ctl *ctl, struct json_object *object, const char **out,
                            struct errinfo *ei)
{
    static const char *const labels[] = {"app", "name", "app.kubernetes.io/name", NULL};
    static const char *const prefixes[] = {NULL};
    static const struct settings settings = {.mesh_provider = "kubernetes",
                                             .metrics_server = "",
                                             .selector_labels = labels,
                                             .include_label_prefixes = prefixes,
                                             .cluster_name = ""};
    struct canary canary;
    struct target_info info;
    enum err err = canary_view(ctl->arena, object, &canary, ei);

    *out = "";
    if (err != ERR_OK)
        return err;
    const struct target *target = target_find(canary.target.api_version, canary.target.kind);
    if (!target)
        return err_set(ei, ERR_INVALID, "a %s is not released", canary.target.kind);
    struct tick *tick = tick_new(ctl->arena, &canary, &settings, clock_wall_ms(), false);
    err = ask_target(ctl, target, tick, &info, ei);
    if (err == ERR_OK)
        *out = arena_strdup(ctl->arena, info.hash);
    return err;
}

/* What is released; otherwise what the target holds, which waits. */
static enum err choose_revision(struct asking *asking, struct json_object *canary,
                                struct errinfo *ei)
{
    static const char *const running[] = {"Progressing", "WaitingPromotion", "Promoting",
                                          "Finalising", NULL};
    const char *applied = json_str_at(canary, "status", "lastAppliedSpec", NULL);
    const char *paused = json_str_at(canary, "status", "paused", "revision", NULL);

    asking->revision = opt.revision;
    if (opt.revision && *opt.revision)
        return ERR_OK;
    if (paused && strcmp(asking->action, "resume") == 0)
        asking->revision = paused;
    else if (applied && *applied &&
             (is_phase(canary, running) || strcmp(asking->action, "restart") == 0))
        asking->revision = applied;
    else
        return read_target(asking->ctl, canary, &asking->revision, ei);
    return ERR_OK;
}

/* --- who asks */

static const char *ask_name(struct ctl *ctl)
{
    static const struct kube_resource reviews = {.group = "authentication.k8s.io",
                                                 .version = "v1",
                                                 .plural = "selfsubjectreviews",
                                                 .kind = "SelfSubjectReview",
                                                 .cluster_scoped = true};
    struct json_object *body = json_own(ctl->arena, json_object_new_object()), *answer = NULL;
    const struct kube_request request = {.verb = KUBE_CREATE, .resource = &reviews, .body = body};
    struct errinfo ei;

    json_set_str(body, "apiVersion", "authentication.k8s.io/v1");
    json_set_str(body, "kind", "SelfSubjectReview");
    if (read_call(ctl, &request, &answer, &ei) != ERR_OK)
        return NULL;
    return json_str_at(answer, "status", "userInfo", "username", NULL);
}

/* As the API server calls the person; one that does not say so is believed to know the name of the
 * kubeconfig, or that of the machine. */
static const char *who(struct ctl *ctl)
{
    const char *name = ask_name(ctl);

    if (!name || !*name)
        name = ctl->config->username;
    if (!name || !*name)
        name = getenv("USER");
    return name && *name ? name : "somebody";
}

/* --- asking */

static struct json_object *request_of(const struct asking *asking, struct json_object *canary)
{
    struct arena *arena = asking->ctl->arena;
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *metadata = json_sub(out, "metadata"), *spec = json_sub(out, "spec");
    struct json_object *owners = json_own(arena, json_object_new_array());
    struct json_object *owner = json_own(arena, json_object_new_object());

    json_set_str(out, "apiVersion", kube_api_version(arena, &tick_requests));
    json_set_str(out, "kind", tick_requests.kind);
    json_set_str(metadata, "name", asking->name);
    json_set_str(metadata, "namespace", asking->ctl->namespace_);
    json_set_str(owner, "apiVersion", kube_api_version(arena, &read_canaries));
    json_set_str(owner, "kind", read_canaries.kind);
    json_set_str(owner, "name", asking->name);
    json_set_str(owner, "uid", json_str_at(canary, "metadata", "uid", NULL));
    json_object_array_add(owners, json_object_get(owner));
    json_set(metadata, "ownerReferences", owners);
    json_set_str(spec, "action", asking->action);
    json_set_str(spec, "revision", asking->revision);
    json_set_str(spec, "by", asking->by);
    if (opt.why && *opt.why)
        json_set_str(spec, "why", opt.why);
    return out;
}

static bool is_over(int64_t deadline_ms)
{
    return clock_monotonic_ms() >= deadline_ms;
}

/* Somebody else asks at the same time: told once. */
static void tell_other(const struct asking *asking, bool *told)
{
    struct json_object *other = NULL;
    struct ctl *ctl = asking->ctl;
    struct errinfo ei;

    if (*told ||
        read_get(ctl, &tick_requests, ctl->namespace_, asking->name, &other, &ei) != ERR_OK)
        return;
    *told = true;
    const char *by = json_str_at(other, "spec", "by", NULL);
    const char *action = json_str_at(other, "spec", "action", NULL);
    fprintf(ctl->err, "%s asks for %s at the same time; waiting until that is done.\n",
            print_clean(ctl->arena, by ? by : "somebody"),
            print_clean(ctl->arena, action ? action : "something"));
}

static int fail_create(struct ctl *ctl, enum err err, const struct errinfo *ei)
{
    if (err == ERR_NOT_FOUND)
        return ctl_fail(
            ctl, CTL_SERVER,
            "the cluster knows no ReleaseRequests; apply proto/crd/releaserequests.yaml "
            "of flagger-c, and its controller");
    return read_fail(ctl, err, ei);
}

/* Writes the request; there is one of a Canary at a time. */
static int create(struct asking *asking, struct json_object *canary, int64_t deadline_ms)
{
    struct ctl *ctl = asking->ctl;
    const struct kube_request request = {.verb = KUBE_CREATE,
                                         .resource = &tick_requests,
                                         .namespace_ = ctl->namespace_,
                                         .body = request_of(asking, canary)};
    bool told = false;

    for (;;) {
        struct json_object *made = NULL;
        struct errinfo ei = {0};
        enum err err = read_call(ctl, &request, &made, &ei);
        if (err == ERR_OK) {
            asking->uid = json_str_at(made, "metadata", "uid", NULL);
            return CTL_DONE;
        }
        if (err != ERR_CONFLICT)
            return fail_create(ctl, err, &ei);
        tell_other(asking, &told);
        if (is_over(deadline_ms))
            return ctl_fail(ctl, CTL_TIMED_OUT,
                            "another request of %s has not been carried out yet; is the controller "
                            "running? Nothing was asked",
                            asking->name);
        read_pause(ctl, LOOK_MS);
    }
}

/* --- what came of it */

static struct json_object *find_entry(const struct asking *asking, struct json_object *canary)
{
    struct json_object *list = json_at(canary, "status", "requests", NULL);

    for (size_t i = 0; i < json_len(list); i++) {
        const char *uid = json_str_at(json_elem(list, i), "uid", NULL);
        if (uid && asking->uid && strcmp(uid, asking->uid) == 0)
            return json_elem(list, i);
    }
    return NULL;
}

static int tell_outcome(const struct asking *asking, struct json_object *entry)
{
    struct ctl *ctl = asking->ctl;
    const char *outcome = json_str_at(entry, "outcome", NULL);
    const char *message = json_str_at(entry, "message", NULL);
    bool done = outcome && strcmp(outcome, "done") == 0;

    if (!done)
        return ctl_fail(ctl, CTL_FAILED, "%s of %s is refused: %s", asking->action, asking->name,
                        print_clean(ctl->arena, message));
    fprintf(ctl->out, "%s%s%s: %s\n", print_on(ctl, PRINT_BOLD), asking->name,
            print_off(ctl, PRINT_BOLD), print_clean(ctl->arena, message));
    fflush(ctl->out);
    return CTL_DONE;
}

/* The object has gone, and the status does not know of it. */
static bool is_turned_away(const struct asking *asking)
{
    struct json_object *object = NULL;
    struct errinfo ei;

    return read_get(asking->ctl, &tick_requests, asking->ctl->namespace_, asking->name, &object,
                    &ei) == ERR_NOT_FOUND;
}

static int wait_for_answer(const struct asking *asking, int64_t deadline_ms)
{
    struct ctl *ctl = asking->ctl;

    for (bool gone = false;;) {
        struct json_object *canary;
        int code = read_canary(ctl, asking->name, &canary);
        if (code != CTL_DONE)
            return code;
        struct json_object *entry = find_entry(asking, canary);
        if (entry)
            return tell_outcome(asking, entry);
        if (gone)
            return ctl_fail(ctl, CTL_FAILED,
                            "%s of %s was not carried out; the events of the Canary say why",
                            asking->action, asking->name);
        gone = is_turned_away(asking);
        if (is_over(deadline_ms))
            return ctl_fail(ctl, CTL_TIMED_OUT,
                            "the controller has not answered yet; the request stands, and is "
                            "withdrawn with kubectl delete releaserequest %s -n %s",
                            asking->name, ctl->namespace_);
        if (!gone)
            read_pause(ctl, LOOK_MS);
    }
}

/* The release comes to rest: an abort is done when it has failed, anything else when it has not. */
static int wait_for_end(const struct asking *asking, int64_t deadline_ms)
{
    static const char *const rest[] = {"Initialized", "Succeeded", "Failed", NULL};
    static const char *const failed[] = {"Failed", NULL};
    struct ctl *ctl = asking->ctl;

    for (;;) {
        struct json_object *canary;
        int code = read_canary(ctl, asking->name, &canary);
        if (code != CTL_DONE)
            return code;
        bool again = json_str_at(canary, "status", "steer", "restart", NULL) ||
                     json_at(canary, "status", "renewal", NULL);
        if (is_phase(canary, rest) && !again) {
            bool bad = is_phase(canary, failed);
            fprintf(ctl->out, "%s: %s\n", asking->name, bad ? "Failed" : "Succeeded");
            return bad == (strcmp(asking->action, "abort") == 0) ? CTL_DONE : CTL_FAILED;
        }
        if (is_over(deadline_ms))
            return ctl_fail(ctl, CTL_TIMED_OUT, "the release of %s has not ended yet",
                            asking->name);
        read_pause(ctl, LOOK_MS);
    }
}

/* --- */

static bool agrees(const struct asking *asking)
{
    char line[16] = "";

    if (opt.yes || !isatty(STDIN_FILENO) || asking->ctl->width == 0)
        return true;
    fprintf(asking->ctl->err, "%s %s in namespace %s, revision %s? [y/N] ", asking->action,
            asking->name, asking->ctl->namespace_, asking->revision);
    fflush(asking->ctl->err);
    return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static int64_t deadline(int64_t otherwise_ms)
{
    return clock_monotonic_ms() + (opt.timeout_ms > 0 ? opt.timeout_ms : otherwise_ms);
}

int steer_run(struct ctl *ctl)
{
    struct asking asking = {.ctl = ctl, .name = ctl->args[0], .action = ctl->command->name};
    struct json_object *canary;
    struct errinfo ei = {0};
    int code = read_canary(ctl, asking.name, &canary);

    if (code != CTL_DONE)
        return code;
    enum err err = choose_revision(&asking, canary, &ei);
    if (err != ERR_OK)
        return read_fail(ctl, err, &ei);
    if (!asking.revision || !*asking.revision)
        return ctl_fail(ctl, CTL_SERVER,
                        "no revision of %s can be told: its target is not there, or cannot be "
                        "released; name one with --revision",
                        asking.name);
    if (!agrees(&asking))
        return ctl_fail(ctl, CTL_USAGE, "nothing was asked");
    asking.by = who(ctl);
    int64_t answer_ms = deadline(ANSWER_MS);
    code = create(&asking, canary, answer_ms);
    if (code == CTL_DONE)
        code = wait_for_answer(&asking, answer_ms);
    return code == CTL_DONE && opt.wait ? wait_for_end(&asking, deadline(END_MS)) : code;
}
