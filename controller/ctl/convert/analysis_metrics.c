/* Metrics of AnalysisTemplates: each becomes a MetricTemplate, and a check in the Canary's
 * analysis. */
#include "ctl/convert/parts.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MOST_METRICS = 200, NAME_MAX_LEN = 253, DEFAULT_METRIC_MS = 60 * 1000, WINDOWS = 10 };

/* A metric that is being converted. */
struct metric {
    const struct run *run;
    struct json_object *json;
    const char *name, *path;       /* its name, and its path in the template, "spec.metrics[0]" */
    struct json_object *provider;  /* Argo's provider */
    const char *provider_key;      /* "prometheus" */
    struct json_object *out;       /* spec.provider of the MetricTemplate */
    struct json_object *variables; /* templateVariables of the Canary */
    const char *query;
    int64_t window_ms;   /* time that the backend looks back; 0 if the query determines it */
    const char *change;  /* a comment for spec.provider; NULL if none */
    const char *renamed; /* "web-new.shop", names that were changed; NULL if none were */
    bool unknown;        /* a variable has no value */
};

static void lose(const struct metric *m, const char *key, const char *text)
{
    conversion_lose(m->run->r->conversion, m->run->label,
                    arena_printf(m->run->r->arena, "%s.%s", m->path, key), "%s", text);
}

/* A field of the provider with arguments replaced by their values; NULL if it is missing or cannot
 * be known. */
static const char *provider_text(const struct metric *m, const char *key)
{
    const char *why, *text = value_text(m->run->r->arena, json_at(m->provider, key, NULL));
    const char *filled = text ? arguments_filled(m->run, text, &why) : NULL;

    if (text && !filled)
        lose(m, arena_printf(m->run->r->arena, "provider.%s.%s", m->provider_key, key), why);
    return filled && *filled ? filled : NULL;
}

static const char *query_of(struct metric *m, const char *text)
{
    return arguments_as_variables(m->run, text,
                                  arena_printf(m->run->r->arena, "%s.provider", m->path),
                                  m->variables, &m->unknown);
}

/* The text of the query; false if there is none. */
static bool take_query(struct metric *m)
{
    const char *text = json_str_at(m->provider, "query", NULL);

    if (!text || !*text) {
        lose(m, "provider", "it has no query: the metric is left out");
        return false;
    }
    m->query = query_of(m, text);
    return true;
}

static void set_address(struct metric *m, const char *assumed)
{
    const char *address = provider_text(m, "address");

    json_set_str(m->out, "address", address ? address : assumed);
    if (!address)
        m->change = "CHANGE THIS: the address is not in the AnalysisTemplate";
}

static void set_secret(struct metric *m, const char *name, const char *keys)
{
    json_set_str(json_sub(m->out, "secretRef"), "name", name);
    m->change = arena_printf(m->run->r->arena,
                             "%s%sthe Secret %s lies beside this template, with the keys %s",
                             m->change ? m->change : "", m->change ? "; " : "", name, keys);
}

/* --- providers: false if the metric is left out, which has been reported */

static void set_headers(struct metric *m)
{
    struct json_object *headers = json_at(m->provider, "headers", NULL);
    struct arena *arena = m->run->r->arena;

    for (size_t i = 0; i < json_len(headers); i++) {
        const char *name = json_str_at(json_elem(headers, i), "key", NULL), *why = "";
        const char *text = json_str_at(json_elem(headers, i), "value", NULL);
        const char *value = text ? arguments_filled(m->run, text, &why) : NULL;
        if (!name || !*name || !value) {
            lose(m, arena_printf(arena, "provider.%s.headers[%zu]", m->provider_key, i),
                 *why ? why : "expected a key and a value");
            continue;
        }
        struct json_object *values = json_object_new_array();
        json_object_array_add(values, json_object_new_string(value));
        json_set(json_sub(m->out, "headers"), name, values);
        json_object_put(values);
    }
}

static bool from_prometheus(struct metric *m)
{
    set_address(m, "http://prometheus:9090");
    set_headers(m);
    if (json_bool_at(m->provider, false, "insecure", NULL))
        json_set_bool(m->out, "insecureSkipVerify", true);
    return take_query(m);
}

