#include "gate/rules/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/table.h"

/* What of an entry tells its things apart, and what else the table must say. */
struct kind {
    const char *called;
    const char *const identity[4];
    const char *const rest[12];
};

static const struct kind kinds[REPLAY_THINGS] = {
    [REPLAY_PASS] = {"pass", {"hook", "revision"}, {"expires", "who", "reason"}},
    [REPLAY_VOTE] = {"approval", {"hook", "revision", "who"}, {"expires", "reason"}},
    [REPLAY_POLICY] = {"policy", {NULL}, {"quorum", "approvers", "deadlineMs", "onDeadline"}},
    [REPLAY_FREEZE] = {"freeze",
                       {"freeze"},
                       {"namespace", "name", "from", "until", "weeklyFrom", "weeklyUntil", "zone",
                        "who", "reason"}},
    [REPLAY_LINK] = {"link", {"link"}, {NULL}},
};

/* Something that is so, since an entry said so. */
struct claim {
    struct claim *next, **link; /* of its place */
    const char *place;          /* borrowed from it */
    char *identity;
    char *text; /* the entry's */
    int64_t seq;
    enum replay_thing thing;
    bool seen; /* the tables say it too */
    bool used; /* a link */
};

/* A gate; all freezes and links are in one, without a name. */
struct place {
    char *name;
    struct claim *claims[REPLAY_THINGS];
};

struct replay {
    struct table places, claims;
    struct arena *scratch;
};

/* --- texts */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool is_empty(struct json_object *value)
{
    return !value ||
           (json_object_is_type(value, json_type_string) && json_object_get_string_len(value) == 0);
}

/* As JSON, so that nothing in one can be taken for the next. */
static const char *joined(struct arena *arena, struct json_object *object, const char *const *keys)
{
    const char *text = "";

    for (; *keys; keys++) {
        struct json_object *value = json_at(object, *keys, NULL);
        text = arena_printf(arena, "%s%s ", text, value ? json_text(arena, value) : "\"\"");
    }
    return text;
}

static const char *place_of(struct arena *arena, struct json_object *object)
{
    static const char *const keys[] = {"kind", "namespace", "name", NULL};

    bool of_none = json_at(object, "freeze", NULL) || json_at(object, "link", NULL);
    return of_none ? "" : joined(arena, object, keys);
}

static const char *identity_of(struct arena *arena, enum replay_thing thing,
                               struct json_object *object)
{
    return arena_printf(arena, "%s %s", kinds[thing].called,
                        joined(arena, object, kinds[thing].identity));
}

static const char *name_of(struct arena *arena, struct json_object *object)
{
    const char *kind = json_str_at(object, "kind", NULL);
    const char *namespace_ = or_empty(json_str_at(object, "namespace", NULL));
    const char *name = or_empty(json_str_at(object, "name", NULL));

    if (!kind)
        return arena_printf(arena, "freeze %" PRId64, json_int_at(object, 0, "freeze", NULL));
    return arena_printf(arena, "%s %s.%s", kind, name, namespace_);
}

const char *replay_where(struct arena *arena, int64_t seq, struct json_object *entry)
{
    const char *at = json_str_at(entry, "at", NULL);

    if (!at || !json_at(entry, "action", NULL))
        return arena_printf(arena, "entry %" PRId64, seq);
    return arena_printf(arena, "entry %" PRId64 " (%s, %s)", seq, at, name_of(arena, entry));
}

/* "pass of gate podinfo.test for hook promote and revision 85d557f47b" */
static const char *describe(struct arena *arena, enum replay_thing thing, struct json_object *row)
{
    const char *hook = or_empty(json_str_at(row, "hook", NULL));
    const char *revision = or_empty(json_str_at(row, "revision", NULL));
    const char *name = name_of(arena, row);

    if (thing == REPLAY_FREEZE)
        return name;
    name = arena_printf(arena, "%s of %s", kinds[thing].called, name);
    if (thing == REPLAY_POLICY)
        return name;
    name = arena_printf(arena, "%s for %s%s and %s%s", name, *hook ? "hook " : "every hook", hook,
                        *revision ? "revision " : "every revision", revision);
    if (thing == REPLAY_VOTE)
        name = arena_printf(arena, "%s by %s", name, or_empty(json_str_at(row, "who", NULL)));
    return name;
}

/* --- what is so */

static void place_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct place *)item)->name;
    *second = "";
}

static void claim_key(const void *item, const char **first, const char **second)
{
    const struct claim *claim = item;

    *first = claim->place;
    *second = claim->identity;
}

struct replay *replay_new(void)
{
    struct replay *replay = heap_alloc(sizeof(*replay));

    *replay = (struct replay){.scratch = arena_new()};
    table_init(&replay->places, place_key);
    table_init(&replay->claims, claim_key);
    return replay;
}

