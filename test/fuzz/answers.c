#define _GNU_SOURCE /* memfd_create */
#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/objstore.h"
#include "base/yaml.h"
#include "cluster/crds.h"
#include "ctl/ctl.h"
#include "ctl/inputs.h"
#include "ctl/lint/lint.h"
#include "ctl/simulate/simulate.h"
#include "engine/claims.h"
#include "net/loop.h"

enum { LARGEST = 1024 * 1024 };

static const char default_namespace[] = "default";

/* --- lint and plan, in the namespace that kubectl would take */

static const char *ask_lint(struct arena *arena, const char *text, bool *excused)
{
    struct lint *lint = lint_new(arena, &settings_default);
    const char *first = NULL;

    lint_namespace(lint, default_namespace);
    lint_add(lint, "file", text, strlen(text), false);
    for (const struct lint_mistake *at = lint_run(lint); at; at = at->next) {
        if (at->level != LINT_ERROR)
            continue;
        /* a mistake that only a check would have found is an error as well */
        *excused = *excused || strncmp(at->object, "Canary ", 7) != 0 ||
                   strstr(at->path, "].query") || strstr(at->path, "].templateRef");
        if (!first)
            first = arena_printf(arena, "%s: %s: %s", at->object, at->path, at->text);
    }
    *excused = *excused || lint_skipped(lint);
    return first;
}

static const char *ask_plan(struct arena *arena, const char *text)
{
    int fd = memfd_create("mutant", MFD_CLOEXEC);
    char *words[] = {arena_strdup(arena, "kubectl canary"),
                     arena_strdup(arena, "plan"),
                     arena_strdup(arena, "-n"),
                     arena_strdup(arena, default_namespace),
                     arena_printf(arena, "/proc/self/fd/%d", fd),
                     NULL};
    char *said = NULL, *errors = NULL;
    size_t len = 0, errors_len = 0;
    struct ctl ctl = {.arena = arena, .program = "kubectl canary"};

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        perror("memfd");
        exit(3);
    }
    ctl.out = open_memstream(&said, &len);
    ctl.err = open_memstream(&errors, &errors_len);
    int code = ctl_run(&ctl, 5, words);
    fclose(ctl.out);
    fclose(ctl.err);
    close(fd);
    const char *out = code == CTL_DONE ? NULL : arena_strdup(arena, errors);
    if (strstr(said, "(null)") || (out && (strstr(out, "(null)") || strstr(out, "no rule says"))))
        out = arena_printf(arena, "a text that says nothing: %s%s", said, errors);
    free(said);
    free(errors);
    return out;
}

/* --- the server */

struct server {
    struct loop *loop;
    struct objstore *store;
};

static void load_crds(struct server *server, const char *path)
{
    struct errinfo ei;

    if (crds_load(server->store, path, &ei) != ERR_OK) {
        fprintf(stderr, "%s\n", ei.text);
        exit(3);
    }
}

struct server *server_new(const char *crds)
{
    struct server *server = malloc(sizeof(*server));

    if (!server)
        abort();
    server->loop = loop_new(1000);
    server->store = objstore_new(server->loop, 0);
    load_crds(server, "proto/crd");
    load_crds(server, crds);
    return server;
}

void server_free(struct server *server)
{
    objstore_free(server->store);
    loop_free(server->loop);
    free(server);
}

/* One file at the server: what it has stored, in the order of the file. */
struct visit {
    struct server *server;
    struct arena *arena;
    struct manifests stored;
    struct json_object *canaries; /* also those that a later one of the name replaces */
    struct answers *out;
};

static const char *group_of(struct arena *arena, const char *version)
{
    const char *slash = strchr(version, '/');

    return slash ? arena_strndup(arena, version, (size_t)(slash - version)) : "";
}

static const char *version_of(const char *version)
{
    const char *slash = strchr(version, '/');

    return slash ? slash + 1 : version;
}

static void make_namespace(struct visit *v, const char *name)
{
    const struct objkind *kind = objstore_kind(v->server->store, "", "namespaces");
    struct objcall call = {.arena = v->arena, .manager = "test"};
    struct json_object *object = json_own(v->arena, json_object_new_object());

    if (objstore_get(v->server->store, kind, NULL, name))
        return;
    json_set_str(json_sub(object, "metadata"), "name", name);
    (void)!objstore_create(v->server->store, &call, kind, NULL, object, NULL);
}