/* The only query, if the newer interface has exactly one; else NULL. */
static const char *only_query(struct json_object *queries)
{
    const char *text = NULL;

    if (json_count(queries) != 1)
        return NULL;
    json_object_object_foreach(queries, key, value)
    {
        (void)key;
        text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
    }
    return text;
}

static bool from_datadog(struct metric *m)
{
    struct json_object *queries = json_at(m->provider, "queries", NULL);
    const char *only = only_query(queries);
    const char *secret = json_str_at(m->provider, "secretRef", "name", NULL);

    if (!value_duration(json_at(m->provider, "interval", NULL), &m->window_ms))
        m->window_ms = 5 * 60 * 1000;
    set_secret(m, secret ? secret : "datadog", "datadog_api_key and datadog_application_key");
    if (queries && !only) {
        lose(m, "provider.datadog.queries",
             "several queries with a formula: the metric is left out; write one query with the "
             "formula in it");
        return false;
    }
    if (only) {
        m->query = query_of(m, only);
        return true;
    }
    return take_query(m);
}

/* True if the text contains the word, ignoring case. */
static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (; *text; text++)
        if (strncasecmp(text, word, len) == 0 && !isalnum((unsigned char)text[len]))
            return true;
    return false;
}

static bool from_new_relic(struct metric *m)
{
    const char *profile = provider_text(m, "profile");

    set_secret(m, profile ? profile : "newrelic", "newrelic_account_id and newrelic_query_key");
    if (!take_query(m))
        return false;
    if (has_word(m->query, "since"))
        lose(m, "provider.newRelic.query",
             "take SINCE out of the query of the MetricTemplate: the metric's interval is put "
             "there");
    return true;
}

/* Keys in CloudWatch's spelling, MetricStat for metricStat. */
static struct json_object *with_capitals(struct json_object *value)
{
    struct json_object *out;

    if (json_object_is_type(value, json_type_array)) {
        out = json_object_new_array();
        for (size_t i = 0; i < json_len(value); i++)
            json_object_array_add(out, with_capitals(json_elem(value, i)));
        return out;
    }
    if (!json_object_is_type(value, json_type_object))
        return json_object_get(value);
    out = json_object_new_object();
    json_object_object_foreach(value, key, member)
    {
        char *name = heap_strdup(key);
        *name = (char)toupper((unsigned char)*name);
        json_object_object_add(out, name, with_capitals(member));
        free(name);
    }
    return out;
}

static bool from_cloudwatch(struct metric *m)
{
    struct json_object *queries = json_at(m->provider, "metricDataQueries", NULL);

    if (json_len(queries) == 0) {
        lose(m, "provider.cloudWatch", "it has no metricDataQueries: the metric is left out");
        return false;
    }
    if (!value_duration(json_at(m->provider, "interval", NULL), &m->window_ms))
        m->window_ms = 5 * 60 * 1000;
    json_set_str(m->out, "region", "us-east-1");
    m->change = "CHANGE THIS region: it was AWS_REGION of Argo's controller";
    m->query = query_of(
        m, json_text(m->run->r->arena, json_own(m->run->r->arena, with_capitals(queries))));
    return true;
}

static bool from_graphite(struct metric *m)
{
    set_address(m, "http://graphite");
    return take_query(m);
}

static bool from_influxdb(struct metric *m)
{
    const char *profile = provider_text(m, "profile");

    set_address(m, "http://influxdb:8086");
    set_secret(m, profile ? profile : "influxdb", "token and org");
    return take_query(m);
}

/* Sets the address to scheme and host, and path to the rest of the URL. False if only a cluster
 * knows the host. */
static bool set_url(struct metric *m)
{
    const char *url = json_str_at(m->provider, "url", NULL);
    const char *host = url ? strstr(url, "://") : NULL, *why = "expected http:// or https://";
    const char *rest = host ? host + 3 + strcspn(host + 3, "/?") : NULL;
    const char *address = NULL;

    if (host)
        address = arguments_filled(
            m->run, arena_strndup(m->run->r->arena, url, (size_t)(rest - url)), &why);
    if (!address) {
        lose(m, "provider.web.url", why);
        return false;
    }
    json_set_str(m->out, "address", address);
    if (*rest)
        json_set_str(m->out, "path", query_of(m, rest));
    return true;
}

