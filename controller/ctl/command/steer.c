/*
 * The commands that steer a release: promote, abort, pause, resume, restart, skip-analysis and
 * renew-primary. Each writes a ReleaseRequest about the revision that the user sees, waits until
 * the controller has carried it out or refused it, and prints the result. Undo starts a release of
 * an earlier revision first.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "ctl/ctl.h"
#include "ctl/facts.h"
#include "ctl/output.h"
#include "ctl/read.h"
#include "ctl/state.h"
#include "proto/phase.h"
#include "tick/tick.h"

enum { ANSWER_MS = 60 * 1000, END_MS = 60 * 60 * 1000, LOOK_MS = 250, MOST_SHOWN = 10 };

static struct {
    const char *why, *revision;
    int64_t timeout_ms;
    bool yes, wait, checked;
} opt;

#define WHY_ROW                                                                                    \
    OPTION(STRING, "why", &opt.why, .arg = "TEXT",                                                 \
           .help = "the reason, for the event, the status and the history")
#define WAIT_ROWS                                                                                  \
    OPTION(BOOL, "yes", &opt.yes, .help = "(-y) does not ask back; nor without a terminal"),       \
        OPTION(BOOL, "wait", &opt.wait, .help = "waits until the release has ended as well"),      \
        OPTION(DURATION, "timeout", &opt.timeout_ms, .value = "0", .arg = "DURATION",              \
               .help = "longest wait for the controller's answer, 0: 1m; with --wait for the end " \
                       "of the release as well, 0: 1h")

static const struct option_row steer_rows[] = {
    WHY_ROW,
    OPTION(STRING, "revision", &opt.revision, .arg = "HASH",
           .help = "the revision that it is about; default the one that is released, or waits"),
    WAIT_ROWS,
    {0}};

static const struct option_row undo_rows[] = {
    OPTION(STRING, "to", &opt.revision, .arg = "HASH",
           .help = "the revision, as history names it; default the one that was promoted before"),
    WHY_ROW,
    OPTION(BOOL, "with-analysis", &opt.checked, .help = "it is analysed like any other revision"),
    WAIT_ROWS,
    {0}};

/* A request: the Canary, and the ReleaseRequest written for it. */
struct asking {
    struct ctl *ctl;
    const char *name, *action, *revision, *by;
    const char *uid; /* uid of the request */
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

/* Chooses the revision being released, or else the target's. */
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
        return revision_read(asking->ctl, canary, &asking->revision, ei);
    return ERR_OK;
}

/* --- the author */

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

/* The user's name according to the API server; if it cannot tell, the user of the kubeconfig or of
 * the machine. */
static const char *who(struct ctl *ctl)
{
    const char *name = ask_name(ctl);

    if (!name || !*name)
        name = ctl->config->username;
    if (!name || !*name)
        name = getenv("USER");
    return name && *name ? name : "somebody";
}

/* --- requests */

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

/* Reports once that another user has made a request at the same time. */
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

/* Writes the request; a Canary has at most one at a time. */
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

/* --- the result */

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

/* True if the object is gone and the status has no record of it. */
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

/* The release has ended: an abort has succeeded if the release failed, any other request if it did
 * not. */
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

static int ask(struct asking *asking, struct json_object *canary)
{
    int64_t answer_ms = deadline(ANSWER_MS);

    asking->by = who(asking->ctl);
    int code = create(asking, canary, answer_ms);
    return code == CTL_DONE ? wait_for_answer(asking, answer_ms) : code;
}

/* Runs ctl->command; its name is the action. */
static int steer_run(struct ctl *ctl)
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
    code = ask(&asking, canary);
    return code == CTL_DONE && opt.wait ? wait_for_end(&asking, deadline(END_MS)) : code;
}

/* --- undo: brings back an earlier pod template, which Kubernetes keeps, and checks nothing about
 * it */

/* Kinds of workloads for which Kubernetes keeps earlier pod templates, and the objects that have
 * them. */
static const struct template_keeper {
    const char *kind;
    const struct kube_resource *resource, *kept_in;
} keepers[] = {
    {"Deployment", &kube_deployments, &kube_replicasets},
    {"DaemonSet", &kube_daemonsets, &kube_controllerrevisions},
};