static bool is_ours(struct json_object *object)
{
    static const char *const kinds[] = {"Canary", "MetricTemplate", "AlertProvider",
                                        "ReleaseRequest"};
    const char *version = json_str_at(object, "apiVersion", NULL);
    const char *kind = json_str_at(object, "kind", NULL);

    if (version && strncmp(version, "flagger.app/", 12) == 0)
        return true;
    for (size_t i = 0; kind && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

/* Creates it as a dry run. The server's words if it is refused; NULL if it is not, or nothing is
 * known of its kind. */
static const char *create(struct visit *v, struct json_object *object, bool strict,
                          struct json_object **out)
{
    const char *version = json_str_at(object, "apiVersion", NULL);
    const char *name = json_str_at(object, "kind", NULL);
    const char *namespace_ = json_str_at(object, "metadata", "namespace", NULL);
    struct objcall call = {.arena = v->arena,
                           .manager = "test",
                           .dry_run = true,
                           .strict = strict,
                           .version = version ? version_of(version) : NULL};

    *out = NULL;
    if (!version || !name)
        return "apiVersion or kind is not set";
    if (!namespace_ && json_at(object, "metadata", "namespace", NULL))
        return "metadata.namespace is no string";
    const struct objkind *kind =
        objstore_kind_named(v->server->store, group_of(v->arena, version), name);
    const struct objversion *served = kind ? objkind_version(kind, version_of(version)) : NULL;
    if (!served || !served->served) {
        *out = object;
        return kind || is_ours(object) ? "no matches for kind" : NULL;
    }
    if (objkind_namespaced(kind)) {
        namespace_ = namespace_ && *namespace_ ? namespace_ : default_namespace;
        make_namespace(v, namespace_);
    }
    call.fail.arena = v->arena;
    if (objstore_create(v->server->store, &call, kind, objkind_namespaced(kind) ? namespace_ : NULL,
                        object, out) != ERR_OK)
        return call.fail.message ? call.fail.message : "refused";
    return NULL;
}

static void refuse(struct visit *v, struct json_object *object, const char *why)
{
    const char *kind = json_str_at(object, "kind", NULL);

    if (!v->out->server)
        v->out->server = arena_printf(v->arena, "%s: %s", kind ? kind : "?", why);
}

/* The last of one name counts. */
static void store(struct visit *v, struct json_object *object)
{
    struct json_object *list = v->stored.objects;

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *other = json_elem(list, i);
        const char *fields[] = {"apiVersion", "kind"};
        bool same = json_same(json_at(other, "metadata", "name", NULL),
                              json_at(object, "metadata", "name", NULL)) &&
                    json_same(json_at(other, "metadata", "namespace", NULL),
                              json_at(object, "metadata", "namespace", NULL));
        for (size_t k = 0; same && k < 2; k++)
            same = json_same(json_at(other, fields[k], NULL), json_at(object, fields[k], NULL));
        if (same) {
            json_object_array_put_idx(list, i, json_object_get(object));
            return;
        }
    }
    json_object_array_add(list, json_object_get(object));
}

static void apply(struct visit *v, struct json_object *object)
{
    struct json_object *stored;
    bool ours = is_ours(object);

    if (!json_at(object, "apiVersion", NULL) && !json_at(object, "kind", NULL))
        return; /* no object; lint says that it leaves it out */
    const char *why = create(v, object, true, &stored);
    if (why && ours)
        refuse(v, object, why);
    else if (why)
        v->out->unknown = true;
    else if (stored)
        store(v, stored);
    const char *kind = json_str_at(object, "kind", NULL);
    if (!why && stored && ours && kind && strcmp(kind, "Canary") == 0)
        json_object_array_add(v->canaries, json_object_get(stored));
}

/* The objects that a release makes and changes are sent to the server as well. */
static void check_writes(struct visit *v, struct json_object *list)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *object = json_elem(list, i), *stored;
        const char *why = create(v, object, false, &stored);
        if (why && !strstr(why, "no matches for kind"))
            refuse(v, object, arena_printf(v->arena, "a write of the controller: %s", why));
    }
}