/* "{$.a.b}", as in kubectl, becomes $.a.b. */
static const char *json_path(struct metric *m)
{
    const char *text = json_str_at(m->provider, "jsonPath", NULL);
    size_t len = text ? strlen(text) : 0;

    if (len == 0)
        return NULL;
    if (len >= 2 && text[0] == '{' && text[len - 1] == '}')
        text = arena_strndup(m->run->r->arena, text + 1, len - 2);
    if (*text == '.')
        text = arena_printf(m->run->r->arena, "$%s", text);
    return *text == '$' ? text : NULL;
}

/* Argo uses a timeout of ten seconds if it is missing, or 0. */
static void set_web_timeout(struct metric *m)
{
    enum { DEFAULT_S = 10, MAX_S = 60 };
    int64_t seconds = json_int_at(m->provider, 0, "timeoutSeconds", NULL);

    if (seconds <= 0)
        seconds = DEFAULT_S;
    if (seconds > MAX_S)
        lose(m, "provider.web.timeoutSeconds", "an answer may take 60 seconds");
    json_set_str(m->out, "timeout",
                 arena_printf(m->run->r->arena, "%ds", (int)(seconds > MAX_S ? MAX_S : seconds)));
}

static bool from_web(struct metric *m)
{
    const char *path = json_path(m), *method = provider_text(m, "method");
    struct json_object *json_body = json_at(m->provider, "jsonBody", NULL);
    const char *body =
        json_body ? json_text(m->run->r->arena, json_body) : json_str_at(m->provider, "body", NULL);

    if (!path) {
        lose(m, "provider.web.jsonPath",
             "it has no path to a number in the answer: the metric is left out");
        return false;
    }
    if (!set_url(m))
        return false;
    if (method)
        json_set_str(m->out, "method", method);
    if (body)
        json_set_str(m->out, "body", query_of(m, body));
    set_headers(m);
    set_web_timeout(m);
    if (json_bool_at(m->provider, false, "insecure", NULL))
        json_set_bool(m->out, "insecureSkipVerify", true);
    m->query = query_of(m, path);
    return true;
}

/* Providers without a row are left out, as their rows in fields.def say. */
static const struct provider {
    const char *key, *type;
    bool (*convert)(struct metric *m);
} providers[] = {
    {"prometheus", "prometheus", from_prometheus},
    {"datadog", "datadog", from_datadog},
    {"newRelic", "newrelic", from_new_relic},
    {"cloudWatch", "cloudwatch", from_cloudwatch},
    {"graphite", "graphite", from_graphite},
    {"influxdb", "influxdb", from_influxdb},
    {"web", "web", from_web},
};

static bool convert_provider(struct metric *m)
{
    struct json_object *all = json_at(m->json, "provider", NULL);

    for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++) {
        m->provider = json_at(all, providers[i].key, NULL);
        if (!m->provider)
            continue;
        m->provider_key = providers[i].key;
        json_set_str(m->out, "type", providers[i].type);
        return providers[i].convert(m);
    }
    if (json_count(all) == 0)
        lose(m, "provider", "it has none: the metric is left out");
    return false;
}

/* --- names */

/* A valid name for an object: lower-case letters, digits, - and . */
static const char *clean_name(struct arena *arena, const char *text)
{
    char *out = arena_strndup(arena, text, strnlen(text, NAME_MAX_LEN));
    size_t len = strlen(out);

    for (char *c = out; *c; c++) {
        *c = (char)tolower((unsigned char)*c);
        if (!isalnum((unsigned char)*c) && *c != '.')
            *c = '-';
    }
    while (len > 0 && !isalnum((unsigned char)out[len - 1]))
        out[--len] = '\0';
    out += strspn(out, "-.");
    return *out ? out : "metric";
}

/* The template is written once for all Canaries of the namespace; if another one has the same name,
 * it gets the Canary's name as a prefix. Returns its name. */
