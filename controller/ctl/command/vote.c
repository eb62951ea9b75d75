/* approve and reject: vote at the gate at which a release waits. */
#include <string.h>

#include "base/file.h"
#include "ctl/facts.h"
#include "ctl/output.h"
#include "ctl/read.h"
#include "proto/canary.h"
#include "proto/spechash.h"

static struct {
    const char *why, *hook, *revision, *as_name, *gate, *token_file;
    bool insecure;
} opt;

static const struct option_row vote_rows[] = {
    OPTION(STRING, "why", &opt.why, .arg = "TEXT", .help = "the reason, for the gate's history"),
    OPTION(STRING, "hook", &opt.hook, .arg = "NAME",
           .help = "only at this webhook of the Canary; default at every one that waits"),
    OPTION(STRING, "revision", &opt.revision, .arg = "HASH",
           .help = "only this revision, or the checksum that the gate has of it; default the one "
                   "that waits"),
    OPTION(STRING, "as-name", &opt.as_name, .arg = "NAME",
           .help = "who you are; default who you are to the API server. A gate with tokens knows "
                   "by itself"),
    OPTION(STRING, "gate", &opt.gate, .arg = "URL",
           .help = "where the gate is; default where the Canary's webhooks ask, through the API "
                   "server if that is a Service"),
    OPTION(STRING, "gate-token-file", &opt.token_file, .arg = "FILE",
           .help = "file with the token that the gate knows you by; with --gate"),
    OPTION(BOOL, "gate-insecure", &opt.insecure,
           .help = "with --gate: believe any certificate that it shows"),
    {0}};

/* The subject of a vote. */
struct vote {
    struct ctl *ctl;
    struct json_object *canary;
    struct gate gate;
    struct json_object *state; /* the gate's response about the Canary */
    const char *who;
    struct canary view;
    bool viewed;          /* view could be read */
    const char *revision; /* checksum of the revision given by --revision, NULL: any */
    bool guessed;         /* ... as it will be if no config changes */
};

static enum err read_token(struct ctl *ctl, struct gate *gate, struct errinfo *ei)
{
    enum { MOST = 64 * 1024 };
    char *token = NULL;

    if (!opt.token_file)
        return ERR_OK;
    enum err err = file_read(ctl->arena, opt.token_file, MOST, &token, NULL, ei);
    if (err == ERR_OK)
        gate->token = arena_strndup(ctl->arena, token, strcspn(token, "\r\n"));
    return err;
}

static enum err open_gate(struct vote *vote, struct errinfo *ei)
{
    struct ctl *ctl = vote->ctl;

    if (!opt.gate)
        return gate_find(ctl, vote->canary, opt.hook, &vote->gate, ei);
    vote->gate = (struct gate){
        .url = arena_strndup(ctl->arena, opt.gate,
                             strlen(opt.gate) - (opt.gate[strlen(opt.gate) - 1] == '/')),
        .insecure = opt.insecure};
    return read_token(ctl, &vote->gate, ei);
}

/* --- the two names of a revision: its hash, which users see in the Canary, and its checksum */

static const char *checksum_of(const struct vote *vote, const char *hash)
{
    char *checksum = arena_alloc(vote->ctl->arena, SPECHASH_TEXT);

    spechash_checksum(vote->ctl->arena, vote->view.status.tracked_configs, hash, checksum);
    return checksum;
}

/* Finds the revision given by --revision. */
static void find_revision(struct vote *vote)
{
    const char *hash = vote->view.status.last_applied_spec;

    vote->revision = opt.revision;
    if (!vote->viewed || !opt.revision)
        return;
    if (hash && strcmp(opt.revision, hash) == 0) {
        vote->revision = checksum_of(vote, hash);
        return;
    }
    hash = revision_of_target(vote->ctl, vote->canary);
    vote->guessed = hash && strcmp(opt.revision, hash) == 0;
    if (vote->guessed)
        vote->revision = checksum_of(vote, hash);
}

/* The hash of the waiting revision, or the gate's name for it. */
static const char *hash_of(const struct vote *vote, const char *checksum)
{
    const char *hash = vote->view.status.last_applied_spec;

    if (!vote->viewed)
        return checksum;
    if (hash && strcmp(checksum_of(vote, hash), checksum) == 0)
        return hash;
    hash = revision_of_target(vote->ctl, vote->canary);
    return hash && strcmp(checksum_of(vote, hash), checksum) == 0 ? hash : checksum;
}

/* --- a user's vote */