static void play(struct visit *v, struct json_object *object)
{
    const struct simulation_source source = {
        .find = manifests_find, .list = manifests_list, .arg = &v->stored};
    struct simulation simulation;
    struct errinfo ei;

    v->out->canaries++;
    if (simulate(v->arena, &settings_default, object, &source, &simulation, &ei) != ERR_OK) {
        refuse(v, object, ei.text);
        return;
    }
    if (simulation.refused)
        refuse(v, object, simulation.refused);
    if (simulation.refused || simulation.unfinished)
        return;
    check_writes(v, simulation.made);
    check_writes(v, simulation.changed);
}

static void free_set(void *set)
{
    claim_set_free(set);
}

/* The controller refuses the Canary that comes later. */
static void check_claims(struct visit *v)
{
    struct claims *claims = claims_new();
    struct arena *arena = arena_new();

    for (size_t i = 0; i < json_len(v->stored.objects); i++) {
        struct json_object *object = json_copy(v->arena, json_elem(v->stored.objects, i));
        const char *kind = json_str_at(object, "kind", NULL);
        if (!kind || strcmp(kind, "Canary") != 0 || !is_ours(object))
            continue;
        json_set_str(json_sub(object, "metadata"), "uid", arena_printf(v->arena, "%08zu", i));
        json_set_str(json_sub(object, "metadata"), "creationTimestamp", "");
        struct claim_set *set = claim_set_read(object);
        const char *conflict = claims_check(claims, v->arena, object).conflict;
        if (conflict)
            refuse(v, object, conflict);
        claims_add(claims, set);
        arena_defer(arena, free_set, set);
    }
    claims_free(claims);
    arena_free(arena);
}

static void ask_server(struct server *server, struct arena *arena, struct json_object *docs,
                       struct answers *out)
{
    struct visit v = {.server = server,
                      .arena = arena,
                      .stored = {.arena = arena,
                                 .objects = json_own(arena, json_object_new_array()),
                                 .namespace_ = default_namespace},
                      .canaries = json_own(arena, json_object_new_array()),
                      .out = out};

    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *doc = json_elem(docs, i), *items = json_at(doc, "items", NULL);
        if (!json_object_is_type(items, json_type_array))
            apply(&v, doc);
        for (size_t k = 0; k < json_len(items); k++)
            apply(&v, json_elem(items, k));
    }
    if (!out->unknown)
        check_claims(&v);
    for (size_t i = 0; !out->unknown && i < json_len(v.canaries); i++)
        play(&v, json_elem(v.canaries, i));
}

bool answers_of(struct server *server, struct arena *arena, const char *text, struct answers *out)
{
    struct json_object *docs;
    struct errinfo ei;

    *out = (struct answers){.lint = NULL};
    out->lint = ask_lint(arena, text, &out->excused);
    out->plan = ask_plan(arena, text);
    if (yaml_parse(arena, "file", text, strlen(text), LARGEST, &docs, &ei) != ERR_OK) {
        out->server = arena_strdup(arena, ei.text);
        return false;
    }
    ask_server(server, arena, docs, out);
    return true;
}

const char *answers_disagree(struct arena *arena, const struct answers *a)
{
    const char *what = NULL;

    if (a->plan && strstr(a->plan, "a text that says nothing"))
        what = "plan says nothing";
    else if (a->unknown)
        return NULL;
    else if (a->server && strstr(a->server, "is suspended"))
        return NULL;
    else if (a->server && strstr(a->server, "its labels are of other pods as well") && a->plan)
        return NULL; /* a warning of lint: a Canary that serves already goes on */
    else if (a->server && !a->lint)
        what = "lint says ok";
    else if (a->server && !a->plan)
        what = "plan says ok";
    else if (!a->server && a->lint && !a->excused)
        what = "lint says error";
    else if (!a->server && a->plan && a->canaries > 0 && !a->excused)
        what = "plan says error";
    if (!what)
        return NULL;
    return arena_printf(arena, "%s\n    lint: %s\n    plan: %s    server: %s", what,
                        a->lint ? a->lint : "ok", a->plan ? a->plan : "ok\n",
                        a->server ? a->server : "ok");
}
