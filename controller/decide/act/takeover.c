#include "decide/act/takeover.h"

#include <string.h>

#include "decide/release/status.h"

const char *takeover_primary_hash(struct release *r)
{
    return r->target->primary_hash ? r->target->primary_hash(r->tick, &r->info) : "";
}

/* In the middle of a release these changes are refused (act/move.c). At another time the new
 * objects are there by now, and whether the old ones are still needed is not ours to judge. */
void takeover_note_names(struct release *r)
{
    const struct canary_status *status = &r->canary->status;
    const char *name = status->service_name;

    if (name && strcmp(name, r->canary->service.name) != 0) {
        release_say(r,
                    "spec.service.name: changed from %s to %s; the Services %s, %s-primary and "
                    "%s-canary and the routes of that name stay, delete them when nobody uses them",
                    name, r->canary->service.name, name, name, name);
        status_text(r, "serviceName", r->canary->service.name);
    }
    if (status->provider && strcmp(status->provider, r->tick->provider) != 0) {
        release_say(r,
                    "spec.provider: changed from %s to %s; the routes of %s stay, delete them when "
                    "nobody uses them",
                    status->provider, r->tick->provider, status->provider);
        status_text(r, "provider", r->tick->provider);
    }
}
