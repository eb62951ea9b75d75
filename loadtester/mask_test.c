/* mask: what is shown of a command. */

#include <string.h>

#include "loadtester/mask.h"
#include "test/unit.h"

CASE(credentials_are_not_shown)
{
    static const struct {
        const char *text, *shown; /* NULL: as it is */
    } cases[] = {
        {"hey -z 1m -q 10 http://podinfo-canary.test/", NULL},
        {"hey -H 'Authorization: Bearer abc.def' http://x/",
         "hey -H 'Authorization: ***' http://x/"},
        {"hey -H \"authorization: Basic Zm9v\" http://x/",
         "hey -H \"authorization: ***\" http://x/"},
        {"hey -H Authorization:abc http://x/", "hey -H Authorization:***"},
        {"hey -H 'X-Api-Key: k1' -H 'Accept: text/html' x",
         "hey -H 'X-Api-Key: ***' -H 'Accept: text/html' x"},
        {"hey -H 'Cookie: session=1' x", "hey -H 'Cookie: ***' x"},
        {"hey -a admin:geheim http://x/", "hey -a *** http://x/"},
        {"curl -u 'admin:ge heim' http://x/", "curl -u *** http://x/"},
        {"curl http://admin:geheim@x:80/a?b", "curl http://***@x:80/a?b"},
        {"curl http://x/a@b", NULL},
        {"kubectl --token=abc get pods", "kubectl --token=*** get pods"},
        {"kubectl --token abc get pods", "kubectl --token *** get pods"},
        {"kubectl --token-file f get pods", NULL},
        {"PGPASSWORD=geheim psql", "PGPASSWORD=*** psql"},
        {"curl -d '{\"password\": \"geheim\", \"a\": 1}' x",
         "curl -d '{\"password\": ***, \"a\": 1}' x"},
        {"curl 'http://x/?access_token=abc&b=1'", "curl 'http://x/?access_token=***&b=1'"},
        {"echo Bearer abc", "echo Bearer ***"},
        {"echo bearer", NULL},
        {"", NULL},
        {"token=", NULL},
        {"--token", NULL},
        {"token='open", "token=***"},
        {"tokens of the secret society", NULL},
    };

    EACH_ROW (row, cases) {
        const char *shown = mask_credentials(arena, row->text);
        assert_string_equal(shown, row->shown ? row->shown : row->text);
    }
}
