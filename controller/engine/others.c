#include "engine/others.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/table.h"
#include "engine/gauges.h"
#include "kube/lease_look.h"
#include "kube/selector.h"

struct other {
    struct others *others;
    char *lease;
    struct lease_look *look;
    int held; /* by so many Canaries */
    int left; /* so many are left to it */
    /* Its part of the cluster, as its lease says. */
    struct arena *arena; /* NULL: not known, or all */
    const char *namespaces;
    const struct selector *selector; /* NULL: whatever the labels */
};

struct others {
    struct engine_context *context;
    struct table all; /* by lease */
    void (*seen)(void *arg, const struct other *other, bool changed);
    void *arg;
};

static void other_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct other *)item)->lease;
    *second = NULL;
}

struct others *others_new(struct engine_context *context,
                          void (*seen)(void *arg, const struct other *other, bool changed),
                          void *arg)
{
    struct others *others = heap_alloc(sizeof(*others));

    *others = (struct others){.context = context, .seen = seen, .arg = arg};
    table_init(&others->all, other_key);
    return others;
}

void others_free(struct others *others)
{
    table_fini(&others->all);
    free(others);
}

enum other_state other_state(const struct other *other)
{
    static const enum other_state states[] = {[LEASE_LIFE_UNKNOWN] = OTHER_UNKNOWN,
                                              [LEASE_LIVES] = OTHER_LIVES,
                                              [LEASE_GONE] = OTHER_GONE};

    return states[lease_look_life(other->look)];
}

static bool same_text(const char *one, const char *other)
{
    return one == other || (one && other && strcmp(one, other) == 0);
}

/* A selector that we cannot read may select anything. */
static void learn_part(struct other *other, struct json_object *lease)
{
    struct json_object *notes = json_at(lease, "metadata", "annotations", NULL);
    const char *namespaces = json_str_at(notes, OTHERS_NAMESPACES, NULL);
    const char *labels = json_str_at(notes, OTHERS_SELECTOR, NULL);
    const char *known = other->selector ? selector_text(other->selector) : NULL;

    if (!lease ||
        (other->arena && same_text(other->namespaces, namespaces) && same_text(known, labels)))
        return;
    arena_free(other->arena);
    other->arena = arena_new();
    other->namespaces = arena_strdup(other->arena, namespaces);
    other->selector = NULL;
    if (labels && selector_parse(other->arena, labels, &other->selector, NULL) != ERR_OK)
        other->selector = NULL;
}

static bool names(const char *list, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = list; *at; at += strspn(at, ", ")) {
        size_t found = strcspn(at, ", ");
        if (found == len && strncmp(at, name, len) == 0)
            return true;
        at += found;
    }
    return false;
}

bool other_covers(const struct other *other, const char *namespace_, struct json_object *labels)
{
    return (!other->namespaces || names(other->namespaces, namespace_)) &&
           (!other->selector || selector_match(other->selector, labels));
}

void other_left(struct other *other, int delta)
{
    other->left += delta;
    gauges_other(other->lease, other->left);
    if (delta > 0 && other->left == 1)
        log_warn("controllers_overlap", NULL,
                 "another controller drives Canaries that this one looks after as well; they are "
                 "left to it",
                 LOG_STR("lease", other->lease));
    else if (other->left == 0)
        log_info("controllers_apart", NULL, "no Canary is left to the other controller any more",
                 LOG_STR("lease", other->lease));
}

static void on_seen(void *arg, struct json_object *lease, bool changed)
{
    struct other *other = arg;

    learn_part(other, lease);
    other->others->seen(other->others->arg, other, changed);
}

static struct other *other_new(struct others *others, const char *lease)
{
    const char *slash = strchr(lease, '/');

    if (!slash || slash == lease || !slash[1] || strchr(slash + 1, '/'))
        return NULL;
    struct other *other = heap_alloc(sizeof(*other));
    char *namespace_ = heap_printf("%.*s", (int)(slash - lease), lease);
    *other = (struct other){.others = others, .lease = heap_strdup(lease)};
    const struct engine_context *context = others->context;
    other->look =
        lease_look_new(context->loop, context->kube,
                       &(struct lease_look_spec){.namespace_ = namespace_,
                                                 .name = slash + 1,
                                                 .look_ms = context->other_look_ms,
                                                 .patience_ms = context->other_patience_ms,
                                                 .seen = on_seen,
                                                 .arg = other});
    free(namespace_);
    (void)table_put(&others->all, other);
    return other;
}

struct other *others_hold(struct others *others, const char *lease)
{
    struct other *other = table_get(&others->all, lease, NULL);

    if (!other)
        other = other_new(others, lease);
    if (!other)
        return NULL;
    other->held++;
    return other;
}

void others_let_go(struct others *others, struct other *other)
{
    if (!other)
        return;
    if (--other->held > 0)
        return;
    (void)table_take(&others->all, other->lease, NULL);
    gauges_other(other->lease, -1);
    lease_look_free(other->look);
    arena_free(other->arena);
    free(other->lease);
    free(other);
}

const char *other_lease(const struct other *other)
{
    return other->lease;
}

const char *other_trouble(const struct other *other)
{
    return lease_look_trouble(other->look);
}

int64_t other_next_look(const struct other *other)
{
    return lease_look_begun(other->look) + 1;
}

bool other_was_looked_at(const struct other *other, int64_t look)
{
    return lease_look_answered(other->look) >= look;
}
