#include "ctl/release_plan.h"

#include <string.h>

#include "base/clock.h"
#include "ctl/glance.h"
#include "ctl/tree.h"

enum { COUNTS = 5 };
static const char *const counted[COUNTS] = {"canaries", "promoted", "underWay", "failed", "held"};

static const char *text_at(struct json_object *json, const char *key)
{
    const char *text = json_str_at(json, key, NULL);

    return text ? text : "";
}

bool release_plan_means(struct json_object *plan, const char *name)
{
    struct json_object *train = json_at(plan, "spec", "train", NULL);
    const char *application = json_str_at(plan, "spec", "application", NULL);
    bool means = strcmp(text_at(json_at(plan, "metadata", NULL), "name"), name) == 0 ||
                 (application && strcmp(application, name) == 0);

    for (size_t i = 0; i < json_len(train); i++) {
        const char *car = json_object_get_string(json_elem(train, i));
        means = means || (car && strcmp(car, name) == 0);
    }
    return means;
}

bool release_plan_is_known(struct json_object *plan)
{
    return json_int_at(plan, -1, "status", "observedGeneration", NULL) >=
           json_int_at(plan, 0, "metadata", "generation", NULL);
}

/* --- for people */

/* "8 Canaries, 5 have the revision, 1 is released, 1 has failed, 2 are held" */
static const char *counts_text(struct arena *arena, const int64_t counts[COUNTS])
{
    static const char *const rows[COUNTS][2] = {{"Canary", "Canaries"},
                                                {"has the revision", "have the revision"},
                                                {"is being released", "are being released"},
                                                {"has failed", "have failed"},
                                                {"is held", "are held"}};
    const char *text = "";

    for (int i = 0; i < COUNTS; i++)
        if (i == 0 || counts[i] > 0)
            text = arena_printf(arena, "%s%s%lld %s", text, i > 0 ? ", " : "", (long long)counts[i],
                                rows[i][counts[i] != 1]);
    return text;
}

static void count(struct json_object *wave, int64_t counts[COUNTS])
{
    for (int i = 0; i < COUNTS; i++)
        counts[i] += json_int_at(wave, 0, counted[i], NULL);
}

static enum print_color phase_color(const char *phase)
{
    if (strcmp(phase, "Stopped") == 0)
        return PRINT_RED;
    return strcmp(phase, "Completed") == 0 ? PRINT_GREEN : PRINT_YELLOW;
}

/* What is told beside the phase: that it is late. */
static void print_conditions(struct tree *tree, struct json_object *conditions)
{
    for (size_t i = 0; i < json_len(conditions); i++) {
        struct json_object *row = json_elem(conditions, i);
        if (strcmp(text_at(row, "type"), "Late") == 0 &&
            strcmp(text_at(row, "status"), "True") == 0)
            (void)tree_add(tree, NULL, PRINT_YELLOW, "Late: the deadline of the wave has passed");
    }
}

static const char *cluster_text(struct ctl *ctl, struct json_object *row)
{
    const char *phase = json_str_at(row, "phase", NULL), *says = text_at(row, "says");
    const char *revision = json_str_at(row, "revision", NULL);
    const char *last = json_str_at(row, "lastContact", NULL);
    int64_t weight = json_int_at(row, 0, "weight", NULL);
    const char *text = phase ? phase : "Unknown";

    if (weight > 0)
        text = arena_printf(ctl->arena, "%s %lld%%", text, (long long)weight);
    if (revision && !strstr(says, revision))
        text = arena_printf(ctl->arena, "%s, revision %s", text, revision);
    text = arena_printf(ctl->arena, "%s: %s", text, says);
    return last ? arena_printf(ctl->arena, "%s, last contact %s ago", text,
                               print_age(ctl->arena, last, clock_wall_ms()))
                : text;
}