/* False if it is not possible; *code is the exit code. */
static bool begin(struct ctl *ctl, struct vote *vote, int *code)
{
    struct errinfo ei = {0};
    enum err err = ERR_OK;

    *vote = (struct vote){.ctl = ctl};
    if (!opt.gate && (opt.token_file || opt.insecure)) {
        *code = ctl_fail(ctl, CTL_USAGE,
                         "--gate-token-file and --gate-insecure belong to --gate: "
                         "the API server passes no tokens on");
        return false;
    }
    *code = read_canary(ctl, ctl->args[0], &vote->canary);
    if (*code != CTL_DONE)
        return false;
    vote->viewed = canary_view(ctl->arena, vote->canary, &vote->view, NULL) == ERR_OK;
    find_revision(vote);
    err = open_gate(vote, &ei);
    if (err == ERR_OK && !vote->gate.token)
        err = person_name(ctl, opt.as_name, &vote->who, &ei);
    if (err == ERR_OK)
        err = gate_read(ctl, &vote->gate, ctl->namespace_, ctl->args[0], &vote->state, &ei);
    if (err == ERR_OK)
        return true;
    *code = ctl_fail(ctl, CTL_SERVER, "%s", ei.text);
    return false;
}

static struct json_object *body_of(const struct vote *vote, const char *kind, const char *revision,
                                   const char *hook)
{
    struct json_object *body = json_own(vote->ctl->arena, json_object_new_object());

    json_set_str(body, "kind", kind);
    json_set_str(body, "revision", revision);
    if (hook && *hook)
        json_set_str(body, "hook", hook);
    json_set_str(body, "reason", opt.why);
    json_set_str(body, "who", vote->who);
    return body;
}

static enum err say(const struct vote *vote, const char *verb, struct json_object *body,
                    struct json_object **out, struct errinfo *ei)
{
    struct ctl *ctl = vote->ctl;
    const char *path =
        arena_printf(ctl->arena, "/v1/gates/%s/%s/%s", url_encode(ctl->arena, ctl->namespace_),
                     url_encode(ctl->arena, ctl->args[0]), verb);

    return gate_call(ctl, &vote->gate, path, body, out, ei);
}

/* --- the waiting hooks */

struct wait {
    const char *revision, *hook;
};

/* The i-th wait at the gate that matches the flags; false if there are no more. */
static bool next_wait(const struct vote *vote, size_t *i, struct wait *out)
{
    struct json_object *waits = json_at(gate_of_kind(vote->state, "gate"), "waits", NULL);

    for (; *i < json_len(waits); (*i)++) {
        struct json_object *at = json_elem(waits, *i);
        *out = (struct wait){.revision = json_str_at(at, "revision", NULL),
                             .hook = json_str_at(at, "hook", NULL)};
        if (!out->revision || !*out->revision)
            continue;
        if (vote->revision && strcmp(vote->revision, out->revision) != 0)
            continue;
        if (opt.hook && out->hook && *out->hook && strcmp(opt.hook, out->hook) != 0)
            continue;
        ++*i;
        return true;
    }
    return false;
}

static void tell(const struct ctl *ctl, struct json_object *result, const char *text)
{
    if (ctl->output == CTL_TEXT)
        print_wrapped(ctl, "", text);
    else
        print_object(ctl, result);
}

/* "; 1 of 2 approvals" if a quorum is not reached yet. */
static const char *votes_text(const struct ctl *ctl, struct json_object *result)
{
    long long votes = json_int_at(result, 0, "votes", NULL);
    long long quorum = json_int_at(result, 1, "quorum", NULL);

    if (json_bool_at(result, true, "open", NULL))
        return "";
    if (quorum > 1)
        return arena_printf(ctl->arena, ": %lld of %lld approvals, so it still waits", votes,
                            quorum);
    return ", and it still waits";
}

static const char *frozen_text(const struct vote *vote)
{
    struct json_object *frozen = json_at(gate_of_kind(vote->state, "gate"), "frozen", NULL);
    const char *reason = json_str_at(frozen, "reason", NULL);
    const char *until = json_str_at(frozen, "until", NULL);

    if (!frozen)
        return "";
    return arena_printf(vote->ctl->arena, ". A freeze holds it%s%s: %s", until ? " until " : "",
                        until ? until : "", reason ? reason : "no reason is given");
}

static int approve(const struct vote *vote, const struct wait *wait)
{
    struct ctl *ctl = vote->ctl;
    struct json_object *result = NULL;
    struct errinfo ei = {0};
    enum err err =
        say(vote, "approve", body_of(vote, "gate", wait->revision, wait->hook), &result, &ei);

    if (err != ERR_OK)
        return ctl_fail(ctl, CTL_SERVER, "%s", ei.text);
    tell(ctl, result,
         arena_printf(ctl->arena, "Approved revision %s of %s%s%s%s%s%s.",
                      hash_of(vote, wait->revision), ctl->args[0],
                      wait->hook && *wait->hook ? " at " : "", wait->hook ? wait->hook : "",
                      vote->who ? arena_printf(ctl->arena, " as %s", vote->who) : "",
                      votes_text(ctl, result), frozen_text(vote)));
    return CTL_DONE;
}

