#include "ctl/person.h"

static const struct kube_resource reviews = {.group = "authentication.k8s.io",
                                             .version = "v1",
                                             .plural = "selfsubjectreviews",
                                             .kind = "SelfSubjectReview",
                                             .cluster_scoped = true};

enum err person_name(struct ctl *ctl, const char *as_name, const char **out, struct errinfo *ei)
{
    struct json_object *body = json_own(ctl->arena, json_object_new_object()), *answer = NULL;
    const struct kube_request request = {.verb = KUBE_CREATE, .resource = &reviews, .body = body};

    *out = as_name;
    if (as_name)
        return ERR_OK;
    json_set_str(body, "apiVersion", "authentication.k8s.io/v1");
    json_set_str(body, "kind", "SelfSubjectReview");
    enum err err = read_call(ctl, &request, &answer, ei);
    if (err != ERR_OK && err != ERR_NOT_FOUND)
        return err;
    *out = json_str_at(answer, "status", "userInfo", "username", NULL);
    if (err == ERR_OK && *out)
        return ERR_OK;
    return err_set(ei, ERR_NOT_FOUND,
                   "the API server cannot say who you are (SelfSubjectReview is of Kubernetes 1.28 "
                   "and later): give --as-name");
}
