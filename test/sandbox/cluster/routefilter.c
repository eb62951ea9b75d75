#include "cluster/routefilter.h"

#include <ctype.h>
#include <string.h>

bool routefilter_name_ok(const char *name)
{
    if (!name || !*name || strlen(name) > 256)
        return false;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_' && *p != '.' && *p != '~')
            return false;
    return true;
}

bool routefilter_text_ok(const char *text)
{
    if (!text || strlen(text) > ROUTE_MAX_TEXT)
        return false;
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    return true;
}

static enum err add_edits(struct json_object *list, const char *path, enum route_edit_op op,
                          struct route_edit *edits, size_t *count, struct errinfo *ei)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *entry = json_elem(list, i);
        struct route_edit edit = {.op = op, .value = ""};
        if (op == ROUTE_REMOVE) {
            edit.name = json_object_get_string(entry);
        } else {
            edit.name = json_str_at(entry, "name", NULL);
            edit.value = json_str_at(entry, "value", NULL);
        }
        if (!routefilter_name_ok(edit.name) || !routefilter_text_ok(edit.value))
            return err_set(ei, ERR_INVALID, "%s: a header name or value that no header can have",
                           path);
        edits[(*count)++] = edit;
    }
    return ERR_OK;
}

static enum err read_edits(struct arena *arena, struct json_object *modifier, const char *path,
                           struct route_edit **edits, size_t *count, struct errinfo *ei)
{
    struct json_object *set = json_at(modifier, "set", NULL), *add = json_at(modifier, "add", NULL);
    struct json_object *drop = json_at(modifier, "remove", NULL);
    size_t room = *count + json_len(set) + json_len(add) + json_len(drop);
    struct route_edit *list = arena_array(arena, room + 1, sizeof(*list));

    for (size_t i = 0; i < *count; i++)
        list[i] = (*edits)[i];
    *edits = list;
    enum err err = add_edits(drop, path, ROUTE_REMOVE, list, count, ei);
    if (err == ERR_OK)
        err = add_edits(set, path, ROUTE_SET, list, count, ei);
    if (err == ERR_OK)
        err = add_edits(add, path, ROUTE_ADD, list, count, ei);
    return err;
}

static enum err read_rewrite(struct json_object *rewrite, const char *path,
                             struct route_filters *out, struct errinfo *ei)
{
    const char *host = json_str_at(rewrite, "hostname", NULL);
    const char *type = json_str_at(rewrite, "path", "type", NULL);
    const char *full = json_str_at(rewrite, "path", "replaceFullPath", NULL);
    const char *prefix = json_str_at(rewrite, "path", "replacePrefixMatch", NULL);

    if ((host && !routefilter_name_ok(host)) || (full && !routefilter_text_ok(full)) ||
        (prefix && !routefilter_text_ok(prefix)))
        return err_set(ei, ERR_INVALID, "%s.urlRewrite: expected a host name and a path", path);
    out->host = host;
    if (type && strcmp(type, "ReplacePrefixMatch") == 0)
        out->prefix_path = prefix ? prefix : "/";
    else if (type)
        out->full_path = full ? full : "/";
    return ERR_OK;
}

enum err routefilter_read(struct arena *arena, const struct routefilter_in *in,
                          struct route_filters *out, struct errinfo *ei)
{
    enum err err = ERR_OK;
    for (size_t i = 0; i < json_len(in->filters) && err == ERR_OK; i++) {
        struct json_object *filter = json_elem(in->filters, i);
        const char *type = json_str_at(filter, "type", NULL);
        const char *path = arena_printf(arena, "%s[%zu]", in->path, i);
        if (!type)
            err = err_set(ei, ERR_INVALID, "%s.type is missing", path);
        else if (strcmp(type, "CORS") == 0 && in->add_mirror)
            continue; /* for browsers, of which there are none here */
        else if (strcmp(type, "RequestHeaderModifier") == 0 && in->add_mirror)
            err = read_edits(arena, json_at(filter, "requestHeaderModifier", NULL), path,
                             &out->request, &out->request_count, ei);
        else if (strcmp(type, "ResponseHeaderModifier") == 0)
            err = read_edits(arena, json_at(filter, "responseHeaderModifier", NULL), path,
                             &out->response, &out->response_count, ei);
        else if (strcmp(type, "URLRewrite") == 0 && in->add_mirror)
            err = read_rewrite(json_at(filter, "urlRewrite", NULL), path, out, ei);
        else if (strcmp(type, "RequestMirror") == 0 && in->add_mirror)
            err = in->add_mirror(in->arg, json_at(filter, "requestMirror", NULL), path, ei);
        else
            err =
                err_set(ei, ERR_INVALID, "%s.type %s is not supported %s by the sandbox's gateway",
                        path, type, in->add_mirror ? "on rules" : "on backends");
    }
    return err;
}