/* Opens the gate of the Canary ctl->args[0] for what waits there. */
static int vote_yes(struct ctl *ctl)
{
    struct vote vote;
    struct wait wait;
    size_t i = 0, said = 0;
    int code;

    if (!begin(ctl, &vote, &code))
        return code;
    for (; next_wait(&vote, &i, &wait); said++) {
        code = approve(&vote, &wait);
        if (code != CTL_DONE)
            return code;
    }
    if (said > 0)
        return CTL_DONE;
    if (vote.revision && !vote.guessed) { /* before the hook is called */
        wait = (struct wait){.revision = vote.revision, .hook = opt.hook};
        return approve(&vote, &wait);
    }
    return ctl_fail(ctl, CTL_FAILED, "nothing of %s waits at the gate %s; %s why %s says what does",
                    ctl->args[0], vote.gate.url, ctl->program, ctl->args[0]);
}

/* Opening a rollback gate ends the release of its revision. */
static int roll_back(const struct vote *vote, const struct wait *wait)
{
    struct ctl *ctl = vote->ctl;
    struct json_object *result = NULL;
    struct errinfo ei = {0};
    enum err err =
        say(vote, "approve", body_of(vote, "rollback", wait->revision, NULL), &result, &ei);

    if (err != ERR_OK)
        return ctl_fail(ctl, CTL_SERVER, "%s", ei.text);
    tell(ctl, result,
         arena_printf(ctl->arena, "Rejected revision %s of %s%s: it is rolled back.",
                      hash_of(vote, wait->revision), ctl->args[0],
                      vote->who ? arena_printf(ctl->arena, " as %s", vote->who) : ""));
    return CTL_DONE;
}

/* Closes the gate, and rolls back what waits there if the Canary has a rollback hook. */
static int vote_no(struct ctl *ctl)
{
    struct vote vote;
    struct wait wait = {0};
    struct json_object *result = NULL;
    struct errinfo ei = {0};
    size_t i = 0;
    int code;

    if (!begin(ctl, &vote, &code))
        return code;
    enum err err = say(&vote, "close", body_of(&vote, "gate", NULL, opt.hook), &result, &ei);
    if (err != ERR_OK && err != ERR_CONFLICT)
        return ctl_fail(ctl, CTL_SERVER, "%s", ei.text);
    if (!next_wait(&vote, &i, &wait) && !vote.revision)
        return ctl_fail(ctl, CTL_FAILED, "the gate %s is closed; nothing of %s waits there",
                        vote.gate.url, ctl->args[0]);
    if (!wait.revision)
        wait.revision = vote.revision;
    if (gate_rolls_back(ctl->arena, vote.canary, &vote.gate))
        return roll_back(&vote, &wait);
    tell(ctl, result,
         arena_printf(ctl->arena,
                      "The gate is closed to revision %s of %s, which waits on: the Canary has no "
                      "hook of type rollback at the gate. %s abort %s ends its release.",
                      hash_of(&vote, wait.revision), ctl->args[0], ctl->program, ctl->args[0]));
    return CTL_DONE;
}

const struct ctl_command ctl_approve = {
    .name = "approve",
    .summary = "Says yes at the gate that a release waits at.",
    .usage = "NAME [--why TEXT]",
    .help =
        "What waits at the gate is let through, and no other revision. Under a quorum it is one "
        "vote. The name that the gate's history shows is yours, as the API server knows you; "
        "--gate-token-file is for a gate that asks for tokens.\n"
        "\n"
        "Example:\n"
        "    {ctl} approve podinfo -n test --why 'looked at the dashboard'\n",
    .rows = vote_rows,
    .accepts = CTL_OUT_DATA,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = vote_yes,
};

const struct ctl_command ctl_reject = {
    .name = "reject",
    .summary = "Says no at the gate: what waits there is rolled back.",
    .usage = "NAME [--why TEXT]",
    .help = "The gate is closed, and where the Canary has a webhook of type rollback at the same "
            "gate, the revision that waits is rolled back. The name that the gate's history shows "
            "is yours, as the API server knows you; "
            "--gate-token-file is for a gate that asks for tokens.\n"
            "\n"
            "Example:\n"
            "    {ctl} reject podinfo -n test --why 'looked at the dashboard'\n",
    .rows = vote_rows,
    .accepts = CTL_OUT_DATA,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = vote_no,
};
