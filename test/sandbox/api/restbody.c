#include <string.h>
#include <strings.h>

#include "api/rest.h"

enum { BODY_MAX = 3 * 1024 * 1024 };

bool restbody_read(struct restreq *req, struct json_object **out)
{
    size_t len;
    const char *text = http_req_body(req->http, &len);
    const char *type = http_req_header(req->http, "content-type");
    *out = NULL;
    if (len == 0)
        return true;
    struct errinfo ei;
    if (type && strstr(type, "protobuf"))
        return restproto_read(req->arena, text, len, out, &ei) == ERR_OK ||
               restreply_error(req, 415, "UnsupportedMediaType", "%s", ei.text);
    if (json_parse(req->arena, text, len, BODY_MAX, out, &ei) != ERR_OK)
        return restreply_error(req, 400, "BadRequest", "the request body is no JSON: %s", ei.text);
    return true;
}

bool restreq_is_true(struct restreq *req, const char *key)
{
    const char *text = http_req_param(req->http, key);
    return text && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

/* "kubectl/v1.32.4 (linux/amd64)" is the manager "kubectl". */
static const char *manager_of(struct restreq *req)
{
    const char *manager = http_req_param(req->http, "fieldManager");
    if (manager && *manager)
        return manager;
    const char *agent = http_req_header(req->http, "user-agent");
    size_t len = agent ? strcspn(agent, "/ ") : 0;
    return len > 0 ? arena_strndup(req->arena, agent, len < 128 ? len : 128) : "unknown";
}

bool restbody_options(struct restreq *req)
{
    const char *dry_run = http_req_param(req->http, "dryRun");
    const char *validation = http_req_param(req->http, "fieldValidation");
    req->call.manager = manager_of(req);
    req->call.dry_run = dry_run && strcmp(dry_run, "All") == 0;
    if (dry_run && *dry_run && !req->call.dry_run)
        return restreply_error(req, 400, "BadRequest",
                               "dryRun: Unsupported value: \"%s\": supported values: \"All\"",
                               dry_run);
    if (validation && *validation && strcmp(validation, "Strict") != 0 &&
        strcmp(validation, "Warn") != 0 && strcmp(validation, "Ignore") != 0)
        return restreply_error(
            req, 400, "BadRequest",
            "fieldValidation: Unsupported value: \"%s\": supported values: \"Ignore\", "
            "\"Strict\", \"Warn\"",
            validation);
    req->call.strict = validation && strcmp(validation, "Strict") == 0;
    req->call.quiet = validation && strcmp(validation, "Ignore") == 0;
    return true;
}

bool restselect_read(struct restreq *req, struct arena *arena, struct restselect *out)
{
    struct errinfo ei;
    *out = (struct restselect){.ns = arena_strdup(arena, req->path.ns)};
    const char *labels = http_req_param(req->http, "labelSelector");
    const char *fields = http_req_param(req->http, "fieldSelector");
    const char *kind = req->kind->custom ? "" : req->kind->kind;
    if (selector_parse(arena, labels ? labels : "", &out->labels, &ei) != ERR_OK)
        return restreply_error(req, 400, "BadRequest", "unable to parse requirement: %s", ei.text);
    if (fields_parse(arena, kind, fields, &out->fields, &ei) != ERR_OK)
        return restreply_error(
            req, 400, "BadRequest",
            "Unable to find \"%s\" that match label selector \"%s\", field selector "
            "\"%s\": %s",
            objkind_resource(req->arena, req->kind), labels ? labels : "", fields ? fields : "",
            ei.text);
    out->name = fields_wanted(out->fields, "metadata.name");
    return true;
}

bool restselect_match(const struct restselect *select, struct json_object *obj)
{
    if (select->ns) {
        const char *ns = json_str_at(obj, "metadata", "namespace", NULL);
        if (!ns || strcmp(ns, select->ns) != 0)
            return false;
    }
    return selector_match(select->labels, json_at(obj, "metadata", "labels", NULL)) &&
           fields_match(select->fields, obj);
}
