#include "fleet/rules/grants.h"

#include <string.h>

#include "base/option.h"
#include "kube/resource.h"

static const char *const any_pairs[] = {"*:*", NULL};
static const char *const none[] = {NULL};
/* Of every cluster. */
static const char *const of_system[] = {"kube-system", "kube-public", "kube-node-lease", NULL};

const struct grants grants_any = {.pairs = any_pairs, .closed = none};

/* --- options */

static bool is_part(const char *text, size_t len)
{
    char name[64];

    if (len == 1 && *text == '*')
        return true;
    if (len >= sizeof(name))
        return false;
    memcpy(name, text, len);
    name[len] = '\0';
    return kube_is_label(name);
}

static bool is_pair(const char *text)
{
    const char *colon = strchr(text, ':');

    return colon && is_part(text, (size_t)(colon - text)) && is_part(colon + 1, strlen(colon + 1));
}

enum err grants_read(struct arena *arena, const char *pairs, const char *closed, struct grants *out,
                     struct errinfo *ei)
{
    *out =
        (struct grants){.pairs = option_split(arena, pairs), .closed = option_split(arena, closed)};
    for (const char *const *at = out->pairs; *at; at++)
        if (!is_pair(*at))
            return err_set(
                ei, ERR_INVALID,
                "--allow-namespaces: expected FROM:IN, the name of a namespace here or *, "
                "and that of one on the members or *, found \"%.140s\"",
                *at);
    for (const char *const *at = out->closed; *at; at++)
        if (!kube_is_label(*at))
            return err_set(ei, ERR_INVALID,
                           "--system-namespaces: expected the name of a namespace, found \"%.80s\"",
                           *at);
    return ERR_OK;
}

/* --- answers */

static bool has(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static bool fits(const char *part, size_t len, const char *name)
{
    return (len == 1 && *part == '*') || (strlen(name) == len && memcmp(part, name, len) == 0);
}

static bool is_allowed(const struct grants *grants, const char *from, const char *in)
{
    for (const char *const *at = grants->pairs; *at; at++) {
        const char *colon = strchr(*at, ':');
        if (fits(*at, (size_t)(colon - *at), from) && fits(colon + 1, strlen(colon + 1), in))
            return true;
    }
    return false;
}

bool grants_is_closed(const struct grants *grants, const char *in)
{
    return has(of_system, in) || has(grants->closed, in);
}

bool grants_is_settled(const struct grants *grants, const char *from, const char *in)
{
    return grants_is_closed(grants, in) || strcmp(from, in) == 0 || is_allowed(grants, from, in);
}

static bool is_noted(struct arena *arena, struct json_object *namespace_, const char *from)
{
    const char *text = json_str_at(namespace_, "metadata", "annotations", GRANTS_NOTE, NULL);

    return text && has(option_split(arena, text), from);
}

const char *grants_refusal(struct arena *arena, const struct grants *grants, const char *field,
                           const char *from, const char *in, struct json_object *namespace_)
{
    if (grants_is_closed(grants, in))
        return arena_printf(arena,
                            "%s: expected no namespace of the system or of the fleet itself, found "
                            "%s, which nothing opens",
                            field, in);
    if (grants_is_settled(grants, from, in) || is_noted(arena, namespace_, from))
        return NULL;
    return arena_printf(
        arena,
        "%s: expected %s, the namespace that it lies in itself, or one that grants "
        "it, found %s, whose Namespace on the cluster has no annotation " GRANTS_NOTE
        ": %s (--allow-namespaces %s:%s of the fleet allows it as "
        "well)",
        field, from, in, from, from, in);
}
