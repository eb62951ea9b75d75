/*
 * Pinning a Deployment to a revision, and the revisions that wait behind it
 * (analysis.onNewRevision). Both are kept in annotations of the Deployment, next to the template
 * that they are about: one write changes everything, and is conditional on the version in which the
 * pushed template was seen. (Kubernetes creates no ReplicaSet for a template that is pushed to a
 * paused Deployment, so it is kept nowhere else.)
 *
 *              pinned-template      queued-templates          spec.paused  spec.template
 *   finish     its pods' template   -                         true         the newest
 *   PIN_HOLDS  its pods' template   those waiting, in order   true         the newest
 *   PIN_PLACED -                    the same after its own    -            its own
 */
#include <string.h>

#include "target/shared/workload.h"
#include "tick/edit.h"
#include "tick/plan.h"

enum {
    TEMPLATES_MAX = 200 * 1024
}; /* the limit for all annotations of an object together is 256 KiB */

static const char *note_of(struct json_object *object, const char *key)
{
    return json_str_at(object, "metadata", "annotations", key, NULL);
}

/* --- reading */

/* The value in an annotation, if it has this type; NULL if there is none, or it is something
 * else. */
static struct json_object *read_note(struct arena *arena, const char *note, enum json_type type)
{
    struct json_object *json = NULL;
    struct errinfo ei;

    if (!note || json_parse(arena, note, strlen(note), TEMPLATES_MAX, &json, &ei) != ERR_OK)
        return NULL;
    return json_object_is_type(json, type) ? json : NULL;
}

static struct json_object *read_queue(struct arena *arena, struct json_object *object)
{
    struct json_object *list = read_note(arena, note_of(object, QUEUE_TEMPLATES), json_type_array);

    if (json_len(list) > QUEUE_MOST + 1)
        return NULL;
    for (size_t i = 0; i < json_len(list); i++)
        if (!json_object_is_type(json_elem(list, i), json_type_object))
            return NULL;
    return list;
}

/* The templates of a list without the first one. */
static struct json_object *rest_of(struct arena *arena, struct json_object *list)
{
    struct json_object *rest = edit_array(arena);

    for (size_t i = 1; i < json_len(list); i++)
        edit_add(rest, json_elem(list, i));
    return rest;
}

/* Makes out->object the target with this template and without our annotations. */
static void show(struct arena *arena, struct target_info *out, struct json_object *template)
{
    struct json_object *notes;

    out->object = json_copy(arena, out->live);
    notes = json_at(out->object, "metadata", "annotations", NULL);
    json_del(notes, PIN_TEMPLATE);
    json_del(notes, QUEUE_TEMPLATES);
    json_set(json_sub(out->object, "spec"), "template", template);
}

void pin_read(struct arena *arena, struct target_info *out)
{
    const char *note = note_of(out->object, PIN_TEMPLATE);
    struct json_object *list = read_queue(arena, out->object);
    struct json_object *template = read_note(arena, note, json_type_object);
    bool paused = json_bool_at(out->object, false, "spec", "paused", NULL);

    if (!note && !note_of(out->object, QUEUE_TEMPLATES))
        return;
    out->live = out->object;
    out->pin = note && template && paused            ? PIN_HOLDS
               : !note && list && json_len(list) > 0 ? PIN_PLACED
                                                     : PIN_BROKEN;
    if (out->pin == PIN_PLACED)
        template = json_elem(list, 0);
    out->queue.templates = out->pin == PIN_PLACED ? rest_of(arena, list) : list;
    out->queue.kept = out->pin != PIN_BROKEN && list;
    if (out->pin != PIN_BROKEN)
        show(arena, out, template);
}

static enum err hash_waiting(struct tick *tick, const struct workload *kind,
                             struct target_info *out, struct errinfo *ei)
{
    struct target_queue *queue = &out->queue;
    enum err err = ERR_OK;

    for (size_t i = 0; i < json_len(queue->templates) && i < QUEUE_MOST && err == ERR_OK; i++) {
        struct json_object *object = json_copy(tick->arena, out->live);
        json_set(json_sub(object, "spec"), "template", json_elem(queue->templates, i));
        err = workload_revision(tick->arena, kind, object, queue->waiting[i], ei);
        queue->n = (int)i + 1;
    }
    return err;
}

enum err pin_compare(struct tick *tick, const struct workload *kind, struct target_info *out,
                     struct errinfo *ei)
{
    struct target_queue *queue = &out->queue;
    char live[SPECHASH_TEXT];

    if (out->pin == PIN_NONE)
        return ERR_OK;
    enum err err = hash_waiting(tick, kind, out, ei);
    if (err == ERR_OK)
        err = workload_revision(tick->arena, kind, out->live, live, ei);
    if (err != ERR_OK)
        return err;
    const char *last = queue->n > 0 ? queue->waiting[queue->n - 1] : out->hash;
    bool other = strcmp(live, out->hash) != 0, is_last = strcmp(live, last) == 0;
    if (out->pin == PIN_BROKEN)
        return ERR_OK;
    queue->news = out->pin == PIN_HOLDS ? !is_last : other && !is_last;
    queue->overtaken = out->pin == PIN_PLACED && other && is_last;
    if (other || queue->news)
        memcpy(out->next, live, sizeof(out->next));
    return ERR_OK;
}

