/*
 * Google Cloud Monitoring: MQL with timeSeries:query. The key of a service account signs a JWT,
 * which is exchanged for a token that is valid for an hour (RFC 7523); without a key the metadata
 * server provides a token. The template's address is used only if the Secret has a key.
 */
#include <string.h>

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/encoding.h"
#include "metric/backend.h"

enum { TOKEN_S = 3600 };

static const char google[] = "https://monitoring.googleapis.com";
static const char metadata[] =
    "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token";
static const char scope[] = "https://www.googleapis.com/auth/monitoring.read";

static const struct metric_ambient ambient[] = {
    {"GOOGLE_APPLICATION_CREDENTIALS", true},
    {"GOOGLE_CLOUD_PROJECT", false},
    {NULL, false},
};

/* The key of the service account; NULL if there is none. */
static struct json_object *account_of(struct arena *arena, const struct metric_question *question)
{
    const char *text = question->ambient
                           ? backend_ambient(question, "GOOGLE_APPLICATION_CREDENTIALS")
                           : backend_secret_or(arena, question->secret, "serviceAccountKey");
    struct json_object *account = NULL;
    struct errinfo ei;

    if (text && json_parse(arena, text, strlen(text), BACKEND_MAX_ANSWER, &account, &ei) != ERR_OK)
        account = json_own(arena, json_object_new_object()); /* missing fields are reported below */
    return account;
}

static int no_passphrase(char *text, int size, int writing, void *arg)
{
    (void)text;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

/* The RS256 signature of the text in base64url; NULL if the key is invalid. */
static const char *signature(struct arena *arena, const char *pem, const char *text)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const char *signed_text = NULL;
    size_t len = 0;

    if (key && EVP_PKEY_base_id(key) == EVP_PKEY_RSA &&
        EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestSign(context, NULL, &len, (const unsigned char *)text, strlen(text)) == 1) {
        unsigned char *bytes = arena_alloc(arena, len);
        if (EVP_DigestSign(context, bytes, &len, (const unsigned char *)text, strlen(text)) == 1)
            signed_text = base64url_encode(arena, bytes, len);
    }
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    BIO_free(bio);
    return signed_text;
}

static const char *part(struct arena *arena, struct json_object *tree)
{
    const char *text = json_text(arena, tree);

    return base64url_encode(arena, text, strlen(text));
}

static enum err token_request(struct arena *arena, struct json_object *account, int64_t now_ms,
                              struct http_request *out, struct errinfo *ei)
{
    const char *email = json_str_at(account, "client_email", NULL);
    const char *pem = json_str_at(account, "private_key", NULL);
    const char *uri = json_str_at(account, "token_uri", NULL);
    struct json_object *head = json_own(arena, json_object_new_object());
    struct json_object *claims = json_own(arena, json_object_new_object());

    if (!email || !pem || !uri || strncmp(uri, "https://", 8) != 0)
        return err_set(ei, ERR_INVALID,
                       "stackdriver credentials: serviceAccountKey must be the JSON of a service "
                       "account, with client_email, private_key and an https token_uri");
    json_set_str(head, "alg", "RS256");
    json_set_str(head, "typ", "JWT");
    json_set_str(claims, "iss", email);
    json_set_str(claims, "scope", scope);
    json_set_str(claims, "aud", uri);
    json_set_int(claims, "iat", now_ms / 1000);
    json_set_int(claims, "exp", now_ms / 1000 + TOKEN_S);
    const char *text = arena_printf(arena, "%s.%s", part(arena, head), part(arena, claims));
    const char *signed_text = signature(arena, pem, text);
    if (!signed_text)
        return err_set(ei, ERR_INVALID,
                       "stackdriver credentials: private_key of serviceAccountKey is no RSA key");
    out->method = "POST";
    out->url = uri;
    out->body = arena_printf(
        arena,
        "grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant-type%%3Ajwt-bearer&assertion=%s.%s",
        text, signed_text);
    out->body_len = strlen(out->body);
    struct http_header *headers = arena_array(arena, 2, sizeof *headers);
    headers[0] = (struct http_header){"Content-Type", "application/x-www-form-urlencoded"};
    out->headers = headers;
    return ERR_OK;
}