static const char *write_template(const struct metric *m)
{
    struct rollout *r = m->run->r;
    struct conversion *conversion = r->conversion;
    struct json_object *object =
        object_new(r->arena, "flagger.app/v1beta1", "MetricTemplate", r->namespace_, "");
    struct json_object *spec = json_sub(object, "spec");
    const char *name =
        clean_name(r->arena, json_len(json_at(m->run->spec, "metrics", NULL)) > 1
                                 ? arena_printf(r->arena, "%s-%s", m->run->name, m->name)
                                 : m->run->name);

    json_set(spec, "provider", m->out);
    json_set_str(spec, "query", m->query);
    const char *text = json_text_sorted(r->arena, spec);
    for (int i = 0; i < 2; i++) {
        const char *key = arena_printf(r->arena, "%s/%s", r->namespace_, name);
        const char *there = json_str_at(conversion->templates, key, NULL);
        if (there && strcmp(there, text) == 0)
            return name;
        if (!there) {
            json_set_str(conversion->templates, key, text);
            break;
        }
        name = clean_name(r->arena, arena_printf(r->arena, "%s-%s", r->target, name));
    }
    json_set_str(json_at(object, "metadata", NULL), "name", name);
    struct commented *commented = conversion_add(conversion, object);
    commented_add(r->arena, commented, "", "metric %s of %s", m->name, m->run->label);
    if (m->change)
        commented_add(r->arena, commented, "spec.provider", "%s", m->change);
    return name;
}

/* The metric's name, unless it would run a built-in query as well, or is in the list already. */
static const char *metric_name(const struct metric *m, struct json_object *metrics)
{
    bool taken = strcmp(m->name, "request-success-rate") == 0 ||
                 strcmp(m->name, "request-duration") == 0 ||
                 json_find(metrics, "name", m->name, NULL);

    return taken ? arena_printf(m->run->r->arena, "%s-%s", m->run->name, m->name) : m->name;
}

/* --- conditions */

static struct json_object *number(struct arena *arena, double value)
{
    struct buf text;
    struct json_object *out;

    buf_init(&text, 64);
    (void)buf_real(&text, value);
    out = json_own(arena, json_object_new_double_s(value, text.data));
    buf_fini(&text);
    return out;
}

static const char *condition_text(const struct metric *m, const char *key, bool *fine)
{
    const char *text = json_str_at(m->json, key, NULL), *why;
    const char *filled = text ? arguments_filled(m->run, text, &why) : NULL;

    if (text && !filled) {
        lose(m, key, arena_printf(m->run->r->arena, "%s: the metric is left out", why));
        *fine = false;
    }
    return filled;
}

static void write_range(const struct metric *m, const struct condition *c, struct json_object *row,
                        const char *at)
{
    struct rollout *r = m->run->r;
    struct json_object *range = json_sub(row, "thresholdRange");

    if (isfinite(c->min))
        json_set(range, "min", number(r->arena, condition_least(c)));
    if (isfinite(c->max))
        json_set(range, "max", number(r->arena, condition_largest(c)));
    if ((isfinite(c->min) && c->above) || (isfinite(c->max) && c->below))
        commented_add(r->arena, r->out, arena_printf(r->arena, "%s.thresholdRange", at),
                      "bounds belong to the range, which the condition left out: the next number "
                      "inside it stands here");
    if (c->elements)
        commented_add(r->arena, r->out, arena_printf(r->arena, "%s.thresholdRange", at),
                      "asked of every value of the result, and here of one: let the query make it "
                      "of them, by min() or max()");
    if (c->empty == CONDITION_EMPTY_GOOD) {
        json_set_str(row, "noData", "pass");
        commented_add(r->arena, r->out, arena_printf(r->arena, "%s.noData", at),
                      "the condition took a result without values for good");
    }
    if (json_at(m->json, "successCondition", NULL) && json_at(m->json, "failureCondition", NULL))
        commented_add(r->arena, r->out, arena_printf(r->arena, "%s.thresholdRange", at),
                      "a result that neither condition named was inconclusive, and held the "
                      "release for a person: here it is a failed check");
    if (json_count(range) == 0)
        commented_add(r->arena, r->out, arena_printf(r->arena, "%s.thresholdRange", at),
                      "without a condition every value is good");
}