static const struct template_keeper *find_keeper(const char *kind)
{
    for (size_t i = 0; kind && i < sizeof(keepers) / sizeof(keepers[0]); i++)
        if (strcmp(kind, keepers[i].kind) == 0)
            return &keepers[i];
    return NULL;
}

struct undo {
    struct ctl *ctl;
    const char *name;
    struct json_object *canary, *target;
    const struct template_keeper *keeper;
    const char *now;              /* current revision of the target */
    const char *to;               /* requested revision; NULL: the newest that is allowed */
    struct json_object *template; /* its pod template; NULL: none was found */
    const char *found;            /* revision of that template */
    int64_t number;               /* its number */
    const char *known;            /* "77c1aa, 5d4f8b": revisions whose template is kept */
    bool ends;                    /* it is the primary's: pushing it ends the running release */
};

/* --- which revision */

/* Outcome of the last release of a revision; NULL if it is not in the history. */
static const char *outcome_of(const struct undo *undo, const char *revision)
{
    struct json_object *past = json_at(undo->canary, "status", "history", NULL);

    for (size_t i = 0; i < json_len(past); i++) {
        const char *named = json_str_at(json_elem(past, i), "revision", NULL);
        if (named && strcmp(named, revision) == 0)
            return json_str_at(json_elem(past, i), "outcome", NULL);
    }
    return NULL;
}

/* The revision that was promoted before the current one. NULL if it is not in the history, which
 * does not record the first revision of the Canary; find_template() then uses the newest
 * template. */
static const char *promoted_before(const struct undo *undo)
{
    struct json_object *past = json_at(undo->canary, "status", "history", NULL);

    for (size_t i = 0; i < json_len(past); i++) {
        const char *outcome = json_str_at(json_elem(past, i), "outcome", NULL);
        const char *revision = json_str_at(json_elem(past, i), "revision", NULL);
        if (revision && outcome && strcmp(outcome, "promoted") == 0 &&
            strcmp(revision, undo->now) != 0)
            return revision;
    }
    return NULL;
}

static int choose_earlier(struct undo *undo)
{
    const char *promoted = json_str_at(undo->canary, "status", "lastPromotedSpec", NULL);
    bool named = opt.revision && *opt.revision;
    bool bakes = glance_condition(undo->canary, "Baked") && promoted && *promoted;

    if (!named && !bakes && (!promoted || strcmp(promoted, undo->now) != 0))
        return ctl_fail(undo->ctl, CTL_FAILED,
                        "revision %s of %s is not promoted: %s abort takes it back while it is "
                        "released; or name a revision with --to",
                        undo->now, undo->name, undo->ctl->program);
    undo->to = named ? opt.revision : bakes ? promoted : promoted_before(undo);
    undo->ends = bakes && strcmp(undo->to, promoted) == 0;
    return undo->to && strcmp(undo->to, undo->now) == 0
               ? ctl_fail(undo->ctl, CTL_FAILED, "%s has revision %s already", undo->name, undo->to)
               : CTL_DONE;
}

/* --- its template */

static bool is_of_target(const struct undo *undo, struct json_object *object)
{
    struct json_object *owners = json_at(object, "metadata", "ownerReferences", NULL);
    const char *uid = json_str_at(undo->target, "metadata", "uid", NULL);

    for (size_t i = 0; uid && i < json_len(owners); i++) {
        const char *owner = json_str_at(json_elem(owners, i), "uid", NULL);
        if (owner && strcmp(owner, uid) == 0)
            return true;
    }
    return false;
}

/* The template as the user wrote it: Kubernetes adds a label to it, or a patch directive. */
static struct json_object *template_in(struct arena *arena, struct json_object *object)
{
    struct json_object *kept = json_at(object, "spec", "template", NULL);

    if (!kept)
        kept = json_at(object, "data", "spec", "template", NULL);
    if (!kept)
        return NULL;
    struct json_object *template = json_copy(arena, kept);
    json_object_object_del(template, "$patch");
    struct json_object *labels = json_at(template, "metadata", "labels", NULL);
    if (labels)
        json_object_object_del(labels, "pod-template-hash");
    return template;
}