static void claim_free(struct claim *claim)
{
    *claim->link = claim->next;
    if (claim->next)
        claim->next->link = claim->link;
    free(claim->identity);
    free(claim->text);
    free(claim);
}

static void drop(struct replay *replay, struct claim *claim)
{
    table_take(&replay->claims, claim->place, claim->identity);
    claim_free(claim);
}

void replay_free(struct replay *replay)
{
    struct place *place;

    if (!replay)
        return;
    for (size_t i = 0; (place = table_next(&replay->places, &i));) {
        for (int thing = 0; thing < REPLAY_THINGS; thing++) {
            while (place->claims[thing])
                claim_free(place->claims[thing]);
        }
        free(place->name);
        free(place);
    }
    table_fini(&replay->claims);
    table_fini(&replay->places);
    arena_free(replay->scratch);
    free(replay);
}

static struct place *place_get(struct replay *replay, struct json_object *entry)
{
    const char *name = place_of(replay->scratch, entry);
    struct place *place = table_get(&replay->places, name, "");

    if (!place) {
        place = heap_alloc(sizeof(*place));
        *place = (struct place){.name = heap_strdup(name)};
        table_put(&replay->places, place);
    }
    return place;
}

/* The entry makes this, or takes the place of what made it before. */
static void put(struct replay *replay, struct place *place, enum replay_thing thing, int64_t seq,
                struct json_object *entry, const char *text)
{
    const char *identity = identity_of(replay->scratch, thing, entry);
    struct claim *claim = table_get(&replay->claims, place->name, identity);

    if (claim)
        drop(replay, claim);
    claim = heap_alloc(sizeof(*claim));
    *claim = (struct claim){.next = place->claims[thing],
                            .link = &place->claims[thing],
                            .place = place->name,
                            .identity = heap_strdup(identity),
                            .text = heap_strdup(text),
                            .seq = seq,
                            .thing = thing};
    if (claim->next)
        claim->next->link = &claim->next;
    place->claims[thing] = claim;
    table_put(&replay->claims, claim);
}

static void take(struct replay *replay, struct place *place, enum replay_thing thing,
                 struct json_object *entry)
{
    struct claim *claim =
        table_get(&replay->claims, place->name, identity_of(replay->scratch, thing, entry));

    if (claim)
        drop(replay, claim);
}

/* Every thing whose identity has the entry's values of these keys. */
static void take_all(struct replay *replay, struct place *place, enum replay_thing thing,
                     struct json_object *entry, const char *const *keys)
{
    const char *start = arena_printf(replay->scratch, "%s %s", kinds[thing].called,
                                     joined(replay->scratch, entry, keys));

    for (struct claim *claim = place->claims[thing], *next; claim; claim = next) {
        next = claim->next;
        if (strncmp(claim->identity, start, strlen(start)) == 0)
            drop(replay, claim);
    }
}

/* --- the entries */

static const char *const of_gate[] = {NULL};
static const char *const of_hook[] = {"hook", NULL};
static const char *const of_revision[] = {"hook", "revision", NULL};

/* "link ID" in `via`: it must not be good for a second time. */
static void use_link(struct replay *replay, struct json_object *entry)
{
    static const char before[] = "link ";
    const char *via = or_empty(json_str_at(entry, "via", NULL));
    struct json_object *link = json_own(replay->scratch, json_object_new_object());

    if (strncmp(via, before, strlen(before)) != 0)
        return;
    json_set_str(link, "link", via + strlen(before));
    struct claim *claim =
        table_get(&replay->claims, "", identity_of(replay->scratch, REPLAY_LINK, link));
    if (claim)
        claim->used = true;
}

static void on_close(struct replay *replay, struct place *place, struct json_object *entry)
{
    const char *const *keys = is_empty(json_at(entry, "hook", NULL)) ? of_gate : of_hook;

    take_all(replay, place, REPLAY_PASS, entry, keys);
    take_all(replay, place, REPLAY_VOTE, entry, keys);
}

/* The release that it was given for has ended. */
static void on_end(struct replay *replay, struct place *place, struct json_object *entry)
{
    bool votes = json_at(entry, "votes", NULL) != NULL;

    take_all(replay, place, votes ? REPLAY_VOTE : REPLAY_PASS, entry, of_revision);
}

