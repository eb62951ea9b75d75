/* Objects printed without a cluster. objects: what Applications create on a member cluster; crds:
 * what a cluster must serve before anything else is useful. */
#include <string.h>

#include "ctl/ctl.h"
#include "ctl/inputs.h"
#include "ctl/output.h"
#include "fleet/rules/fleet.h"
#include "tick/plan.h"

static struct {
    const char *loader_image, *namespace_;
    struct inputs inputs;
} opt;

static const struct option_row rows[] = {
    OPTION(STRING, "loader-image", &opt.loader_image,
           .value = "flagger-loadtester:" FLAGGER_VERSION, .arg = "IMAGE",
           .help = "image of load testers"),
    OPTION(STRING, "namespace", &opt.namespace_, .arg = "NAME",
           .help = "(-n) of objects in the files that name none"),
    INPUTS_ROWS(&opt.inputs),
    {0}};

struct printing {
    struct ctl *ctl;
    struct manifests *manifests;
    bool any; /* something was printed */
    int left; /* number of policies whose objects are not fully known */
};

static bool look(void *arg, const struct kube_resource *resource, const char *namespace_,
                 const char *name, struct json_object **out)
{
    *out = manifests_find(arg, resource, namespace_, name);
    return true;
}

static void print_policy(struct printing *p, const struct application *app,
                         const struct application_policy *policy)
{
    struct ctl *ctl = p->ctl;
    const struct fleet_place place = {
        .app = app, .policy = policy, .loader_image = opt.loader_image, .grants = &grants_any};
    const struct fleet_eyes eyes = {.look = look, .arg = p->manifests};
    const struct fleet_plan *plan = fleet_plan(ctl->arena, &place, NULL, &eyes);
    const char *open = plan->refused ? plan->refused : plan->waits;

    for (const struct fleet_step *step = plan->first; step; step = step->next) {
        fprintf(ctl->out, "%s%s", p->any ? "---\n" : "", yaml_print(ctl->arena, step->object));
        p->any = true;
    }
    if (!open)
        return;
    p->left++;
    fprintf(ctl->err, "Application %s/%s: policy %s: %s\n",
            print_clean(ctl->arena, app->namespace_), print_clean(ctl->arena, app->name),
            print_clean(ctl->arena, policy->name), print_clean(ctl->arena, open));
}

static bool is_application(struct json_object *object)
{
    static const char group[] = "apps.kurator.dev/";
    const char *version = json_str_at(object, "apiVersion", NULL);
    const char *kind = json_str_at(object, "kind", NULL);

    return version && kind && strncmp(version, group, strlen(group)) == 0 &&
           strcmp(kind, "Application") == 0;
}

/* False if it is invalid, which is reported. */
static bool print_application(struct printing *p, struct json_object *object)
{
    struct application *app = ARENA_NEW(p->ctl->arena, struct application);
    const char *name = json_str_at(object, "metadata", "name", NULL);
    struct errinfo ei;

    if (application_view(p->ctl->arena, object, app, &ei) != ERR_OK) {
        (void)ctl_fail(p->ctl, CTL_SERVER, "objects: Application %s: %s",
                       print_clean(p->ctl->arena, name ? name : "without a name"), ei.text);
        return false;
    }
    for (int i = 0; i < app->n_policies; i++)
        if (app->policies[i].rollout)
            print_policy(p, app, &app->policies[i]);
    return true;
}

static int run(struct ctl *ctl)
{
    struct manifests manifests = {.arena = ctl->arena, .namespace_ = opt.namespace_};
    struct printing p = {.ctl = ctl, .manifests = &manifests};
    struct errinfo ei;
    int found = 0;
    bool fine = true;

    if (!*opt.loader_image)
        return ctl_fail(ctl, CTL_USAGE,
                        "objects: --loader-image: expected the name of an image, found none");
    if (manifests_read(&manifests, &opt.inputs, ctl->args, ctl->n_args, &ei) != ERR_OK)
        return ctl_fail(ctl, CTL_USAGE, "objects: %s", ei.text);
    for (size_t i = 0; i < json_len(manifests.objects); i++) {
        if (!is_application(json_elem(manifests.objects, i)))
            continue;
        found++;
        fine = print_application(&p, json_elem(manifests.objects, i)) && fine;
    }
    if (found == 0)
        return ctl_fail(ctl, CTL_USAGE,
                        "objects: expected an Application of apps.kurator.dev in the files, found "
                        "none");
    return fine && p.left == 0 ? CTL_DONE : CTL_SERVER;
}

const struct ctl_command ctl_objects = {
    .name = "objects",
    .summary = "Prints the objects that Applications make on a cluster, as YAML.",
    .usage = "[FILE...] [-f FILE] [-k FOLDER]",
    .help =
        "Reads Applications of Kurator (apps.kurator.dev), and prints what each rollout in "
        "them wants on a cluster of its fleet: the Namespace that the mesh knows, the Ingress, "
        "the load tester, MetricTemplates and the Canary. \"-\" is the standard input. Other "
        "objects in the files are taken for what is on the cluster: the Service of the "
        "workload must be among them, for the Canary is told its ports. What is there already "
        "is printed as it is then, and left out where nothing changes. No cluster is asked.\n\n"
        "Exit code: 0 when all was printed, 1 when something is wrong or missing, which is "
        "told, 2 for a wrong command line or a file that cannot be read.\n\n"
        "Examples:\n"
        "    {ctl} objects application.yaml service.yaml\n"
        "    kubectl get application shop -o yaml | {ctl} objects - service.yaml | {ctl} lint -\n",
    .rows = rows,
    .accepts = CTL_OFFLINE,
    .max_args = -1,
    .completes = "file",
    .run = run,
};

/* Generated by the build of proto/crd. */
extern const char *const crds_texts[];

static int run_crds(struct ctl *ctl)
{
    for (const char *const *text = crds_texts; *text; text++)
        fprintf(ctl->out, "%s%s", text == crds_texts ? "" : "---\n", *text);
    return CTL_DONE;
}

const struct ctl_command ctl_crds = {
    .name = "crds",
    .summary = "Prints the CustomResourceDefinitions of this version, as YAML.",
    .usage = "",
    .help = "Example:\n"
            "    {ctl} crds | kubectl apply --server-side -f -\n",
    .accepts = CTL_OFFLINE,
    .run = run_crds,
};
