#include "kube/secret_ca.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>

#include "base/base64.h"

/* Prevents OpenSSL from asking for a password on the terminal. */
static int no_password(char *out, int size, int writing, void *arg)
{
    (void)out, (void)size, (void)writing, (void)arg;
    return -1;
}

/* Returns -1 for a broken or encrypted block, with which TLS would refuse the whole text. */
static int count_certificates(const char *pem, size_t len)
{
    int count = -1;

    if (len > INT_MAX || strlen(pem) != len)
        return -1;
    ERR_set_mark();
    BIO *bio = BIO_new_mem_buf(pem, (int)len);
    STACK_OF(X509_INFO) *blocks = bio ? PEM_X509_INFO_read_bio(bio, NULL, no_password, NULL) : NULL;
    if (blocks) {
        count = 0;
        for (int i = 0; i < sk_X509_INFO_num(blocks); i++)
            if (sk_X509_INFO_value(blocks, i)->x509)
                count++;
    }
    sk_X509_INFO_pop_free(blocks, X509_INFO_free);
    BIO_free(bio);
    ERR_pop_to_mark();
    return count;
}

enum err secret_ca_read(struct arena *arena, const char *secret_name, struct json_object *secret,
                        const char *key, const char **pem, struct errinfo *ei)
{
    char *text;
    size_t len;
    struct errinfo why;

    *pem = NULL;
    if (!key)
        key = SECRET_CA_KEY;
    struct json_object *encoded = json_at(secret, "data", key, NULL);
    if (!encoded)
        return err_set(ei, ERR_INVALID, "Secret %s has no key %.80s", secret_name, key);
    if (!json_object_is_type(encoded, json_type_string) ||
        base64_decode(arena, json_object_get_string(encoded), &text, &len, &why) != ERR_OK)
        return err_set(ei, ERR_INVALID, "Secret %s: the value of key %.80s is not base64",
                       secret_name, key);
    if (count_certificates(text, len) < 1)
        return err_set(ei, ERR_INVALID,
                       "Secret %s: the value of key %.80s holds no certificates in PEM",
                       secret_name, key);
    *pem = text;
    return ERR_OK;
}
