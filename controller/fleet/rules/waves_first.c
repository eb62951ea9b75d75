/*
 * The first wave. Its Canaries are never held: the revision of the plan is the one that all of them
 * have promoted. While one of them is releasing something or has failed, the revision is not
 * proven.
 */
#include <string.h>

#include "fleet/rules/waves_parts.h"

enum { MAX_WORKLOADS = 1000 };

struct first {
    struct waves_work *w;
    const struct waves_cluster *cluster; /* the cluster on which `promoted` was found */
    const char *promoted;                /* NULL: none yet */
    const char *failed, *failed_on;      /* revision and cluster of the first failure */
    const char *waits;                   /* one sentence */
    int failures;                        /* number of failures that are not accepted */
    int canaries;
};

static void waits(struct first *f, const char *sentence)
{
    if (!f->waits)
        f->waits = sentence;
}

/* Takes the revision of a Canary that rests. */
static void take(struct first *f, const struct waves_cluster *cluster, const char *promoted)
{
    if (!*promoted)
        waits(f, arena_printf(f->w->arena, "cluster %s has promoted no revision as a whole",
                              cluster->name));
    else if (!f->promoted) {
        f->promoted = promoted;
        f->cluster = cluster;
    } else if (strcmp(f->promoted, promoted) != 0)
        waits(f, arena_printf(f->w->arena, "cluster %s has promoted revision %s, and cluster %s %s",
                              f->cluster->name, f->promoted, cluster->name, promoted));
}

static void look(struct first *f, const struct waves_cluster *cluster,
                 const struct waves_canary *canary)
{
    f->canaries++;
    if (!waves_is_initialised(canary)) {
        waits(f, arena_printf(f->w->arena, "the Canary of cluster %s is not initialised",
                              cluster->name));
    } else if (!waves_rests(canary)) {
        waits(f, arena_printf(f->w->arena, "cluster %s releases revision %s", cluster->name,
                              canary->applied));
    } else if (canary->phase == PHASE_Failed && strcmp(canary->applied, canary->promoted) != 0 &&
               !waves_is_accepted(f->w, canary)) {
        f->failures++;
        if (!f->failed) {
            f->failed = canary->applied;
            f->failed_on = cluster->name;
        }
    } else
        take(f, cluster, canary->promoted);
}

static bool is_of(const struct waves_canary *canary, const struct waves_canary *workload)
{
    return !canary->deleting && strcmp(canary->name, workload->name) == 0 &&
           strcmp(canary->namespace_, workload->namespace_) == 0;
}

/* Looks at all Canaries of the first wave with the same name as this one. */
static struct first look_at(struct waves_work *w, const struct waves_canary *workload)
{
    struct first f = {.w = w};

    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        for (size_t j = 0; w->wave_of[i] == 0 && j < cluster->n_canaries; j++)
            if (is_of(&cluster->canaries[j], workload))
                look(&f, cluster, &cluster->canaries[j]);
    }
    return f;
}

/* True if the failures of one workload stop the plan, because not all of them are tolerated. */
static bool is_stopped(const struct first *f, int allowed)
{
    return f->failures > allowed ||
           (f->failures > 0 && (!f->promoted || strcmp(f->failed, f->promoted) != 0));
}

static bool is_listed(const struct waves_revision *list, size_t count, const char *workload)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].workload, workload) == 0)
            return true;
    return false;
}

/* The workloads of the first wave, each once. */
struct list {
    struct waves_revision *rows;
    size_t count;
    const char *waits, *stopped;
};

static void add(struct waves_work *w, const struct waves_canary *canary, struct list *list)
{
    const char *name = arena_printf(w->arena, "%s/%s", canary->namespace_, canary->name);

    if (canary->deleting || is_listed(list->rows, list->count, name) ||
        list->count == MAX_WORKLOADS)
        return;
    struct first f = look_at(w, canary);
    if (is_stopped(&f, w->plan->waves[0].max_failed) && !list->stopped)
        list->stopped = arena_printf(
            w->arena,
            "revision %s of %s has failed on cluster %s; all later waves are held until the first "
            "wave promotes another one, or the annotation " RELEASEPLAN_ACCEPT " names this one",
            f.failed, name, f.failed_on);
    if (f.waits && !list->waits)
        list->waits = f.waits;
    list->rows[list->count++] =
        (struct waves_revision){.workload = name, .hash = f.promoted ? f.promoted : ""};
}

