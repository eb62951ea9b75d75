#include "gate/page/page.h"

#include "net/server/files.h"

/* The build makes these of gate/page and proto/page (flagger_page() in CMakeLists.txt). */
extern const char gate_page_index_html[], gate_page_page_css[], gate_page_icon_svg[],
    gate_page_main_js[], gate_page_api_js[], gate_page_card_js[], gate_page_act_js[],
    gate_page_model_js[], gate_page_dom_js[], gate_page_span_js[], gate_page_link_css[];

static const struct http_file files[] = {
    {"/", HTTP_FILE_HTML, gate_page_index_html},
    {"/page/page.css", HTTP_FILE_CSS, gate_page_page_css},
    {"/page/link.css", HTTP_FILE_CSS, gate_page_link_css},
    {"/page/icon.svg", HTTP_FILE_SVG, gate_page_icon_svg},
    {"/page/main.js", HTTP_FILE_JS, gate_page_main_js},
    {"/page/api.js", HTTP_FILE_JS, gate_page_api_js},
    {"/page/card.js", HTTP_FILE_JS, gate_page_card_js},
    {"/page/act.js", HTTP_FILE_JS, gate_page_act_js},
    {"/page/model.js", HTTP_FILE_JS, gate_page_model_js},
    {"/page/dom.js", HTTP_FILE_JS, gate_page_dom_js},
    {"/page/span.js", HTTP_FILE_JS, gate_page_span_js},
    {NULL, NULL, NULL},
};

void page_serve(void *arg, struct http_conn_request *req)
{
    (void)arg;
    http_files_serve(req, files);
}
