#include <malloc.h>

#include "metric/backend.h"
#include "tick/fixture_test.h"

static const struct metric_backend *prometheus(void)
{
    return metric_backend_find("prometheus");
}

CASE(test_request)
{
    static const struct {
        const char *address, *query, *url;
    } cases[] = {
        {"http://p:9090", "up", "http://p:9090/api/v1/query?query=up"},
        {"https://p/select/0/prometheus/", "a\n   b",
         "https://p/select/0/prometheus/api/v1/query?query=a+b"},
        {"http://p", "a{b=\"c\"} * 100", "http://p/api/v1/query?query=a%7Bb%3D%22c%22%7D+%2A+100"},
        {"p:9090", "up", NULL},
        {"", "up", NULL},
        {NULL, "up", NULL},
    };

    EACH_ROW (row, cases) {
        struct metric_question question = {.address = row->address, .query = row->query};
        struct metric_request request;
        struct errinfo ei;
        enum err err = prometheus()->request(arena, &question, 0, &request, &ei);
        assert_int_equal(err, row->url ? ERR_OK : ERR_INVALID);
        if (!row->url)
            continue;
        assert_string_equal(request.http.url, row->url);
        assert_int_equal(request.http.timeout_ms, 5000);
        assert_null(request.http.headers[0].name);
        assert_null(request.http.tls);
    }
}

CASE(test_credentials_and_headers)
{
    static const struct {
        const char *secret, *authorization; /* NULL if refused */
    } cases[] = {
        {"{'data':{'token':'c2VzYW1l'}}", "Bearer sesame"},
        {"{'data':{'token':'c2VzYW1l','username':'dQ==','password':'cA=='}}", "Bearer sesame"},
        {"{'data':{'username':'dQ==','password':'cA=='}}", "Basic dTpw"},
        {"{'data':{'username':'dQ=='}}", NULL},
        {"{'data':{'token':'***'}}", NULL},
        {"{}", NULL},
    };

    EACH_ROW (row, cases) {
        struct metric_question question = {
            .address = "http://p",
            .query = "up",
            .spec =
                fixture_json(arena, "{'insecureSkipVerify':true,'headers':{'X-Org':['a','b']}}"),
            .secret = fixture_json(arena, row->secret),
        };
        struct metric_request request;
        struct errinfo ei;
        enum err err = prometheus()->request(arena, &question, 0, &request, &ei);
        assert_int_equal(err, row->authorization ? ERR_OK : ERR_INVALID);
        if (err != ERR_OK)
            continue;
        assert_true(request.http.tls->insecure);
        assert_string_equal(request.http.headers[0].value, "a");
        assert_string_equal(request.http.headers[1].value, "b");
        assert_string_equal(request.http.headers[2].name, "Authorization");
        assert_string_equal(request.http.headers[2].value, row->authorization);
        assert_null(request.http.headers[3].name);
    }
}

CASE(test_whom_to_believe)
{
    static const struct {
        const char *address, *spec, *ca_pem;
        const char *mistake; /* NULL if the request is made */
        bool insecure;
    } cases[] = {
        {.address = "https://p", .spec = "{}"},
        {.address = "https://p", .spec = "{'insecureSkipVerify':true}", .insecure = true},
        {.address = "https://p", .spec = "{}", .ca_pem = "PEM"},
        {.address = "http://p",
         .spec = "{}",
         .ca_pem = "PEM",
         .mistake = "prometheus: caSecretRef needs an address that begins with https://"},
        {.address = "https://p",
         .spec = "{'insecureSkipVerify':true}",
         .ca_pem = "PEM",
         .mistake = "prometheus: caSecretRef needs a provider without insecureSkipVerify, which "
                    "believes everybody"},
    };

    EACH_ROW (row, cases) {
        struct metric_question question = {.backend = "prometheus",
                                           .address = row->address,
                                           .query = "up",
                                           .spec = fixture_json(arena, row->spec),
                                           .ca_pem = row->ca_pem};
        struct metric_request request;
        struct errinfo ei;
        enum err err = prometheus()->request(arena, &question, 0, &request, &ei);
        if (row->mistake) {
            assert_int_equal(err, ERR_INVALID);
            assert_string_equal(ei.text, row->mistake);
            continue;
        }
        assert_int_equal(err, ERR_OK);
        if (!row->insecure && !row->ca_pem) {
            assert_null(request.http.tls);
            continue;
        }
        assert_int_equal(request.http.tls->insecure, row->insecure);
        assert_ptr_equal(request.http.tls->ca_pem, row->ca_pem);
        assert_null(request.http.tls->ca_file);
    }
}

