#include "members/gauges.h"

#include "base/expo.h"
#include "members/app.h"

static const struct members *watched;

static void tell_clusters(struct expo_telling *telling)
{
    struct members_look look;

    if (!watched)
        return;
    members_look(watched, &look);
    for (int i = 0; i < MEMBER_STATES; i++)
        expo_tell(telling, look.of[i], member_state_name((enum member_state)i));
}

static void tell_places(struct expo_telling *telling)
{
    int of[REPORT_STATES] = {0};
    const struct app *app;

    if (!watched)
        return;
    for (size_t i = 0; (app = members_next_app(watched, &i));)
        for (struct place *place = NULL; (place = app_next_place(app, place));) {
            struct report_row row;
            place_report(place, &row);
            of[row.state]++;
        }
    for (int i = 0; i < REPORT_STATES; i++)
        expo_tell(telling, of[i], report_state_name((enum report_state)i));
}

static void tell_canaries(struct expo_telling *telling)
{
    struct members_look look;

    if (!watched)
        return;
    members_look(watched, &look);
    expo_tell(telling, (double)look.canaries);
}

static struct expo_metric clusters = {.name = "flagger_fleet_clusters",
                                      .help = "Member clusters, by the state of the connection",
                                      .type = EXPO_GAUGE,
                                      .labels = {"state"},
                                      .tell = tell_clusters};
static struct expo_metric places = {
    .name = "flagger_fleet_rollouts",
    .help = "Rollouts of Applications on a cluster, by how they stand, as status.clusters has it",
    .type = EXPO_GAUGE,
    .labels = {"state"},
    .tell = tell_places};
static struct expo_metric canaries = {.name = "flagger_fleet_canaries",
                                      .help = "Canaries of member clusters that are watched",
                                      .type = EXPO_GAUGE,
                                      .tell = tell_canaries};

void gauges_watch(const struct members *members)
{
    watched = members;
    if (!members)
        return;
    expo_register(&clusters);
    expo_register(&places);
    expo_register(&canaries);
}
