#include "net/server/files.h"

#include "net/test_fixture.h"

static const struct http_file files[] = {
    {"/", HTTP_FILE_HTML, "<p>page</p>"},
    {"/page.css", HTTP_FILE_CSS, "p {}"},
    {NULL, NULL, NULL},
};

static void serve(void *arg, struct http_conn_request *req)
{
    (void)arg;
    http_files_serve(req, files);
}

static const struct http_route routes[] = {{"GET", "/*", serve}, {NULL, NULL, NULL}};

CASE(test_a_file_has_its_type_and_nothing_else_is_there)
{
    static const struct {
        const char *path;
        int status;
        const char *type, *body;
    } cases[] = {
        {"/", 200, HTTP_FILE_HTML, "<p>page</p>"},
        {"/page.css", 200, HTTP_FILE_CSS, "p {}"},
        {"/page.css/", 404, "application/json", "{\"error\":\"there is nothing at this path\"}"},
        {"/page.js", 404, "application/json", "{\"error\":\"there is nothing at this path\"}"},
    };

    struct fixture *f = SERVER(routes);
    EACH_ROW (row, cases) {
        struct answer a = {.want_header = "Content-Type"};
        exchange(f, (struct http_request){.url = url_of(f, row->path)}, &a);
        assert_int_equal(a.status, row->status);
        assert_string_equal(a.header, row->type);
        assert_string_equal(a.body, row->body);
    }
    fixture_end(f);
}
