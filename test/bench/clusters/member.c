#include "clusters/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char held_by[] = "flagger.app/held-by", manager[] = "flagger.app/held-by-manager";

void member_init(struct member *member, int number, int canaries)
{
    *member = (struct member){.number = number, .version = 1000, .count = canaries};
    member->canaries = calloc((size_t)canaries, sizeof(*member->canaries));
    if (!member->canaries)
        abort();
    for (int i = 0; i < canaries; i++)
        member->canaries[i].version = member->version;
}

void member_fini(struct member *member)
{
    for (int i = 0; i < member->count; i++) {
        free(member->canaries[i].holder);
        free(member->canaries[i].manager);
    }
    free(member->canaries);
}

int member_find(const struct member *member, const char *name)
{
    char *end;
    long number = strncmp(name, "app-", 4) == 0 ? strtol(name + 4, &end, 10) : -1;

    return number >= 0 && *end == '\0' && number < member->count ? (int)number : -1;
}

/* As one stands that Flagger has promoted, some 2.5 KB. */
static const char spec[] =
    "\"provider\":\"istio\",\"targetRef\":{\"apiVersion\":\"apps/"
    "v1\",\"kind\":\"Deployment\",\"name\":"
    "\"app-%d\"},\"progressDeadlineSeconds\":60,\"service\":{\"port\":80,\"targetPort\":9898,"
    "\"gateways\":[\"istio-system/public\"],\"hosts\":[\"app-%d.example.com\"],\"retries\":{"
    "\"attempts\":3,\"perTryTimeout\":\"1s\",\"retryOn\":\"gateway-error,connect-failure\"}},"
    "\"analysis\":{\"interval\":\"1m\",\"threshold\":5,\"maxWeight\":50,\"stepWeight\":10,"
    "\"metrics\":[{\"name\":\"request-success-rate\",\"thresholdRange\":{\"min\":99},\"interval\":"
    "\"1m\"},{\"name\":\"request-duration\",\"thresholdRange\":{\"max\":500},\"interval\":\"30s\"}]"
    ","
    "\"webhooks\":[{\"name\":\"acceptance\",\"type\":\"pre-rollout\",\"url\":"
    "\"http://flagger-loadtester.test/"
    "\",\"timeout\":\"30s\",\"metadata\":{\"type\":\"bash\",\"cmd\":"
    "\"curl -sd 'test' http://app-%d-canary/token | grep token\"}},{\"name\":\"load-test\",\"url\":"
    "\"http://flagger-loadtester.test/\",\"metadata\":{\"cmd\":"
    "\"hey -z 1m -q 10 -c 2 http://app-%d-canary.test/\"}}]}";

static const char status[] =
    "\"phase\":\"Succeeded\",\"canaryWeight\":0,\"failedChecks\":0,\"iterations\":0,"
    "\"lastAppliedSpec\":\"5d4f8b9c7f\",\"lastPromotedSpec\":\"5d4f8b9c7f\",\"lastTransitionTime\":"
    "\"2026-11-25T10:00:00Z\",\"trackedConfigs\":{},\"conditions\":[{\"type\":\"Promoted\","
    "\"status\":\"True\",\"reason\":\"Succeeded\",\"message\":\"Canary analysis completed "
    "successfully, promotion finished.\",\"lastTransitionTime\":\"2026-11-25T10:00:00Z\","
    "\"lastUpdateTime\":\"2026-11-25T10:00:00Z\"}]";

static void write_notes(const struct canary *canary, struct buf *out)
{
    buf_puts(out, ",\"annotations\":{");
    if (canary->holder)
        buf_printf(out, "\"%s\":\"%s\"", held_by, canary->holder);
    if (canary->manager)
        buf_printf(out, "%s\"%s\":\"%s\"", canary->holder ? "," : "", manager, canary->manager);
    buf_puts(out, "}");
}

void member_write(const struct member *member, int number, struct buf *out)
{
    const struct canary *canary = &member->canaries[number];

    buf_printf(out,
               "{\"apiVersion\":\"flagger.app/v1beta1\",\"kind\":\"Canary\",\"metadata\":{\"name\":"
               "\"app-%d\",\"namespace\":\"test\",\"uid\":\"%08x-0000-4000-8000-%012x\","
               "\"resourceVersion\":\"%u\",\"generation\":3,\"creationTimestamp\":"
               "\"2026-01-01T00:00:00Z\",\"labels\":{\"app\":\"app-%d\",\"team\":\"shop\"}",
               number, (unsigned)member->number, (unsigned)number, canary->version, number);
    if (canary->holder || canary->manager)
        write_notes(canary, out);
    buf_puts(out, "},\"spec\":{");
    if (canary->suspended)
        buf_puts(out, "\"suspend\":true,");
    buf_printf(out, spec, number, number, number, number);
    buf_printf(out, "},\"status\":{%s}}", status);
}

/* What a merge patch does to one text. */
static void take(char **text, struct json_object *notes, const char *key)
{
    struct json_object *value;

    if (!notes || !json_object_object_get_ex(notes, key, &value))
        return;
    free(*text);
    *text = value ? strdup(json_object_get_string(value)) : NULL;
}

bool member_patch(struct member *member, int number, struct json_object *patch)
{
    struct canary *canary = &member->canaries[number];
    struct json_object *notes = json_at(patch, "metadata", "annotations", NULL), *suspend;
    const char *version = json_str_at(patch, "metadata", "resourceVersion", NULL);

    if (version && strtoul(version, NULL, 10) != canary->version)
        return false;
    take(&canary->holder, notes, held_by);
    take(&canary->manager, notes, manager);
    if (json_object_object_get_ex(json_at(patch, "spec", NULL), "suspend", &suspend))
        canary->suspended = json_object_get_boolean(suspend);
    canary->version = ++member->version;
    return true;
}