static void print_clusters(struct ctl *ctl, struct tree *line, struct json_object *status,
                           const char *wave)
{
    struct json_object *clusters = json_at(status, "clusters", NULL);

    for (size_t i = 0; i < json_len(clusters); i++) {
        struct json_object *row = json_elem(clusters, i);
        bool lost = strcmp(text_at(row, "state"), "Unreachable") == 0 ||
                    json_str_at(row, "lastContact", NULL) != NULL;
        if (strcmp(text_at(row, "wave"), wave) == 0)
            (void)tree_add(line, text_at(row, "name"),
                           lost ? PRINT_RED : glance_color(text_at(row, "phase")),
                           cluster_text(ctl, row));
    }
}

static const char *wave_text(struct ctl *ctl, struct json_object *wave)
{
    const char *state = "waits for the waves before it", *since = NULL;
    int64_t counts[COUNTS] = {0};

    if (json_bool_at(wave, false, "passed", NULL))
        state = "is over";
    else if ((since = json_str_at(wave, "completed", NULL)) != NULL)
        state = "has the revision";
    else if ((since = json_str_at(wave, "began", NULL)) != NULL)
        state = "is open";
    count(wave, counts);
    return arena_printf(ctl->arena, "wave %s %s%s%s: %s", text_at(wave, "name"), state,
                        since ? ", since " : "",
                        since ? print_age(ctl->arena, since, clock_wall_ms()) : "",
                        counts_text(ctl->arena, counts));
}

static bool has_outsiders(struct json_object *clusters)
{
    for (size_t i = 0; i < json_len(clusters); i++)
        if (!json_str_at(json_elem(clusters, i), "wave", NULL))
            return true;
    return false;
}

static void print_waves(struct ctl *ctl, struct tree *tree, struct json_object *status)
{
    struct json_object *waves = json_at(status, "waves", NULL);

    for (size_t i = 0; i < json_len(waves); i++) {
        struct json_object *wave = json_elem(waves, i);
        struct tree *line = tree_add(tree, NULL, PRINT_BOLD, wave_text(ctl, wave));
        print_clusters(ctl, line, status, text_at(wave, "name"));
    }
    if (has_outsiders(json_at(status, "clusters", NULL)))
        print_clusters(ctl, tree_add(tree, NULL, PRINT_YELLOW, "in no wave"), status, "");
}

void release_plan_print(struct ctl *ctl, struct json_object *plan)
{
    struct json_object *status = json_at(plan, "status", NULL);
    struct json_object *metadata = json_at(plan, "metadata", NULL);
    struct json_object *waves = json_at(status, "waves", NULL);
    const char *phase = text_at(status, "phase"), *revision = text_at(status, "revision");
    struct tree *tree =
        tree_new(ctl, arena_printf(ctl->arena, "ReleasePlan %s/%s", text_at(metadata, "namespace"),
                                   text_at(metadata, "name")));
    int64_t counts[COUNTS] = {0};

    if (!*phase) {
        (void)tree_add(tree, NULL, PRINT_RED,
                       "no controller has looked at it yet: flagger-controller fleet does");
        tree_print(tree);
        return;
    }
    for (size_t i = 0; i < json_len(waves); i++)
        count(json_elem(waves, i), counts);
    (void)tree_add(tree, NULL, PRINT_BOLD,
                   arena_printf(ctl->arena, "%s%s%s: %s", phase, *revision ? ", revision " : "",
                                revision, counts_text(ctl->arena, counts)));
    (void)tree_add(tree, NULL, phase_color(phase), text_at(status, "message"));
    print_conditions(tree, json_at(status, "conditions", NULL));
    if (!release_plan_is_known(plan))
        (void)tree_add(tree, NULL, PRINT_YELLOW, "this is of the spec before its last change");
    print_waves(ctl, tree, status);
    tree_print(tree);
}

/* --- for programs */

struct json_object *release_plan_data(struct ctl *ctl, struct json_object *plan)
{
    struct json_object *out = json_own(ctl->arena, json_object_new_object());
    struct json_object *status = json_at(plan, "status", NULL);

    json_set_str(out, "namespace", json_str_at(plan, "metadata", "namespace", NULL));
    json_set_str(out, "name", json_str_at(plan, "metadata", "name", NULL));
    if (status)
        json_set(out, "status", status);
    return out;
}