static struct json_object *with_template(struct undo *undo, struct json_object *template)
{
    struct json_object *out = json_copy(undo->ctl->arena, undo->target);

    json_set(json_sub(out, "spec"), "template", template);
    return out;
}

/* The number of an earlier template, which increases in the order in which they were applied. */
static int64_t number_of(struct json_object *object)
{
    const char *note =
        json_str_at(object, "metadata", "annotations", "deployment.kubernetes.io/revision", NULL);

    return note ? strtoll(note, NULL, 10) : json_int_at(object, 0, "revision", NULL);
}

static bool is_wanted(const struct undo *undo, const char *revision, int64_t number)
{
    const char *outcome = outcome_of(undo, revision);

    if (undo->to)
        return strcmp(revision, undo->to) == 0;
    return number >= undo->number && !(outcome && strcmp(outcome, "failed") == 0);
}

/* Takes the template if it is the requested one, or newer than the other ones that are allowed. */
static void consider(struct undo *undo, struct json_object *object)
{
    struct arena *arena = undo->ctl->arena;
    struct json_object *template = template_in(arena, object);
    struct errinfo ei;
    const char *revision;

    if (!template ||
        revision_of_object(undo->ctl, undo->canary, with_template(undo, template), &revision,
                           &ei) != ERR_OK ||
        !*revision || strcmp(revision, undo->now) == 0)
        return;
    if (!strstr(undo->known, revision))
        undo->known =
            arena_printf(arena, "%s%s%s", undo->known, *undo->known ? ", " : "", revision);
    if (!is_wanted(undo, revision, number_of(object)))
        return;
    undo->number = number_of(object);
    undo->found = revision;
    undo->template = template;
}

static int find_template(struct undo *undo)
{
    const struct read_what what = {.resource = undo->keeper->kept_in,
                                   .namespace_ = undo->ctl->namespace_};
    struct json_object *list;
    struct errinfo ei;
    enum err err = read_list(undo->ctl, &what, &list, &ei);

    if (err != ERR_OK)
        return read_fail(undo->ctl, err, &ei);
    undo->known = "";
    for (size_t i = 0; i < json_len(list); i++)
        if (is_of_target(undo, json_elem(list, i)))
            consider(undo, json_elem(list, i));
    const char *wanted = undo->to ? arena_printf(undo->ctl->arena, "revision %s", undo->to)
                                  : "an earlier revision that has not failed";
    undo->to = undo->found;
    if (undo->template)
        return CTL_DONE;
    return ctl_fail(undo->ctl, CTL_FAILED,
                    "the cluster keeps no pod template of %s; of %s %s it keeps %s", wanted,
                    undo->keeper->kind, undo->name, *undo->known ? undo->known : "no other");
}

/* --- carrying it out */

static const char *images_in(struct arena *arena, struct json_object *template)
{
    struct json_object *containers = json_at(template, "spec", "containers", NULL);
    const char *text = "";

    for (size_t i = 0; i < json_len(containers) && i < MOST_SHOWN; i++) {
        const char *image = json_str_at(json_elem(containers, i), "image", NULL);
        text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "", image ? image : "");
    }
    return print_clean(arena, text);
}