static enum err stackdriver_request(struct arena *arena, const struct metric_question *question,
                                    int64_t now_ms, struct metric_request *out, struct errinfo *ei)
{
    struct json_object *account = account_of(arena, question);
    struct http_header *headers = arena_array(arena, 2, sizeof *headers);

    *out = (struct metric_request){.http = {.method = "GET",
                                            .url = metadata,
                                            .headers = headers,
                                            .timeout_ms = BACKEND_TIMEOUT_MS,
                                            .max_body = BACKEND_MAX_ANSWER},
                                   .to = question->ambient ? METRIC_TO_MACHINE : METRIC_TO_ADDRESS};
    headers[0] = (struct http_header){"Metadata-Flavor", "Google"};
    if (account)
        return token_request(arena, account, now_ms, &out->http, ei);
    return question->ambient ? ERR_OK
                             : err_set(ei, ERR_INVALID,
                                       "stackdriver credentials: the secret of secretRef needs the "
                                       "key serviceAccountKey");
}

static const char *project_of(struct arena *arena, const struct metric_question *question,
                              struct json_object *account)
{
    const char *project = backend_secret_or(arena, question->secret, "project");

    if (!project)
        project = backend_ambient(question, "GOOGLE_CLOUD_PROJECT");
    return project ? project : json_str_at(account, "project_id", NULL);
}

static enum err query_request(struct arena *arena, const struct metric_question *question,
                              const char *token, struct metric_request *out, struct errinfo *ei)
{
    struct json_object *account = account_of(arena, question);
    struct json_object *body = json_own(arena, json_object_new_object());
    const char *project = project_of(arena, question, account);
    struct backend_call call = backend_begin(arena, question, google, out, ei);
    if (!project)
        backend_fail(&call,
                     "stackdriver credentials: the secret of secretRef needs the key project");
    else
        backend_url(&call, "/v3/projects/%s/timeSeries:query", url_encode(arena, project));
    json_set_str(body, "query", question->query ? question->query : "");
    backend_header(&call, "Authorization", arena_printf(arena, "Bearer %s", token));
    backend_body(&call, "application/json", json_text(arena, body));
    return backend_end(&call);
}

static enum err stackdriver_next(struct arena *arena, const struct metric_question *question,
                                 int64_t now_ms, const struct http_result *result,
                                 struct metric_request *request, struct metric_step *step,
                                 struct errinfo *ei)
{
    struct json_object *reply = NULL;
    struct errinfo ignored;

    (void)now_ms;
    step->more = strstr(request->http.url, "/timeSeries:query") == NULL;
    if (!step->more)
        return ERR_OK;
    if (result->status != 200)
        return err_set(ei, ERR_DENIED, "stackdriver credentials: %s",
                       backend_refused(arena, result).text);
    if (json_parse(arena, result->body, result->body_len, BACKEND_MAX_ANSWER, &reply, &ignored) !=
            ERR_OK ||
        !json_str_at(reply, "access_token", NULL))
        return err_set(ei, ERR_DENIED, "stackdriver credentials: the reply has no access_token");
    return query_request(arena, question, json_str_at(reply, "access_token", NULL), request, ei);
}

/* A token comes with its lifetime. */
static int64_t stackdriver_lasts(struct arena *arena, int64_t now_ms,
                                 const struct http_result *result)
{
    struct json_object *reply = NULL;
    struct errinfo ignored;

    (void)now_ms;
    if (json_parse(arena, result->body, result->body_len, BACKEND_MAX_ANSWER, &reply, &ignored) !=
        ERR_OK)
        return 0;
    int64_t seconds = json_int_at(reply, 0, "expires_in", NULL);
    return seconds > 0 && seconds <= TOKEN_S * 24 ? seconds * 1000 : 0;
}

static struct metric_answer read_reply(struct arena *arena, const struct metric_question *question,
                                       struct json_object *reply)
{
    struct json_object *all = json_at(reply, "timeSeriesData", NULL);
    struct json_object *point = json_elem(json_at(json_elem(all, 0), "pointData", NULL), 0);
    struct json_object *value = json_elem(json_at(point, "values", NULL), 0);
    struct json_object *number = json_at(value, "doubleValue", NULL);

    number = number ? number : json_at(value, "int64Value", NULL);
    return backend_chosen(arena, backend_number(arena, question, number), "first", json_len(all),
                          "series");
}

/* An empty probe is rejected with 400, but only after the token was accepted. */
static struct metric_answer stackdriver_answer(struct arena *arena,
                                               const struct metric_question *question,
                                               const struct http_result *result)
{
    if (!question->query && result->status == 400)
        return (struct metric_answer){.outcome = METRIC_VALUE, .value = 1};
    return backend_read_json(arena, question, result, read_reply);
}

const struct metric_backend metric_backend_stackdriver = {
    .type = "stackdriver",
    .ambient = ambient,
    .own = (const char *const[]){"serviceAccountKey", NULL},
    .request = stackdriver_request,
    .next = stackdriver_next,
    .lasts = stackdriver_lasts,
    .answer = stackdriver_answer,
};