CASE(test_answer)
{
    static const struct {
        int status;
        const char *body;
        enum metric_outcome outcome;
        double value;
        const char *text;
    } cases[] = {
        {200, "{'data':{'resultType':'vector','result':[{'metric':{},'value':[1,'99.5']}]}}",
         METRIC_VALUE, 99.5, NULL},
        {200, "{'data':{'result':[{'value':[1,'1']},{'value':[1,'2e3']}]}}", METRIC_VALUE, 2000,
         NULL},
        {200, "{'data':{'resultType':'scalar','result':[1,'7']}}", METRIC_VALUE, 7, NULL},
        {200, "{'data':{'result':[{'value':[1,'+Inf']}]}}", METRIC_VALUE, __builtin_inf(), NULL},
        {200, "{'data':{'result':[]}}", METRIC_NO_VALUES, 0, "no values found"},
        {200, "{'data':{'result':[{'value':[1,'NaN']}]}}", METRIC_NO_VALUES, 0, "no values found"},
        {200, "{'data':{'result':[{'values':[[1,'1']]}]}}", METRIC_ERROR, 0,
         "query returned multiple values"},
        {200, "{'data':{'result':[{'value':[1,'x']}]}}", METRIC_ERROR, 0,
         "prometheus sent \"x\", expected a number"},
        {200, "{'data':{'result':[{'value':[1]}]}}", METRIC_ERROR, 0,
         "prometheus sent a sample without a value"},
        {200, "<html>", METRIC_ERROR, 0, NULL},
        {200, "", METRIC_ERROR, 0, NULL},
        {200, "[]", METRIC_ERROR, 0, "prometheus sent JSON without the list data.result"},
        {400, "bad query", METRIC_ERROR, 0, "error response: bad query"},
        {503, "", METRIC_ERROR, 0, "error response: status 503 without a text"},
    };
    const struct metric_question question = {.backend = "prometheus", .query = "up"};

    EACH_ROW (row, cases) {
        char *body = arena_strdup(arena, row->body);
        for (char *at = body; *at; at++)
            *at = *at == '\'' ? '"' : *at;
        const struct http_result result = {
            .status = row->status, .body = body, .body_len = strlen(body), .content_type = ""};
        struct metric_answer answer = prometheus()->answer(arena, &question, &result);
        assert_int_equal(answer.outcome, row->outcome);
        if (answer.outcome == METRIC_VALUE)
            assert_true(answer.value == row->value);
        else
            assert_non_null(answer.text);
        if (row->text)
            assert_string_equal(answer.text, row->text);
    }
}

static long in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return (long)(info.uordblks + info.hblkhd);
}

/* Only the number in a reply is kept; a reply that would need much memory is refused. */
CASE(test_memory)
{
    enum { MAX = 256 * 1024 };
    static const struct {
        const char *begin, *piece, *end;
        enum metric_outcome outcome;
    } cases[] = {
        {"{\"data\":{\"result\":[",
         "{\"metric\":{\"pod\":\"podinfo-primary-6f7d9c5b4-xxxxx\"},"
         "\"value\":[1700000000.123,\"0.25\"]},",
         "{\"value\":[1,\"5\"]}]}}", METRIC_VALUE},
        {"{\"data\":{\"result\":[", "{},", "{\"value\":[1,\"5\"]}]}}", METRIC_ERROR},
        {"[", "[],", "1]", METRIC_ERROR},
    };
    const struct metric_question question = {.address = "http://p", .query = "up"};

    EACH_ROW (row, cases) {
        struct buf body;
        struct metric_request request;
        struct errinfo ei;
        assert_int_equal(prometheus()->request(arena, &question, 0, &request, &ei), ERR_OK);
        assert_int_equal(request.http.max_body, MAX);
        buf_init(&body, MAX);
        buf_puts(&body, row->begin);
        while (body.len + strlen(row->piece) + strlen(row->end) < MAX)
            buf_puts(&body, row->piece);
        buf_puts(&body, row->end);
        const struct http_result result = {
            .status = 200, .body = body.data, .body_len = body.len, .content_type = ""};
        long before = in_use();
        struct metric_answer answer = prometheus()->answer(arena, &question, &result);
        assert_int_equal(answer.outcome, row->outcome);
        assert_true(answer.outcome == METRIC_ERROR ? strstr(answer.text, "memory") != NULL
                                                   : answer.value == 5);
        assert_true(in_use() - before < 16 * 1024);
        buf_fini(&body);
    }
}

CASE(test_probe)
{
    const struct metric_question question = {.address = "http://p"};
    struct metric_request request;
    struct errinfo ei;

    assert_int_equal(prometheus()->request(arena, &question, 0, &request, &ei), ERR_OK);
    assert_string_equal(request.http.url, "http://p/api/v1/query?query=vector%281%29");
    assert_null(metric_backend_find("nothing"));
    assert_null(metric_backend_find(NULL));
    assert_true(strstr(metric_backend_names(arena), "graphite, ") != NULL);
}