/* --- limits */

/* A number of a metric, which an argument may supply; missing if it is not a number. */
static int64_t metric_number(const struct metric *m, const char *key, int64_t missing)
{
    const char *why, *text = value_text(m->run->r->arena, json_at(m->json, key, NULL));
    const char *filled = text ? arguments_filled(m->run, text, &why) : NULL;
    char *end;
    long long value = filled ? strtoll(filled, &end, 10) : 0;

    return filled && *filled && !*end ? (int64_t)value : missing;
}

static int64_t metric_ms(const struct metric *m, const char *key)
{
    const char *why, *text = value_text(m->run->r->arena, json_at(m->json, key, NULL));
    const char *filled = text ? arguments_filled(m->run, text, &why) : NULL;
    struct json_object *value =
        filled ? json_own(m->run->r->arena, json_object_new_string(filled)) : NULL;
    int64_t ms;

    return value && value_duration(value, &ms) ? ms : 0;
}

/* One failure more than the limit ends the release; the lowest limit of all metrics counts. */
static void count_limit(const struct metric *m)
{
    enum { MOST = 1000000 };
    struct rollout *r = m->run->r;
    int64_t limit = metric_number(m, "failureLimit", 0);

    if (limit >= 0 && limit < MOST && (r->threshold == 0 || limit + 1 < r->threshold))
        r->threshold = (int)limit + 1;
}

/* --- names of Services in queries */

/* The text, if it begins with the Rollout's Service, "web-new" or "web-new.shop.svc", with that
 * replaced by the Canary's; NULL if it begins with another name. */
static const char *renamed_service(const struct metric *m, const char *text, const char *from)
{
    const struct rollout *r = m->run->r;
    size_t len = from ? strlen(from) : 0;

    if (len == 0 || strncmp(text, from, len) != 0 || (text[len] && !strchr(".:", text[len])))
        return NULL;
    return arena_printf(r->arena, "%s-canary%s", r->service ? r->service : r->target, text + len);
}

/* Renames the Service that NAME-canary replaces, where it is a variable's value. The Service that
 * clients use keeps its name: it led to one version, and now leads to the primary. */
static void rename_services(struct metric *m)
{
    struct rollout *r = m->run->r;

    if (!r->canary_service)
        return;
    json_object_object_foreach(m->variables, key, value)
    {
        const char *text = arena_strdup(r->arena, json_object_get_string(value));
        const char *other = renamed_service(m, text, r->canary_service);
        if (!other || strcmp(other, text) == 0)
            continue;
        m->renamed = m->renamed ? arena_printf(r->arena, "%s, %s", m->renamed, text) : text;
        json_set_str(m->variables, key, other);
    }
    const char *own = renamed_service(m, r->canary_service, r->canary_service);
    if (strcmp(own, r->canary_service) != 0 && strstr(m->query, r->canary_service))
        lose(m, "provider",
             arena_printf(r->arena, "the query names %s: change it to %s, which takes its place",
                          r->canary_service, own));
}

/* --- one metric */

static bool is_dry(const struct metric *m, struct json_object *list)
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *name = json_str_at(json_elem(list, i), "metricName", NULL);
        if (name && (strcmp(name, m->name) == 0 || strcmp(name, ".*") == 0))
            return true;
    }
    return false;
}

static int64_t interval_of_check(const struct metric *m)
{
    int64_t ms = m->window_ms > 0 ? m->window_ms / WINDOWS : metric_ms(m, "interval");

    return ms >= 1000 ? ms : DEFAULT_METRIC_MS;
}

