/*
 * Amazon CloudWatch: GetMetricData with AWS's query protocol (a form, answered in XML), signed with
 * Signature Version 4. The query is a list of MetricDataQuery objects in JSON.
 *
 * Credentials are the keys in the Secret or, if it has none, the credentials of the process, in
 * this order: keys in the environment; a role by web identity (IAM roles for service accounts); the
 * credentials of the container's agent (EKS Pod Identity, ECS); those of the instance. All except
 * keys need other requests before the query. Credentials of the process are sent to Amazon, or to
 * the endpoint in the environment.
 */
#include <ctype.h>
#include <string.h>
#include <time.h>

#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "metric/backend.h"

enum { MAX_FORM = 256 * 1024, DATE = 8, STAMP = 16, LONGEST_MS = 36 * 3600 * 1000 };

static const char form[] = "application/x-www-form-urlencoded; charset=utf-8";
static const char instance[] = "http://169.254.169.254/latest/";
static const char instance_roles[] =
    "http://169.254.169.254/latest/meta-data/iam/security-credentials/";

static const struct metric_ambient ambient[] = {
    {"AWS_ACCESS_KEY_ID", false},
    {"AWS_SECRET_ACCESS_KEY", false},
    {"AWS_SESSION_TOKEN", false},
    {"AWS_ROLE_ARN", false},
    {"AWS_WEB_IDENTITY_TOKEN_FILE", true},
    {"AWS_CONTAINER_CREDENTIALS_FULL_URI", false},
    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", false},
    {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", true},
    {"AWS_ENDPOINT_URL_CLOUDWATCH", false},
    {NULL, false},
};

struct credentials {
    const char *id, *key, *session; /* session may be NULL */
};

/* --- Signature Version 4 */

static const char *hex(struct arena *arena, const unsigned char *bytes, size_t len)
{
    return hex_text(bytes, len, arena_alloc(arena, 2 * len + 1));
}

static const char *digest(struct arena *arena, const char *text)
{
    char sum[SHA256_TEXT];

    return arena_strdup(arena, sha256_hex(text, strlen(text), sum));
}

/* Replaces the key with the HMAC of the text. */
static void chain(unsigned char key[SHA256_DIGEST_LENGTH], size_t len, const char *text)
{
    unsigned char sum[SHA256_DIGEST_LENGTH];

    HMAC(EVP_sha256(), key, (int)len, (const unsigned char *)text, strlen(text), sum, NULL);
    memcpy(key, sum, sizeof(sum));
}

static const char *signature(struct arena *arena, const char *secret, const char *const scope[4],
                             const char *text)
{
    const char *seed = arena_printf(arena, "AWS4%s", secret);
    unsigned char key[SHA256_DIGEST_LENGTH];

    HMAC(EVP_sha256(), seed, (int)strlen(seed), (const unsigned char *)scope[0], strlen(scope[0]),
         key, NULL);
    for (int i = 1; i < 4; i++)
        chain(key, sizeof(key), scope[i]);
    chain(key, sizeof(key), text);
    return hex(arena, key, sizeof(key));
}

/* Signs the POST of the body to the address; stamp has the form "20231114T221320Z". */
static void sign(struct backend_call *call, const struct credentials *by, const char *stamp)
{
    struct arena *arena = call->arena;
    const char *date = arena_strndup(arena, stamp, DATE);
    const char *region = json_str_at(call->question->spec, "region", NULL);
    const char *const scope[4] = {date, region, "monitoring", "aws4_request"};
    const char *host = strstr(call->base, "://");
    if (!host) /* already reported */
        return;
    host += strlen("://");
    const char *path = host + strcspn(host, "/");
    const char *names = by->session ? "content-type;host;x-amz-date;x-amz-security-token"
                                    : "content-type;host;x-amz-date";
    const char *token =
        by->session ? arena_printf(arena, "x-amz-security-token:%s\n", by->session) : "";
    const char *canonical = arena_printf(
        arena, "POST\n%s/\n\ncontent-type:%s\nhost:%.*s\nx-amz-date:%s\n%s\n%s\n%s", path, form,
        (int)(path - host), host, stamp, token, names, digest(arena, call->out->http.body));
    const char *where = arena_printf(arena, "%s/%s/%s/%s", scope[0], scope[1], scope[2], scope[3]);
    const char *text =
        arena_printf(arena, "AWS4-HMAC-SHA256\n%s\n%s\n%s", stamp, where, digest(arena, canonical));

    backend_header(call, "X-Amz-Date", stamp);
    if (by->session)
        backend_header(call, "X-Amz-Security-Token", by->session);
    backend_header(call, "Authorization",
                   arena_printf(arena,
                                "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
                                by->id, where, names, signature(arena, by->key, scope, text)));
}

/* --- the query */

/* Writes a tree as parameters: "NAME.Id=m1&NAME.Dimensions.member.1.Name=..."; the JSON parser
 * limits its depth. */
static void write_tree(struct arena *arena, struct buf *out,
                       const char *name, // NOLINT(misc-no-recursion)
                       struct json_object *tree)
{
    if (json_object_is_type(tree, json_type_object)) {
        json_object_object_foreach(tree, key, value)
        {
            /* Capitalised as Go does: "id" becomes "Id". */
            write_tree(arena, out,
                       arena_printf(arena, "%s.%c%s", name, toupper((unsigned char)*key),
                                    *key ? key + 1 : ""),
                       value);
        }
    } else if (json_object_is_type(tree, json_type_array)) {
        for (size_t i = 0; i < json_len(tree); i++)
            write_tree(arena, out, arena_printf(arena, "%s.member.%zu", name, i + 1),
                       json_elem(tree, i));
    } else if (tree) {
        buf_puts(out, arena_printf(arena, "&%s=%s", url_encode(arena, name),
                                   url_encode(arena, json_object_get_string(tree))));
    }
}

static const char *form_of(struct backend_call *call, int64_t now_ms)
{
    struct arena *arena = call->arena;
    const char *query = call->question->query ? call->question->query : "[]";
    int64_t from_ms = backend_from_ms(call, now_ms);
    char from[CLOCK_TEXT], to[CLOCK_TEXT];
    struct json_object *list;
    struct errinfo ei;
    struct buf out;

    if (json_parse(arena, query, strlen(query), BACKEND_MAX_ANSWER, &list, &ei) != ERR_OK ||
        !json_object_is_type(list, json_type_array)) {
        backend_fail(call, "cloudwatch: the query must be a JSON list of MetricDataQuery");
        return "";
    }
    buf_init(&out, MAX_FORM);
    buf_puts(&out, arena_printf(arena, "Action=GetMetricData&EndTime=%s&MaxDatapoints=20",
                                url_encode(arena, clock_rfc3339(now_ms, to))));
    write_tree(arena, &out, "MetricDataQueries", list);
    buf_puts(&out, arena_printf(arena, "&StartTime=%s&Version=2010-08-01",
                                url_encode(arena, clock_rfc3339(from_ms, from))));
    const char *text = arena_strndup(arena, out.data, out.len);
    buf_fini(&out);
    return text;
}

/* "us-east-1"; it becomes part of the host name, so no other characters are allowed. */
static const char *host_of(struct arena *arena, const struct metric_question *question,
                           const char *service)
{
    const char *region = json_str_at(question->spec, "region", NULL);
    size_t len = region ? strlen(region) : 0;

    if (len == 0 || strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != len)
        return NULL;
    return arena_printf(arena, "https://%s.%s.amazonaws.com%s", service, region,
                        strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
}

static enum err query_request(struct arena *arena, const struct metric_question *question,
                              int64_t now_ms, const struct credentials *by,
                              struct metric_request *out, struct errinfo *ei)
{
    const char *endpoint = backend_ambient(question, "AWS_ENDPOINT_URL_CLOUDWATCH");
    const char *host = endpoint ? endpoint : host_of(arena, question, "monitoring");
    struct backend_call call = backend_begin(arena, question, host, out, ei);
    time_t seconds = now_ms / 1000;
    char stamp[STAMP + 1];
    struct tm tm;

    gmtime_r(&seconds, &tm);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
    if (endpoint)
        out->to = METRIC_TO_MACHINE;
    backend_url(&call, "/");
    backend_body(&call, form, form_of(&call, now_ms));
    sign(&call, by, arena_strdup(arena, stamp));
    return backend_end(&call);
}

/* --- credentials */

/* A request with at most one header, without the headers of the template. */
static void write_plain(struct arena *arena, struct metric_request *out, enum metric_to to,
                        const char *method, const char *url, const char *name, const char *value)
{
    struct http_header *headers = arena_array(arena, 2, sizeof *headers);

    headers[0] = (struct http_header){.name = value ? name : NULL, .value = value};
    *out = (struct metric_request){.http = {.method = method,
                                            .url = url,
                                            .headers = headers,
                                            .timeout_ms = BACKEND_TIMEOUT_MS,
                                            .max_body = BACKEND_MAX_ANSWER},
                                   .to = to};
}

static const char *container_url(struct arena *arena, const struct metric_question *question)
{
    const char *path = backend_ambient(question, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");

    return path ? arena_printf(arena, "http://169.254.170.2%s", path)
                : backend_ambient(question, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
}

static struct credentials keys_of(struct arena *arena, const struct metric_question *question)
{
    struct json_object *secret = question->secret;

    if (question->ambient)
        return (struct credentials){.id = backend_ambient(question, "AWS_ACCESS_KEY_ID"),
                                    .key = backend_ambient(question, "AWS_SECRET_ACCESS_KEY"),
                                    .session = backend_ambient(question, "AWS_SESSION_TOKEN")};
    return (struct credentials){.id = backend_secret_or(arena, secret, "aws_access_key_id"),
                                .key = backend_secret_or(arena, secret, "aws_secret_access_key"),
                                .session = backend_secret_or(arena, secret, "aws_session_token")};
}

/* The request before the query, for a process without keys. */
static void write_first(struct arena *arena, const struct metric_question *question,
                        struct metric_request *out)
{
    const char *role = backend_ambient(question, "AWS_ROLE_ARN");
    const char *identity = backend_ambient(question, "AWS_WEB_IDENTITY_TOKEN_FILE");
    const char *container = container_url(arena, question);

    if (role && identity) {
        write_plain(arena, out, METRIC_TO_PROVIDER, "POST",
                    arena_printf(arena, "%s/", host_of(arena, question, "sts")), "Content-Type",
                    form);
        out->http.body = arena_printf(arena,
                                      "Action=AssumeRoleWithWebIdentity&RoleArn=%s&RoleSessionName="
                                      "flagger&Version=2011-06-15&WebIdentityToken=%s",
                                      url_encode(arena, role), url_encode(arena, identity));
        out->http.body_len = strlen(out->http.body);
    } else if (container) {
        write_plain(arena, out, METRIC_TO_MACHINE, "GET", container, "Authorization",
                    backend_ambient(question, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
    } else {
        write_plain(arena, out, METRIC_TO_MACHINE, "PUT",
                    arena_printf(arena, "%sapi/token", instance),
                    "X-aws-ec2-metadata-token-ttl-seconds", "60");
    }
}

static enum err cloudwatch_request(struct arena *arena, const struct metric_question *question,
                                   int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct credentials by = keys_of(arena, question);

    if (!host_of(arena, question, "sts"))
        return err_set(ei, ERR_INVALID,
                       "cloudwatch: spec.provider.region: expected one, such as us-east-1");
    if (by.id && by.key)
        return query_request(arena, question, now_ms, &by, out, ei);
    if (!question->ambient)
        return err_set(ei, ERR_INVALID,
                       "cloudwatch credentials: the secret of secretRef needs the key %s",
                       by.id ? "aws_secret_access_key" : "aws_access_key_id");
    by = (struct credentials){.id = "", .key = ""}; /* reports a mistake in the query at once */
    enum err err = query_request(arena, question, now_ms, &by, out, ei);
    if (err == ERR_OK)
        write_first(arena, question, out);
    return err;
}

/* The text between the first <name> and </name>; NULL if there is none. */
static const char *element(struct arena *arena, const char *xml, const char *name)
{
    const char *open = arena_printf(arena, "<%s>", name);
    const char *from = strstr(xml, open);
    const char *to = from ? strstr(from, arena_printf(arena, "</%s>", name)) : NULL;

    if (!to)
        return NULL;
    from += strlen(open);
    return arena_strndup(arena, from, (size_t)(to - from));
}

static struct credentials credentials_of(struct arena *arena, const struct http_result *result)
{
    struct json_object *reply;
    struct errinfo ei;

    if (result->body_len > 0 && result->body[0] == '<')
        return (struct credentials){.id = element(arena, result->body, "AccessKeyId"),
                                    .key = element(arena, result->body, "SecretAccessKey"),
                                    .session = element(arena, result->body, "SessionToken")};
    if (json_parse(arena, result->body, result->body_len, BACKEND_MAX_ANSWER, &reply, &ei) !=
        ERR_OK)
        return (struct credentials){0};
    return (struct credentials){.id = json_str_at(reply, "AccessKeyId", NULL),
                                .key = json_str_at(reply, "SecretAccessKey", NULL),
                                .session = json_str_at(reply, "Token", NULL)};
}

static enum err cloudwatch_next(struct arena *arena, const struct metric_question *question,
                                int64_t now_ms, const struct http_result *result,
                                struct metric_request *request, struct metric_step *step,
                                struct errinfo *ei)
{
    const char *url = request->http.url;
    const char *sts = host_of(arena, question, "sts");
    const char *container = container_url(arena, question);
    bool of_instance = strncmp(url, instance, strlen(instance)) == 0;

    /* The Secret has no keys, and therefore the template's address is not used. */
    step->more = question->ambient && (of_instance || (container && strcmp(url, container) == 0) ||
                                       (sts && strncmp(url, sts, strlen(sts)) == 0));
    if (!step->more)
        return ERR_OK;
    if (result->status != 200)
        return err_set(ei, ERR_DENIED, "cloudwatch credentials: %s",
                       backend_refused(arena, result).text);
    if (of_instance && strcmp(request->http.method, "PUT") == 0) {
        write_plain(arena, request, METRIC_TO_MACHINE, "GET", instance_roles,
                    "X-aws-ec2-metadata-token", arena_strdup(arena, result->body));
        return ERR_OK;
    }
    if (strcmp(url, instance_roles) == 0) {
        request->http.url =
            arena_printf(arena, "%s%.*s", url, (int)strcspn(result->body, "\r\n"), result->body);
        return ERR_OK;
    }
    struct credentials by = credentials_of(arena, result);
    if (!by.id || !by.key)
        return err_set(ei, ERR_DENIED,
                       "cloudwatch credentials: the reply lacks AccessKeyId or SecretAccessKey");
    return query_request(arena, question, now_ms, &by, request, ei);
}

/* Credentials of a role expire; the replies that lead to them are used only once. */
static int64_t cloudwatch_lasts(struct arena *arena, int64_t now_ms,
                                const struct http_result *result)
{
    struct json_object *reply = NULL;
    const char *end = NULL;
    struct errinfo ignored;
    int64_t end_ms;

    if (result->body_len > 0 && result->body[0] == '<')
        end = element(arena, result->body, "Expiration");
    else if (json_parse(arena, result->body, result->body_len, BACKEND_MAX_ANSWER, &reply,
                        &ignored) == ERR_OK)
        end = json_str_at(reply, "Expiration", NULL);
    if (!end || clock_parse(end, &end_ms, &ignored) != ERR_OK)
        return 0;
    return end_ms > now_ms && end_ms - now_ms <= LONGEST_MS ? end_ms - now_ms : 0;
}

/* An empty probe is rejected with 400, but only after the credentials were accepted. */
static struct metric_answer cloudwatch_answer(struct arena *arena,
                                              const struct metric_question *question,
                                              const struct http_result *result)
{
    if (!question->query && (result->status == 200 || result->status == 400))
        return (struct metric_answer){.outcome = METRIC_VALUE, .value = 1};
    if (result->status != 200) {
        const char *code = element(arena, result->body, "Code");
        const char *message = element(arena, result->body, "Message");
        if (!code || !message)
            return backend_refused(arena, result);
        return backend_failure(
            arena_printf(arena, "error response: %s: %.*s", code, BACKEND_SAID_MAX, message));
    }
    const char *results = strstr(result->body, "<MetricDataResults");
    if (!results)
        return backend_failure("cloudwatch sent no MetricDataResults");
    const char *values = strstr(results, "<Values");
    const char *value = values ? element(arena, values, "member") : NULL;
    const char *end = values ? strstr(values, "</Values>") : NULL;
    const char *first = values ? strstr(values, "<member>") : NULL;
    if (!value || !end || first > end || strncmp(values, "<Values/>", 9) == 0)
        return backend_no_values("the first result is empty");
    return backend_number_text(arena, question, value);
}

const struct metric_backend metric_backend_cloudwatch = {
    .type = "cloudwatch",
    .intervals = BACKEND_WINDOW,
    .ambient = ambient,
    .own = (const char *const[]){"aws_access_key_id", "aws_secret_access_key", "aws_session_token",
                                 NULL},
    .request = cloudwatch_request,
    .next = cloudwatch_next,
    .lasts = cloudwatch_lasts,
    .answer = cloudwatch_answer,
};
