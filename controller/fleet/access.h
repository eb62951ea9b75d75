/* The kubeconfig of a member cluster, out of its Secret. Outside bytes; pure. */
#ifndef FLEET_ACCESS_H
#define FLEET_ACCESS_H

#include "base/json.h"
#include "kube/config.h"

/*
 * key: as of struct fleet_member. *text: the kubeconfig, *out: what is in it, both in the arena.
 * ERR_INVALID: one sentence that begins with the Secret and never has anything of its content.
 */
enum err fleet_access(struct arena *arena, struct json_object *secret, const char *key,
                      const char **text, struct kube_config *out, struct errinfo *ei) MUST_USE;

#endif
