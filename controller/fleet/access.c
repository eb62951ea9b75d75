#include "fleet/access.h"

#include <string.h>

#include "base/base64.h"

enum err fleet_access(struct arena *arena, struct json_object *secret, const char *key,
                      const char **text, struct kube_config *out, struct errinfo *ei)
{
    const char *label =
        arena_printf(arena, "Secret %s/%s", json_str_at(secret, "metadata", "namespace", NULL),
                     json_str_at(secret, "metadata", "name", NULL));
    const char *coded = json_str_at(secret, "data", key ? key : "value", NULL);
    char *plain;
    size_t len;

    if (!coded && !key)
        coded = json_str_at(secret, "data", "kubeconfig", NULL);
    if (!coded)
        return err_set(ei, ERR_INVALID, "%s: expected a kubeconfig in the key %s, found none",
                       label, key ? key : "value or kubeconfig");
    enum err err = base64_decode(arena, coded, &plain, &len, ei);
    if (err != ERR_OK)
        return err_wrap(ei, err, "%s", label);
    *text = plain;
    return kube_config_read(arena, label, plain, len, out, ei);
}
