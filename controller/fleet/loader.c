/* The load tester of a workload, which runs the commands of its analysis (deploy/loadtester). */
#include <string.h>

#include "fleet/derive.h"
#include "tick/edit.h"

enum { LOADER_PORT = 8080, SERVICE_PORT = 80 };

/* Tools that make requests, and nothing else: whoever reaches the port may have it run them. */
static const char policies[] =
    "--policy=/etc/flagger/policies/hey.yaml,/etc/flagger/policies/wrk.yaml,"
    "/etc/flagger/policies/ghz.yaml";

const char *derive_loader_name(struct arena *arena, const struct rollout *rollout)
{
    return arena_printf(arena, "%s-testloader", rollout->workload.name);
}

/* The labels of its pods. Of a Deployment that is there they stay: its selector cannot be changed. */
static struct json_object *pod_labels(struct arena *arena, const struct rollout *rollout,
                                      struct json_object *deployment)
{
    struct json_object *live = json_at(deployment, "spec", "selector", "matchLabels", NULL);
    struct json_object *labels = edit_object(arena);

    if (live)
        return json_copy(arena, live);
    json_set_str(labels, "app", derive_loader_name(arena, rollout));
    return labels;
}

static struct json_object *texts(struct arena *arena, const char *const *list)
{
    struct json_object *out = edit_array(arena);

    for (; *list; list++)
        json_object_array_add(out, json_object_new_string(*list));
    return out;
}

/* Root starts tasks as a user of their own, and has no other right (deploy/loadtester/README.md). */
static void bound(struct arena *arena, struct json_object *container)
{
    static const char *const add[] = {"SETUID", "SETGID", "KILL", NULL}, *const drop[] = {"ALL",
                                                                                          NULL};
    struct json_object *context = json_sub(container, "securityContext");

    json_set_bool(context, "allowPrivilegeEscalation", false);
    json_set(json_sub(context, "capabilities"), "add", texts(arena, add));
    json_set(json_sub(context, "capabilities"), "drop", texts(arena, drop));
    json_set_bool(context, "readOnlyRootFilesystem", true);
    json_set_int(context, "runAsUser", 0);
    json_set_str(json_sub(context, "seccompProfile"), "type", "RuntimeDefault");
}

static void probe(struct json_object *container, const char *key, const char *path)
{
    struct json_object *get = json_sub(json_sub(container, key), "httpGet");

    json_set_str(get, "path", path);
    json_set_str(get, "port", "http");
}

static struct json_object *container_of(struct arena *arena, const char *image)
{
    static const char *const command[] = {"flagger-loadtester", NULL};
    static const char *const args[] = {"--port=8080", policies, "--task-memory=512Mi", "--seccomp",
                                       NULL};
    struct json_object *out = edit_object(arena), *ports = edit_array(arena);
    struct json_object *port = edit_object(arena);

    json_set_str(out, "name", "loadtester");
    json_set_str(out, "image", image);
    json_set(out, "command", texts(arena, command));
    json_set(out, "args", texts(arena, args));
    json_set_str(port, "name", "http");
    json_set_int(port, "containerPort", LOADER_PORT);
    edit_add(ports, port);
    json_set(out, "ports", ports);
    probe(out, "livenessProbe", "/healthz");
    probe(out, "readinessProbe", "/readyz");
    json_set_str(json_sub(json_sub(out, "resources"), "limits"), "memory", "1Gi");
    json_set_str(json_sub(json_sub(out, "resources"), "requests"), "cpu", "100m");
    json_set_str(json_sub(json_sub(out, "resources"), "requests"), "memory", "64Mi");
    bound(arena, out);
    return out;
}

/* Room to write, on a root that is read only. */
static void add_room(struct arena *arena, struct json_object *pod, struct json_object *container,
                     const char *name, const char *path)
{
    struct json_object *volume = edit_object(arena), *mount = edit_object(arena);
    struct json_object *volumes = json_at(pod, "volumes", NULL);
    struct json_object *mounts = json_at(container, "volumeMounts", NULL);

    json_set_str(volume, "name", name);
    (void)json_sub(volume, "emptyDir");
    json_set_str(mount, "name", name);
    json_set_str(mount, "mountPath", path);
    edit_add(volumes, volume);
    edit_add(mounts, mount);
}

struct json_object *derive_loader_deployment(struct arena *arena, const struct fleet_place *place,
                                             struct json_object *deployment)
{
    struct json_object *out = edit_object(arena), *spec = json_sub(out, "spec");
    struct json_object *labels = pod_labels(arena, place->policy->rollout, deployment);
    struct json_object *template = json_sub(spec, "template"), *pod = json_sub(template, "spec");
    struct json_object *container = container_of(arena, place->loader_image);
    struct json_object *containers = edit_array(arena);

    json_set(json_sub(spec, "selector"), "matchLabels", labels);
    json_set(json_sub(template, "metadata"), "labels", labels);
    json_set_bool(pod, "automountServiceAccountToken", false);
    json_set_bool(pod, "enableServiceLinks", false);
    json_set(pod, "volumes", edit_array(arena));
    json_set(container, "volumeMounts", edit_array(arena));
    add_room(arena, pod, container, "tmp", "/tmp");
    add_room(arena, pod, container, "home", "/home/app");
    edit_add(containers, container);
    json_set(pod, "containers", containers);
    return out;
}

struct json_object *derive_loader_service(struct arena *arena, const struct rollout *rollout,
                                          struct json_object *deployment)
{
    struct json_object *out = edit_object(arena), *spec = json_sub(out, "spec");
    struct json_object *ports = edit_array(arena), *port = edit_object(arena);

    json_set_str(port, "name", "http");
    json_set_int(port, "port", SERVICE_PORT);
    json_set_str(port, "protocol", "TCP");
    json_set_str(port, "targetPort", "http");
    edit_add(ports, port);
    json_set(spec, "ports", ports);
    json_set(spec, "selector", pod_labels(arena, rollout, deployment));
    return out;
}