static void write_comments(const struct metric *m, const char *at)
{
    struct rollout *r = m->run->r;
    int64_t every = metric_ms(m, "interval");

    if (strcmp(m->run->path, "spec.strategy.canary.analysis") != 0 && r->canary)
        commented_add(r->arena, r->out, at, "%s: was one run there, and is a check at every step",
                      m->run->path);
    if (every > 0 && every < r->interval_ms)
        commented_add(r->arena, r->out, at,
                      "was checked every %s, and here once in each interval of %s; "
                      "analysis.judge looks between the steps as well",
                      duration_text(r->arena, every), duration_text(r->arena, r->interval_ms));
    if (m->window_ms > 0)
        commented_add(r->arena, r->out, arena_printf(r->arena, "%s.interval", at),
                      "%s of data, ten intervals, are asked for",
                      duration_text(r->arena, m->window_ms));
    if (m->renamed)
        commented_add(r->arena, r->out, arena_printf(r->arena, "%s.templateVariables", at),
                      "there stood %s, in whose place this Service is", m->renamed);
    if (m->unknown)
        commented_add(r->arena, r->out, arena_printf(r->arena, "%s.templateVariables", at),
                      "CHANGE THIS: a value is not known here; see the list at the end");
}

static struct json_object *metrics_of(struct rollout *r)
{
    struct json_object *metrics = json_at(r->analysis, "metrics", NULL);

    if (!metrics) {
        metrics = json_own(r->arena, json_object_new_array());
        json_set(r->analysis, "metrics", metrics);
    }
    return metrics;
}

static void write_metric(struct metric *m, const struct condition *condition)
{
    struct rollout *r = m->run->r;
    struct json_object *metrics = metrics_of(r),
                       *row = json_own(r->arena, json_object_new_object());
    const char *template = write_template(m);

    rename_services(m);
    /* Several analyses may contain the same metric. */
    for (size_t i = 0; i < json_len(metrics); i++) {
        struct json_object *other = json_elem(metrics, i);
        if (strcmp(json_str_at(other, "templateRef", "name", NULL), template) == 0 &&
            json_same(json_at(other, "templateVariables", NULL),
                      json_count(m->variables) > 0 ? m->variables : NULL))
            return;
    }
    if (json_len(metrics) >= MOST_METRICS) {
        lose(m, "name", "an analysis has at most 200 metrics: this one is left out");
        return;
    }
    const char *at = arena_printf(r->arena, "spec.analysis.metrics[%zu]", json_len(metrics));
    json_set_str(row, "name", metric_name(m, metrics));
    json_set_str(row, "interval", duration_text(r->arena, interval_of_check(m)));
    json_set_str(json_sub(row, "templateRef"), "name", template);
    if (json_count(m->variables) > 0)
        json_set(row, "templateVariables", m->variables);
    write_comments(m, at);
    write_range(m, condition, row, at);
    json_object_array_add(metrics, json_object_get(row));
    count_limit(m);
}

static void convert_metric(const struct run *run, struct json_object *json, size_t index)
{
    struct arena *arena = run->r->arena;
    struct metric m = {.run = run,
                       .json = json,
                       .name = json_str_at(json, "name", NULL),
                       .path = arena_printf(arena, "spec.metrics[%zu]", index),
                       .out = json_own(arena, json_object_new_object()),
                       .variables = json_own(arena, json_object_new_object())};
    struct condition condition;
    bool fine = true;
    struct errinfo ei;

    if (!m.name || !*m.name) {
        lose(&m, "name", "expected a name: the metric is left out");
        return;
    }
    if (is_dry(&m, json_at(run->spec, "dryRun", NULL)) ||
        is_dry(&m, json_at(run->analysis, "dryRun", NULL))) {
        lose(&m, "name", "a dry run decides nothing: the metric is left out");
        return;
    }
    if (!convert_provider(&m))
        return;
    const char *success = condition_text(&m, "successCondition", &fine);
    const char *failure = condition_text(&m, "failureCondition", &fine);
    if (!fine)
        return;
    if (condition_read(success, failure, &condition, &ei) != ERR_OK) {
        lose(&m, success ? "successCondition" : "failureCondition",
             arena_printf(arena,
                          "%s: the metric is left out; let the query itself make a number of it, "
                          "and give that a thresholdRange",
                          ei.text));
        return;
    }
    write_metric(&m, &condition);
}

static void convert_run(void *arg, const struct run *run)
{
    struct json_object *metrics = json_at(run->spec, "metrics", NULL);

    (void)arg;
    json_set_bool(run->r->conversion->used, run->label, true);
    for (size_t i = 0; i < json_len(metrics); i++)
        convert_metric(run, json_elem(metrics, i), i);
    if (json_object_is_type(run->spec, json_type_object))
        fields_lose(run->r->conversion, FIELD_TEMPLATE, run->label, run->spec);
}

