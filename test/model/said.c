#include "said.h"

#include <stdio.h>
#include <string.h>

static struct json_object *tree_at(struct model *model, const struct cluster *cluster, int place)
{
    return objects_tree(model->objects, place, cluster->at[place]);
}

static bool is_labelled(struct model *model, const struct canary *canary,
                        const struct cluster *cluster)
{
    static const enum role labelled[] = {ROLE_APEX, ROLE_ROUTE};
    bool wanted = json_at(canary->service.apex, "labels", "team", NULL) != NULL;

    for (int i = 0; i < 2; i++) {
        if (cluster->at[model->place[labelled[i]]] != ABSENT &&
            model_look(model, cluster, labelled[i])->labelled != wanted)
            return false;
    }
    return true;
}

/* Of the Services that we make. */
static bool has_ports(struct model *model, const struct canary *canary,
                      const struct cluster *cluster)
{
    static const char *const services[] = {"services/podinfo", "services/podinfo-primary",
                                           "services/podinfo-canary"};

    for (int i = 0; i < 3; i++) {
        struct json_object *service =
            tree_at(model, cluster, objects_place(model->objects, services[i]));
        struct json_object *ports = json_at(service, "spec", "ports", NULL);
        if (service && (json_len(ports) != 1 ||
                        json_int_at(json_elem(ports, 0), 0, "port", NULL) != canary->service.port))
            return false;
    }
    return true;
}

/* The route's backends, and no cookie that nobody asks for. */
static const char *wrong_route(struct model *model, const struct canary *canary,
                               const struct cluster *cluster)
{
    struct json_object *route = tree_at(model, cluster, model->place[ROLE_ROUTE]);
    struct json_object *rules = json_at(route, "spec", "rules", NULL);
    bool sticky = json_at(canary->json, "spec", "analysis", "sessionAffinity", NULL) != NULL;

    if (route && !sticky && strstr(json_object_to_json_string(route), "ookie"))
        return "at the end, clients get no cookie that the spec does not give";
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
        for (size_t j = 0; j < json_len(backends); j++) {
            if (json_int_at(json_elem(backends, j), 0, "port", NULL) != canary->service.port)
                return "at the end, routes lead to the port that the spec gives";
        }
    }
    return NULL;
}

const char *said_wrong(struct model *model, const struct canary *canary,
                       const struct cluster *cluster)
{
    bool ours = !model->kind->named && !model->kind->copied;

    if (!is_labelled(model, canary, cluster))
        return "at the end, objects have just the labels that the spec gives";
    if (!canary->autoscaler.name && cluster->at[model->place[ROLE_SCALER_COPY]] != ABSENT)
        return "at the end, there is no copy of an autoscaler that the spec does not name";
    if (ours && !has_ports(model, canary, cluster))
        return "at the end, Services have just the port that the spec gives";
    return ours ? wrong_route(model, canary, cluster) : NULL;
}

/* One of these conditions is False; "": any but the one that says how the release stands. */
static bool is_false(const struct canary *canary, const char *types)
{
    struct json_object *conditions = json_at(canary->status.json, "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *status = json_str_at(json_elem(conditions, i), "status", NULL);
        bool meant = type && (*types ? strstr(types, type) != NULL : strcmp(type, "Promoted") != 0);
        if (meant && status && strcmp(status, "False") == 0)
            return true;
    }
    return false;
}

bool said_initialising(const struct canary *canary)
{
    return canary->status.phase == PHASE_NONE || canary->status.phase == PHASE_Initializing;
}

bool said_analysing(const struct canary *canary)
{
    return canary->status.phase == PHASE_Progressing ||
           canary->status.phase == PHASE_WaitingPromotion;
}

bool said_holds(const struct canary *canary)
{
    return is_false(canary, "PrimaryReady RoutesSettled");
}

bool said_impossible(const struct canary *canary)
{
    return is_false(canary, "SharePossible");
}

bool said_scheduled(const struct canary *canary)
{
    return canary->pushes.n_windows > 0 && is_false(canary, "Scheduled");
}

bool said_why(const struct canary *canary)
{
    enum phase phase = canary->status.phase;

    return is_false(canary, "") || phase == PHASE_Waiting || phase == PHASE_WaitingPromotion;
}

struct json_object *said_condition(const struct canary *canary, const char *type)
{
    struct json_object *conditions =
        canary ? json_at(canary->status.json, "conditions", NULL) : NULL;

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *found = json_str_at(json_elem(conditions, i), "type", NULL);
        if (found && strcmp(found, type) == 0)
            return json_elem(conditions, i);
    }
    return NULL;
}

bool said_stalled(const struct canary *canary)
{
    return said_condition(canary, "Advancing") != NULL;
}

bool said_late(const struct canary *canary)
{
    const char *began = json_str_at(canary->status.json, "release", "analysisBegan", NULL);

    return canary->analysis.max_duration_ms > 0 && !canary->skip_analysis &&
           said_analysing(canary) && began && strcmp(began, ticks_now) != 0;
}

bool said_drains(const struct canary *canary)
{
    return said_condition(canary, "Drained") != NULL;
}

bool said_refused(const struct canary *canary)
{
    return said_condition(canary, "WritesAccepted") != NULL;
}