/* --- writing */

void pin_erase(struct json_object *copy, enum pin pin)
{
    struct json_object *notes = json_at(copy, "metadata", "annotations", NULL);

    json_del(notes, PIN_TEMPLATE);
    json_del(notes, QUEUE_TEMPLATES);
    /* if it was resumed, somebody else may have paused it again */
    if (pin == PIN_HOLDS)
        json_del(json_at(copy, "spec", NULL), "paused");
}

static struct json_object *live_of(const struct target_info *info)
{
    return info->live ? info->live : info->object;
}

/*
 * Its own template and the waiting ones, followed by the live one if that is new; if there are too
 * many, the live one replaces the last of them (*replaced).
 */
static struct json_object *line_up(struct tick *tick, const struct target_info *info,
                                   bool *replaced)
{
    struct json_object *all = edit_array(tick->arena);
    struct json_object *live = json_at(live_of(info), "spec", "template", NULL);
    size_t waiting = json_len(info->queue.templates);

    *replaced = false;
    edit_add(all, json_at(info->object, "spec", "template", NULL));
    for (size_t i = 0; i < waiting; i++)
        edit_add(all, json_elem(info->queue.templates, i));
    if (!info->queue.news)
        return all;
    edit_add(all, live);
    if (waiting > 0 &&
        (waiting >= QUEUE_MOST || strlen(json_text(tick->arena, all)) > TEMPLATES_MAX)) {
        *replaced = true;
        json_object_array_del_idx(all, waiting, 1);
    }
    return all;
}

/* Writes both annotations of `to`; returns false if they are too large. */
static bool put_notes(struct tick *tick, struct json_object *to, struct json_object *own,
                      struct json_object *waiting)
{
    struct json_object *notes = json_sub(json_sub(to, "metadata"), "annotations");
    const char *first = own ? json_text(tick->arena, own) : "";
    const char *list = waiting ? json_text(tick->arena, waiting) : "";

    json_del(notes, PIN_TEMPLATE);
    json_del(notes, QUEUE_TEMPLATES);
    if (own)
        json_set_str(notes, PIN_TEMPLATE, first);
    if (waiting)
        json_set_str(notes, QUEUE_TEMPLATES, list);
    return strlen(first) + strlen(list) <= TEMPLATES_MAX;
}

/* Pods are created from the first template of the list. */
static bool place(struct tick *tick, const struct target_info *info, struct json_object *to,
                  struct json_object *list)
{
    pin_erase(to, info->pin);
    json_set(json_sub(to, "spec"), "template", json_elem(list, 0));
    return put_notes(tick, to, NULL, list);
}

/* Pods are created only from the first template; the live template is the newest, as pushed. */
static bool hold(struct tick *tick, struct json_object *to, struct json_object *list)
{
    struct json_object *spec = json_sub(to, "spec");

    json_set(spec, "template", json_elem(list, json_len(list) - 1));
    json_set_bool(spec, "paused", true);
    return put_notes(tick, to, json_elem(list, 0), rest_of(tick->arena, list));
}

void pin_place(struct tick *tick, const struct target_info *info, struct json_object *to)
{
    bool replaced;

    /* without the pin's annotation, the annotations are smaller than before */
    (void)place(tick, info, to, line_up(tick, info, &replaced));
}

enum queue_result pin_queue(struct tick *tick, const struct workload *kind,
                            const struct target_info *info, enum queue_deed deed)
{
    struct json_object *from = live_of(info), *to = json_copy(tick->arena, from);
    bool replaced, fits = true;
    struct json_object *all = line_up(tick, info, &replaced);

    if (deed == QUEUE_NEXT)
        all = rest_of(tick->arena, all);
    if (deed == QUEUE_DROP)
        json_del(json_at(to, "metadata", "annotations", NULL), QUEUE_TEMPLATES);
    else if (deed == QUEUE_HOLD || (deed == QUEUE_NOTE && info->pin == PIN_HOLDS))
        fits = hold(tick, to, all);
    else
        fits = place(tick, info, to, all);
    if (!fits)
        return QUEUE_TOO_LARGE;
    plan_update(tick, kind->resource, from, to);
    return replaced ? QUEUE_REPLACED : QUEUE_WRITTEN;
}

bool pin_put(struct tick *tick, const struct workload *kind, const struct target_info *info)
{
    struct json_object *to = json_copy(tick->arena, info->object);

    if (!put_notes(tick, to, json_at(info->object, "spec", "template", NULL), NULL))
        return false;
    json_set_bool(json_sub(to, "spec"), "paused", true);
    return plan_update(tick, kind->resource, info->object, to);
}

void pin_drop(struct tick *tick, const struct workload *kind, const struct target_info *info)
{
    struct json_object *to = json_copy(tick->arena, info->live);
    size_t n = json_len(info->queue.templates);
    bool is_own = json_same(json_at(info->live, "spec", "template", NULL),
                            json_at(info->object, "spec", "template", NULL));

    pin_erase(to, info->pin);
    /* the last pushed template was replaced by the one that is placed */
    if (info->pin == PIN_PLACED && n > 0 && is_own)
        json_set(json_sub(to, "spec"), "template", json_elem(info->queue.templates, n - 1));
    plan_update(tick, kind->resource, info->live, to);
}
