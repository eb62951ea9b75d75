#include "api/restselect.h"

#include <string.h>

bool restselect_read(struct restreq *req, struct arena *arena, struct restselect *out)
{
    struct errinfo ei;
    *out = (struct restselect){.ns = arena_strdup(arena, req->path.ns)};
    const char *labels = http_req_param(req->http, "labelSelector");
    const char *fields = http_req_param(req->http, "fieldSelector");
    const char *kind = req->kind->custom ? "" : req->kind->kind;
    if (selector_parse_labels(arena, labels, &out->labels, &ei) != ERR_OK) {
        restreply_error(req, 400, "BadRequest", "unable to parse requirement: %s", ei.text);
        return false;
    }
    if (selector_parse_fields(arena, kind, fields, &out->fields, &ei) != ERR_OK) {
        restreply_error(req, 400, "BadRequest",
                        "Unable to find \"%s\" that match label selector \"%s\", field selector "
                        "\"%s\": %s",
                        objkind_resource(req->arena, req->kind), labels ? labels : "",
                        fields ? fields : "", ei.text);
        return false;
    }
    out->name = selector_wanted(out->fields, "metadata.name");
    return true;
}

bool restselect_match(const struct restselect *select, struct json_object *obj)
{
    if (select->ns) {
        const char *ns = json_str_at(obj, "metadata", "namespace", NULL);
        if (!ns || strcmp(ns, select->ns) != 0)
            return false;
    }
    return selector_match_labels(select->labels, json_at(obj, "metadata", "labels", NULL)) &&
           selector_match_fields(select->fields, obj);
}