/* This number of intervals, limited to what can be written. */
static int64_t longest(int64_t interval_ms, int threshold)
{
    const int64_t most = (int64_t)100 * 366 * 24 * 3600 * 1000;
    int count = threshold > 0 ? threshold : 1;

    return interval_ms < most / count ? interval_ms * count : most;
}

static bool is_analysed(const struct rollout *r)
{
    struct json_object *steps = json_at(r->canary, "steps", NULL);
    bool found = json_at(r->canary, "analysis", NULL) ||
                 json_at(r->green, "prePromotionAnalysis", NULL) ||
                 json_at(r->green, "postPromotionAnalysis", NULL);

    for (size_t i = 0; !found && i < json_len(steps); i++)
        found = json_at(json_elem(steps, i), "analysis", NULL) != NULL;
    return found;
}

void metrics_convert(struct rollout *r)
{
    analyses_all(r, convert_run, NULL);
    json_set_int(r->analysis, "threshold", r->threshold > 0 ? r->threshold : 1);
    if (!json_at(r->analysis, "metrics", NULL)) {
        if (is_analysed(r))
            commented_add(r->arena, r->out, "spec.analysis",
                          "CHANGE THIS: the Rollout was analysed, and none of its metrics is here: "
                          "nothing is checked until you give it others; see the list at the end");
        return;
    }
    if (r->canary && !r->splits)
        commented_add(
            r->arena, r->out, "spec.analysis.metrics",
            "no user's request reaches the new version before its promotion: make some by "
            "a webhook of type rollout (the load tester), or its metrics have no values");
    commented_add(r->arena, r->out, "spec.analysis.threshold",
                  "failures of all metrics count together, from the first weight on: one more than "
                  "the smallest failureLimit. A version that fails every check makes no step, and "
                  "is rolled back after %s",
                  duration_text(r->arena, longest(r->interval_ms, r->threshold)));
    json_set_str(r->analysis, "onMetricError", "hold");
    commented_add(r->arena, r->out, "spec.analysis.onMetricError",
                  "in place of consecutiveErrorLimit: an error of the metric server holds the "
                  "release, and counts as a failed check after progressDeadlineSeconds");
}

/* --- how long a run takes */

struct duration {
    int64_t run_ms, interval_ms;
};

static void measure_run(void *arg, const struct run *run)
{
    struct duration *duration = arg;
    struct json_object *metrics = json_at(run->spec, "metrics", NULL);

    for (size_t i = 0; i < json_len(metrics); i++) {
        const struct metric m = {.run = run, .json = json_elem(metrics, i)};
        int64_t count = metric_number(&m, "count", 0), every = metric_ms(&m, "interval");
        if (count < 1 || count > 1000000)
            continue;
        int64_t ms = metric_ms(&m, "initialDelay") + (count - 1) * every;
        duration->run_ms = ms > duration->run_ms ? ms : duration->run_ms;
        if (every > 0 && (duration->interval_ms == 0 || every < duration->interval_ms))
            duration->interval_ms = every;
    }
}

static struct duration measure(const struct rollout *r, struct json_object *analysis)
{
    enum { LONGEST_DAYS = 366 };
    const int64_t longest = (int64_t)LONGEST_DAYS * 24 * 3600 * 1000;
    struct duration duration = {0};
    /* Missing templates are reported when they are converted. */
    struct conversion quiet = *r->conversion;
    struct rollout copy = *r;

    quiet.losses = NULL;
    quiet.last_loss = &quiet.losses;
    copy.conversion = &quiet;
    analyses_each(&copy, analysis, "", measure_run, &duration);
    if (duration.run_ms > longest)
        duration.run_ms = longest;
    return duration;
}

int64_t metrics_run_ms(const struct rollout *r, struct json_object *analysis)
{
    return measure(r, analysis).run_ms;
}

int64_t metrics_interval_ms(const struct rollout *r, struct json_object *analysis)
{
    return measure(r, analysis).interval_ms;
}