static bool agrees_to_undo(const struct undo *undo)
{
    struct ctl *ctl = undo->ctl;
    char line[16] = "";

    if (opt.yes || !isatty(STDIN_FILENO) || ctl->width == 0)
        return true;
    fprintf(ctl->err, "%s %s in namespace %s: from revision %s to %s (%s)%s? [y/N] ",
            ctl->command->name, undo->name, ctl->namespace_, undo->now, undo->to,
            images_in(ctl->arena, undo->template), opt.checked ? "" : ", without checks");
    fflush(ctl->err);
    return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

/* If somebody else has changed the target in the meantime, that change is kept. */
static int write_template(struct undo *undo)
{
    struct arena *arena = undo->ctl->arena;
    struct json_object *patch =
        json_merge_diff(arena, undo->target, with_template(undo, undo->template));
    const struct kube_request request = {.verb = KUBE_MERGE_PATCH,
                                         .resource = undo->keeper->resource,
                                         .namespace_ = undo->ctl->namespace_,
                                         .name =
                                             json_str_at(undo->target, "metadata", "name", NULL),
                                         .body = patch};
    struct json_object *answer;
    struct errinfo ei;

    json_set_str(json_sub(patch, "metadata"), "resourceVersion",
                 json_str_at(undo->target, "metadata", "resourceVersion", NULL));
    enum err err = read_call(undo->ctl, &request, &answer, &ei);
    if (err == ERR_CONFLICT)
        return ctl_fail(undo->ctl, CTL_FAILED,
                        "%s %s was changed by somebody else at the same time; nothing was done",
                        undo->keeper->kind, undo->name);
    if (err != ERR_OK)
        return read_fail(undo->ctl, err, &ei);
    fprintf(undo->ctl->out, "%s: %s %s has the pod template of revision %s (%s) again\n",
            undo->name, undo->keeper->kind, request.name, undo->to,
            images_in(arena, undo->template));
    fflush(undo->ctl->out);
    return CTL_DONE;
}

static bool is_seen(const struct undo *undo, struct json_object *canary)
{
    const char *release = json_str_at(canary, "status", "release", "revision", NULL);
    const char *applied = json_str_at(canary, "status", "lastAppliedSpec", NULL);

    return (release && strcmp(release, undo->to) == 0) ||
           (applied && strcmp(applied, undo->to) == 0);
}

static int wait_until_seen(struct undo *undo)
{
    int64_t deadline_ms = deadline(ANSWER_MS);

    for (;;) {
        int code = read_canary(undo->ctl, undo->name, &undo->canary);
        if (code != CTL_DONE || is_seen(undo, undo->canary))
            return code;
        if (is_over(deadline_ms))
            return ctl_fail(undo->ctl, CTL_TIMED_OUT,
                            "the controller has not begun the release yet; is it running? "
                            "%s skip-analysis %s --revision %s leaves out its checks",
                            undo->ctl->program, undo->name, undo->to);
        read_pause(undo->ctl, LOOK_MS);
    }
}

static int read_sides(struct undo *undo)
{
    struct ctl *ctl = undo->ctl;
    int code = read_canary(ctl, undo->name, &undo->canary);
    struct errinfo ei;

    if (code != CTL_DONE)
        return code;
    struct json_object *ref = json_at(undo->canary, "spec", "targetRef", NULL);
    const char *kind = json_str_at(ref, "kind", NULL), *name = json_str_at(ref, "name", NULL);
    undo->keeper = find_keeper(kind);
    if (!undo->keeper || !name)
        return ctl_fail(ctl, CTL_FAILED,
                        "the target of %s is a %s, of which the cluster keeps no earlier pod "
                        "template; expected a Deployment or a DaemonSet",
                        undo->name, print_clean(ctl->arena, kind ? kind : "nothing"));
    enum err err = read_get(ctl, undo->keeper->resource, ctl->namespace_, name, &undo->target, &ei);
    if (err == ERR_OK)
        err = revision_read(ctl, undo->canary, &undo->now, &ei);
    return err == ERR_OK ? CTL_DONE : read_fail(ctl, err, &ei);
}

static int undo_run(struct ctl *ctl)
{
    struct undo undo = {.ctl = ctl, .name = ctl->args[0]};
    int code = read_sides(&undo);

    if (code == CTL_DONE)
        code = choose_earlier(&undo);
    if (code == CTL_DONE)
        code = find_template(&undo);
    if (code != CTL_DONE)
        return code;
    if (!agrees_to_undo(&undo))
        return ctl_fail(ctl, CTL_USAGE, "nothing was done");
    code = write_template(&undo);
    if (code == CTL_DONE)
        code = wait_until_seen(&undo);
    struct asking asking = {
        .ctl = ctl, .name = undo.name, .action = "skip-analysis", .revision = undo.to};
    if (undo.ends)
        return code;
    if (code == CTL_DONE && !opt.checked)
        code = ask(&asking, undo.canary);
    return code == CTL_DONE && opt.wait ? wait_for_end(&asking, deadline(END_MS)) : code;
}

/* --- the commands */

#define STEER(command, line, text)                                                                 \
    {                                                                                              \
        .name = (command), .summary = (line), .usage = "NAME [--why TEXT]", .help = (text),        \
        .rows = steer_rows, .min_args = 1, .max_args = 1, .completes = "canary", .run = steer_run  \
    }
#define EXIT_CODES                                                                                 \
    "Exit code: 0 done, 3 refused, 4 no answer in time; with --wait also 3 when the release ends " \
    "otherwise.\n\n"

const struct ctl_command ctl_abort =
    STEER("abort", "Rolls a release back.",
          "All traffic goes back to the primary at once, as by a rollback hook.\n\n" EXIT_CODES
          "Example:\n"
          "    {ctl} abort podinfo -n test --why \"customers complain\"\n");

const struct ctl_command ctl_pause =
    STEER("pause", "Holds a release where it is.",
          "No step is taken and nothing is promoted until resume; checks go on, and a failed "
          "analysis is rolled back.\n\n" EXIT_CODES "Example:\n"
          "    {ctl} pause podinfo -n test --why \"wait for the database\"\n");

const struct ctl_command ctl_promote =
    STEER("promote", "Ends the analysis of a release: it is promoted if its gate agrees.",
          "No further check is made. The gate confirm-promotion is asked as ever: it is somebody "
          "else's to open.\n\n" EXIT_CODES "Example:\n"
          "    {ctl} promote podinfo -n test --why \"checked by hand\"\n");

const struct ctl_command ctl_renew_primary = STEER(
    "renew-primary", "Recreates a primary whose selector has fewer labels than that of the target.",
    "Primaries that Flagger made, or this controller before it kept all labels, have one label "
    "in their selector, which other workloads may share. A selector cannot be changed: a "
    "second "
    "primary is made beside the first, and serves with it; then the first is recreated with "
    "all labels, and when that serves, the second goes. No release begins meanwhile. It is "
    "refused while one is under way, or a revision waits.\n\n"
    "Exit code: 0 it has begun, 3 refused, 4 no answer in time; the condition PrimaryRenewed "
    "says how far it is, and an event when it is done. With --wait the command returns when it "
    "is over.\n\n"
    "Example:\n"
    "    {ctl} renew-primary podinfo -n test\n");

const struct ctl_command ctl_restart =
    STEER("restart", "Analyses a revision again that has failed.",
          "It is released as any other, gates and all.\n\n" EXIT_CODES "Example:\n"
          "    {ctl} restart podinfo -n test --why \"the metric server was down\"\n");

const struct ctl_command ctl_resume =
    STEER("resume", "Lets a release go on that was paused.",
          "Deadlines of gates, metrics and pods start over.\n\n" EXIT_CODES "Example:\n"
          "    {ctl} resume podinfo -n test --why \"the database is back\"\n");

const struct ctl_command ctl_skip_analysis =
    STEER("skip-analysis", "Releases a revision without checks: one that waits, or is analysed.",
          "Its gates are asked as ever.\n\n" EXIT_CODES "Example:\n"
          "    {ctl} skip-analysis podinfo -n test --why \"security fix\"\n");

const struct ctl_command ctl_undo = {
    .name = "undo",
    .summary = "Takes an earlier revision back, without checks.",
    .usage = "NAME [--to HASH] [--why TEXT]",
    .help =
        "The Deployment or DaemonSet gets the pod template of the revision that was promoted "
        "before, which Kubernetes keeps for spec.revisionHistoryLimit, ten if not given; then it "
        "is released without checks, as by skip-analysis. Its gates are asked as ever. The content "
        "of ConfigMaps and Secrets stays as it is. Where Git has the manifest, revert it there as "
        "well, or it comes back.\n\n"
        "A release that is under way is taken back by abort. One that bakes (analysis.bake) is "
        "taken "
        "back by undo as well: the primary has the former revision still.\n\n"
        "Exit code: 0 done, 3 refused or no such template, 4 no answer in time; with --wait also 3 "
        "when the release ends otherwise.\n\n"
        "Examples:\n"
        "    {ctl} undo podinfo -n test --why \"customers complain\" --wait\n"
        "    {ctl} undo podinfo -n test --to 77c1aa --with-analysis\n",
    .rows = undo_rows,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = undo_run,
};
