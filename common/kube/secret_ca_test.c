#include "kube/secret.h"

#include "base/encoding.h"
#include "net/certs_test.h"
#include "test/unit.h"

static struct cert one, other;

static struct json_object *secret_of(struct arena *arena, const char *key, const char *value)
{
    struct json_object *secret = json_own(arena, json_object_new_object());
    struct json_object *data = json_own(arena, json_object_new_object());
    json_set_str(data, key, value);
    json_set(secret, "data", data);
    return secret;
}

static const char *base64(struct arena *arena, const char *text)
{
    return base64_encode(arena, text, strlen(text));
}

CASE(test_what_is_read)
{
    /* An encrypted block must be rejected without asking for a password. */
    const char *encrypted = "-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\n"
                            "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n"
                            "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw\n-----END CERTIFICATE-----\n";
    const char *cut = arena_strndup(arena, one.cert_pem, strlen(one.cert_pem) / 2);
    const struct {
        const char *key, *value; /* key and value in the Secret */
        const char *asked;
        const char *mistake; /* NULL if the text is expected */
        const char *text;
    } cases[] = {
        {"ca.crt", base64(arena, one.cert_pem), NULL, NULL, one.cert_pem},
        {"ca.crt", base64(arena, arena_printf(arena, "%s%s", one.cert_pem, other.cert_pem)),
         "ca.crt", NULL, arena_printf(arena, "%s%s", one.cert_pem, other.cert_pem)},
        {"root.pem", base64(arena, one.cert_pem), "root.pem", NULL, one.cert_pem},
        {"root.pem", base64(arena, one.cert_pem), NULL, "Secret ca.test has no key ca.crt", NULL},
        {"ca.crt", base64(arena, one.cert_pem), "tls.crt", "Secret ca.test has no key tls.crt",
         NULL},
        {"ca.crt", "%%%", NULL, "Secret ca.test: the value of key ca.crt is not base64", NULL},
        {"ca.crt", "", NULL, "Secret ca.test: the value of key ca.crt holds no certificates in PEM",
         NULL},
        {"ca.crt", base64(arena, "none here"), NULL,
         "Secret ca.test: the value of key ca.crt holds no certificates in PEM", NULL},
        {"ca.crt", base64(arena, one.key_pem), NULL,
         "Secret ca.test: the value of key ca.crt holds no certificates in PEM", NULL},
        {"ca.crt", base64(arena, cut), NULL,
         "Secret ca.test: the value of key ca.crt holds no certificates in PEM", NULL},
        {"ca.crt", base64(arena, arena_printf(arena, "%s%s", one.cert_pem, encrypted)), NULL,
         "Secret ca.test: the value of key ca.crt holds no certificates in PEM", NULL},
        {"ca.crt", base64_encode(arena, "a\0b", 3), NULL,
         "Secret ca.test: the value of key ca.crt holds no certificates in PEM", NULL},
    };

    EACH_ROW (row, cases) {
        const char *pem;
        struct errinfo ei = {0};
        enum err err = secret_ca_read(arena, "ca.test", secret_of(arena, row->key, row->value),
                                      row->asked, &pem, &ei);
        if (!row->mistake) {
            assert_int_equal(err, ERR_OK);
            assert_string_equal(pem, row->text);
        } else {
            assert_int_equal(err, ERR_INVALID);
            assert_string_equal(ei.text, row->mistake);
            assert_null(pem);
        }
    }
}

static int group_setup(void **state)
{
    cert_make(&one, NULL, "one");
    cert_make(&other, NULL, "other");
    return 0;
}

UNIT_FIXTURE(.set_up_all = group_setup, .tear_down_all = certs_free);
