/*
 * The procedure for a switch from Argo's controller to this one, without an outage.
 *
 * Three kinds of pods have the same version, one after the other: the Rollout's, the Deployment's,
 * and the primary's. A Service never selects pods that are not ready. Argo's controller is stopped
 * while its hash is removed from the selector, since it would restore the hash as long as the
 * Rollout exists. The Rollout is deleted without its ReplicaSets; their pods are removed once the
 * Deployment's serve.
 */
#include <string.h>

#include "ctl/convert/parts.h"

/* The steps are numbered as they are written, since some are left out. */
struct switching {
    const struct rollout *r;
    struct buf *out;
    const char *kubectl; /* the command with the namespace */
    const char *convert; /* the command line, for this Rollout only */
    int step;
};

static void say(const struct switching *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void say(const struct switching *s, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(s->r->arena, fmt, args);
    va_end(args);
    comment_write(s->r->arena, s->out, 0, text);
}

static void begin_step(struct switching *s, const char *what)
{
    say(s, "\n%d. %s", ++s->step, what);
}

/* "a=b,c=d" for the selector; NULL if it has no labels. */
static const char *labels_of(const struct rollout *r)
{
    const char *text = "";

    if (json_count(r->selector) == 0)
        return NULL;
    json_object_object_foreach(r->selector, key, value)
    {
        const char *label = value_text(r->arena, value);
        text = arena_printf(r->arena, "%s%s%s=%s", text, *text ? "," : "", key, label ? label : "");
    }
    return text;
}

static void write_head(const struct switching *s)
{
    const struct rollout *r = s->r;

    say(s, "\nThe switch of %s, without an outage", r->label);
    say(s,
        "\nWhile no release is under way (the Rollout is Healthy), with the pod template that runs "
        "now, and with the CRDs and the controller of flagger-c installed. Pods of the Rollout, "
        "the Deployment and the primary run side by side for a while: there must be room for "
        "them. A tool that applies manifests again (Argo CD, Flux) must not do so in between. Each "
        "step leaves everything served; stop at any of them and look.");
    say(s, "%s",
        strcmp(r->provider, "kubernetes") == 0
            ? "These steps are tested with a Service and requests that never stop."
            : "These steps are tested with a Service and requests that never stop, and not with "
              "the routes of this provider: read the last step first.");
}

static void write_deployment(struct switching *s)
{
    const struct rollout *r = s->r;

    begin_step(s, "The Deployment gets pods of the same version.");
    if (r->deployment)
        say(s, "  %s --only Deployment | %s apply -f -", s->convert, s->kubectl);
    if (r->scaler || !r->deployment)
        say(s,
            "  %s scale deployment %s --replicas=\"$(%s get rollout %s -o "
            "jsonpath='{.status.availableReplicas}')\"",
            s->kubectl, r->target, s->kubectl, r->name);
    say(s, "  %s rollout status deployment/%s --timeout=10m", s->kubectl, r->target);
    if (r->managed)
        say(s, "Serves: the pods of the Rollout, by the hash in the selector of Service %s.",
            r->service);
    else
        say(s, "Serves: the pods of the Rollout and, where a Service selects them, of the "
               "Deployment.");
}

static void write_service(struct switching *s)
{
    const struct rollout *r = s->r;

    if (!r->managed)
        return;
    begin_step(s, "Argo's controller is stopped. Pods go on serving; no Rollout of the cluster "
                  "makes a step until it is back.");
    say(s, "  argo=\"$(kubectl -n argo-rollouts get deployment argo-rollouts -o "
           "jsonpath='{.spec.replicas}')\"");
    say(s, "  kubectl -n argo-rollouts scale deployment argo-rollouts --replicas=0");
    say(s,
        "  kubectl -n argo-rollouts wait --for=delete pod -l app.kubernetes.io/name=argo-rollouts "
        "--timeout=2m");
    begin_step(s, "The Service selects the pods of both.");
    say(s,
        "  %s patch service %s --type=merge -p "
        "'{\"metadata\":{\"annotations\":{\"argo-rollouts.argoproj.io/managed-by-rollouts\":null}},"
        "\"spec\":{\"selector\":{\"rollouts-pod-template-hash\":null}}}'",
        s->kubectl, r->service);
    say(s, "  sleep 10 # until every node knows it");
    say(s, "Serves: the pods of the Rollout and of the Deployment.");
}

static void write_deletion(struct switching *s)
{
    const struct rollout *r = s->r;
    const char *labels = labels_of(r);

    begin_step(s, "The Rollout goes, its ReplicaSets stay, and then their pods end: those of the "
                  "Deployment serve.");
    say(s, "  %s delete rollout %s --cascade=orphan", s->kubectl, r->name);
    if (labels)
        say(s, "  %s delete replicaset -l %s,rollouts-pod-template-hash", s->kubectl, labels);
    say(s, "Serves: the pods of the Deployment.");
    if (!r->managed)
        return;
    begin_step(s, "Argo's controller comes back, for the other Rollouts.");
    say(s, "  kubectl -n argo-rollouts scale deployment argo-rollouts --replicas=\"$argo\"");
}

static void write_canary(struct switching *s)
{
    const struct rollout *r = s->r;
    const char *route = r->source_route;

    begin_step(s, route ? arena_printf(r->arena,
                                       "The Canary, and the %s with one backend: if it is not in "
                                       "the files, take the other one out of its rule by hand, for "
                                       "the Canary waits for that.",
                                       route)
                        : "The Canary.");
    say(s,
        "  %s --only HorizontalPodAutoscaler,ScaledObject,%s%sMetricTemplate,Canary | %s apply -f "
        "-",
        s->convert, route ? route : "", route ? "," : "", s->kubectl);
    say(s, "  %s wait canary/%s --for=condition=promoted --timeout=10m", s->kubectl, r->target);
    say(s,
        "Serves: the pods of the Deployment, until those of %s-primary are ready; then these, by "
        "Service %s, and the Deployment is scaled to zero until the next release.",
        r->target, r->service ? r->service : r->target);
}

/* Argo's routes that the provider here does not write. */
static void write_routes(const struct switching *s)
{
    static const struct {
        const char *provider, *text;
    } routes[] = {
        {"istio", "the old VirtualService and DestinationRule, where they have another name than "
                  "the Service: two VirtualServices of one host are not merged, so delete the old "
                  "one as soon as the new one is there"},
        {"nginx", "the Ingress that Argo made, ROLLOUT-INGRESS-canary; it has no weight"},
        {"traefik", "the old TraefikService, once the IngressRoute leads to that of the Service's "
                    "name"},
        {"smi", "the old TrafficSplit, where it has another name than the Service"},
        {"appmesh", "the old VirtualNodes, VirtualRouter and VirtualService"},
        {"gatewayapi", "the old route, where it has another name than the Service: of two routes "
                       "for one host the older one counts, so the new one serves from then on"},
        {"contour", "the old route, where it has another name than the Service"},
    };

    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        if (strncmp(s->r->provider, routes[i].provider, strlen(routes[i].provider)) == 0)
            say(s, "And %s.", routes[i].text);
}

static void write_rest(struct switching *s)
{
    const struct rollout *r = s->r;
    const char *own = arena_printf(r->arena, "%s-canary", r->service ? r->service : r->target);

    begin_step(s, "What is left of Argo's, when nothing asks for it any more.");
    if (r->canary_service && strcmp(r->canary_service, own) != 0)
        say(s, "  %s delete service %s --ignore-not-found", s->kubectl, r->canary_service);
    write_routes(s);
    say(s, "AnalysisTemplates that no other Rollout names, and the Rollout and its Services in the "
           "manifests that a tool applies again.");
    say(s,
        "\nThe way back: until the Canary is there, apply the Rollout again. Afterwards delete the "
        "Canary, which gives the Service back to the Deployment, then apply the Rollout and, when "
        "it is Healthy, delete the Deployment.");
}

/* True if a shell reads the text as one word, as it does all names in a cluster; NULL counts as
 * none. */
static bool is_word(const char *text)
{
    return !text || strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "-_./=,") == strlen(text);
}

void live_write(const struct rollout *r, struct buf *out)
{
    const char *command = r->conversion->options->command;
    bool single = r->conversion->found == 1;
    struct switching s = {
        .r = r,
        .out = out,
        .convert = single ? command : arena_printf(r->arena, "%s --rollout %s", command, r->name),
        .kubectl =
            *r->namespace_ ? arena_printf(r->arena, "kubectl -n %s", r->namespace_) : "kubectl"};

    if (!is_word(r->name) || !is_word(r->namespace_) || !is_word(r->target) ||
        !is_word(r->service) || !is_word(r->canary_service) || !is_word(labels_of(r))) {
        say(&s, "\nNo switch of %s: a name or label of it is none that a cluster takes", r->label);
        return;
    }
    write_head(&s);
    write_deployment(&s);
    write_service(&s);
    write_deletion(&s);
    write_canary(&s);
    write_rest(&s);
}