/* Notes clusters of the first wave that are missing or unknown. */
static void look_at_clusters(struct waves_work *w, struct list *list)
{
    int clusters = 0;

    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        if (w->wave_of[i] != 0)
            continue;
        clusters++;
        if (!cluster->known && !list->waits)
            list->waits =
                arena_printf(w->arena, "cluster %s has not been reached yet", cluster->name);
    }
    if (clusters == 0)
        list->waits = "no cluster is in it";
}

/* One text for the revisions of all workloads; for a single workload, its revision. */
static const char *name_of(struct waves_work *w, const struct list *list)
{
    uint64_t hash = 0xcbf29ce484222325U;

    if (list->count == 1)
        return list->rows[0].hash;
    for (size_t i = 0; i < list->count; i++) {
        const char *text =
            arena_printf(w->arena, "%s=%s,", list->rows[i].workload, list->rows[i].hash);
        for (; *text; text++)
            hash = (hash ^ (unsigned char)*text) * 0x100000001b3U;
    }
    return arena_printf(w->arena, "%016llx", (unsigned long long)hash);
}

static size_t most_workloads(const struct waves_work *w)
{
    size_t count = 0;

    for (size_t i = 0; i < w->facts->n_clusters; i++)
        count += w->wave_of[i] == 0 ? w->facts->clusters[i].n_canaries : 0;
    return count;
}

bool waves_first(struct waves_work *w)
{
    const char *wave = w->plan->waves[0].name;
    struct list list = {
        .rows = arena_array(w->arena, most_workloads(w), sizeof(*list.rows)),
    };

    for (size_t i = 0; i < w->facts->n_clusters; i++)
        for (size_t j = 0; w->wave_of[i] == 0 && j < w->facts->clusters[i].n_canaries; j++)
            add(w, &w->facts->clusters[i].canaries[j], &list);
    look_at_clusters(w, &list);
    if (list.count == 0 && !list.waits)
        list.waits = "it has no Canary of this plan";
    if (list.stopped)
        waves_tell(w, WAVES_Stopped, list.stopped);
    else if (list.waits)
        waves_tell(w, WAVES_Releasing, arena_printf(w->arena, "wave %s: %s", wave, list.waits));
    if (list.stopped || list.waits)
        return false;
    w->out->status.revisions = list.rows;
    w->out->status.n_revisions = list.count;
    w->out->status.revision = name_of(w, &list);
    return true;
}

/*
 * --- the train: Applications that are released in order under one verdict
 *
 * In each wave, an Application's Canaries are let go after those of all earlier Applications have
 * promoted the revision of the first wave. A wave is over when all have promoted it, so a later
 * wave receives only what was complete in the previous one.
 *
 * In the first wave no Canary is held while it rests, so that a delivery is noticed. While an
 * earlier Application is being released there or has failed, Canaries of later ones are held, even
 * if they have started but have no requests yet.
 */

static void find_open(struct waves_work *w, int wave)
{
    for (size_t i = 0; wave >= 0 && i < w->facts->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        if (w->wave_of[i] != wave)
            continue;
        /* Its Canaries are unknown. */
        if (!cluster->known)
            w->order_open = 0;
        for (size_t j = 0; j < cluster->n_canaries; j++) {
            const struct waves_canary *canary = &cluster->canaries[j];
            bool accepted = waves_has_failed(w, canary) && waves_is_accepted(w, canary);
            if (!canary->deleting && !accepted && !waves_has_promoted(w, canary) &&
                canary->order < w->order_open)
                w->order_open = canary->order;
        }
    }
}

/* True if it is releasing something, or has failed and no user has accepted that. */
static bool is_unsettled(const struct waves_work *w, const struct waves_canary *canary)
{
    bool failed = canary->phase == PHASE_Failed && strcmp(canary->applied, canary->promoted) != 0;

    return !canary->deleting &&
           (waves_is_under_way(canary) || (failed && !waves_is_accepted(w, canary)));
}

static void find_first(struct waves_work *w)
{
    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        for (size_t j = 0; w->wave_of[i] == 0 && j < cluster->n_canaries; j++) {
            const struct waves_canary *canary = &cluster->canaries[j];
            if (canary->order < w->order_first && is_unsettled(w, canary))
                w->order_first = canary->order;
        }
    }
}

void waves_couple(struct waves_work *w, int open)
{
    if (w->plan->n_train == 0)
        return;
    find_open(w, open);
    find_first(w);
}

int waves_train_waits(const struct waves_work *w, int wave, const struct waves_canary *canary)
{
    int first = wave == 0 ? w->order_first : w->order_open;

    return first < canary->order ? first : -1;
}