bool replay_entry(struct replay *replay, int64_t seq, struct json_object *entry, const char *text)
{
    const char *action = or_empty(json_str_at(entry, "action", NULL));

    arena_reset(replay->scratch);
    struct place *place = place_get(replay, entry);
    use_link(replay, entry);
    if (strcmp(action, "open") == 0) {
        /* With a quorum, the approvals have become it. */
        if (json_at(entry, "approvers", NULL))
            take_all(replay, place, REPLAY_VOTE, entry, of_revision);
        put(replay, place, REPLAY_PASS, seq, entry, text);
    } else if (strcmp(action, "approve") == 0) {
        put(replay, place, REPLAY_VOTE, seq, entry, text);
    } else if (strcmp(action, "close") == 0) {
        on_close(replay, place, entry);
    } else if (strcmp(action, "end") == 0) {
        on_end(replay, place, entry);
    } else if (strcmp(action, "policy") == 0 && json_at(entry, "approvers", NULL)) {
        put(replay, place, REPLAY_POLICY, seq, entry, text);
    } else if (strcmp(action, "policy") == 0) {
        take(replay, place, REPLAY_POLICY, entry);
    } else if (strcmp(action, "freeze") == 0) {
        put(replay, place, REPLAY_FREEZE, seq, entry, text);
    } else if (strcmp(action, "unfreeze") == 0) {
        take(replay, place, REPLAY_FREEZE, entry);
    } else if (strcmp(action, "link") == 0) {
        put(replay, place, REPLAY_LINK, seq, entry, text);
    } else {
        return false;
    }
    return true;
}

/* --- the tables */

static struct json_object *entry_of(struct arena *arena, const struct claim *claim)
{
    struct json_object *entry = NULL;

    /* it was read before */
    return json_parse(arena, claim->text, strlen(claim->text), JSON_MAX_BYTES, &entry, NULL) ==
                   ERR_OK
               ? entry
               : NULL;
}

/* The row's time is the beginning of the transaction that wrote the entry. */
static bool is_of_one_time(struct json_object *row, struct json_object *entry)
{
    enum { LONGEST_MS = 60 * 1000 };
    const char *one = json_str_at(row, "at", NULL), *other = json_str_at(entry, "at", NULL);
    int64_t row_ms, entry_ms;

    return one && other && clock_parse(one, &row_ms, NULL) == ERR_OK &&
           clock_parse(other, &entry_ms, NULL) == ERR_OK &&
           llabs((long long)(row_ms - entry_ms)) <= LONGEST_MS;
}

static void compare(struct arena *arena, struct findings *findings, const struct claim *claim,
                    struct json_object *row)
{
    struct json_object *entry = entry_of(arena, claim);
    const char *what = describe(arena, claim->thing, row);
    const char *where = replay_where(arena, claim->seq, entry);

    for (const char *const *key = kinds[claim->thing].rest; *key; key++) {
        struct json_object *is = json_at(row, *key, NULL), *was = json_at(entry, *key, NULL);
        if (!json_same(is, was) && !(is_empty(is) && is_empty(was)))
            findings_add(findings, "%s: its %s is %s, but %s says %s", what, *key,
                         is ? json_text(arena, is) : "none", where,
                         was ? json_text(arena, was) : "none");
    }
    /* a vote counts for a day */
    if (claim->thing == REPLAY_VOTE && !is_of_one_time(row, entry))
        findings_add(findings, "%s: its time is %s, but that is not the time of %s", what,
                     or_empty(json_str_at(row, "at", NULL)), where);
}

void replay_row(struct replay *replay, struct findings *findings, enum replay_thing thing,
                struct json_object *row)
{
    struct arena *arena = replay->scratch;

    arena_reset(arena);
    struct claim *claim =
        table_get(&replay->claims, place_of(arena, row), identity_of(arena, thing, row));
    if (!claim && thing == REPLAY_LINK)
        return;
    if (!claim) {
        findings_add(findings, "%s: it is there, but the history says that it is not",
                     describe(arena, thing, row));
        return;
    }
    claim->seen = true;
    compare(arena, findings, claim, row);
}

static bool has_expired(const struct claim *claim, struct json_object *entry, const char *now,
                        const char *day_ago)
{
    static const char *const ends[REPLAY_THINGS] = {[REPLAY_PASS] = "expires",
                                                    [REPLAY_VOTE] = "at",
                                                    [REPLAY_FREEZE] = "until",
                                                    [REPLAY_LINK] = "expires"};
    const char *end = ends[claim->thing] ? json_str_at(entry, ends[claim->thing], NULL) : NULL;

    /* Times of the history are all of one form, so that the later text is the later time. */
    return end && strcmp(end, claim->thing == REPLAY_VOTE ? day_ago : now) <= 0;
}

void replay_end(struct replay *replay, struct findings *findings, const char *now,
                const char *day_ago)
{
    const struct claim *claim;

    for (size_t i = 0; (claim = table_next(&replay->claims, &i));) {
        arena_reset(replay->scratch);
        struct json_object *entry = entry_of(replay->scratch, claim);
        if (claim->seen || has_expired(claim, entry, now, day_ago))
            continue;
        if (claim->thing == REPLAY_LINK && claim->used)
            findings_add(findings, "%s: the link was used, and could be used again",
                         replay_where(replay->scratch, claim->seq, entry));
        else if (claim->thing != REPLAY_LINK)
            findings_add(findings, "%s: the %s is gone, though nobody took it away",
                         replay_where(replay->scratch, claim->seq, entry),
                         describe(replay->scratch, claim->thing, entry));
    }
}
