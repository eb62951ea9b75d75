#include "api/apitls.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <string.h>

#include "base/file.h"

enum { DAY_S = 24 * 60 * 60, VALID_DAYS = 825, SERIAL_BITS = 127 };

/* Everything of one certificate that has to be freed. */
struct issued {
    EVP_PKEY *key;
    X509 *cert;
};

static void free_issued(struct issued *it)
{
    EVP_PKEY_free(it->key);
    X509_free(it->cert);
}

struct extension {
    int nid;
    const char *value;
};

/* Those of a list that ends with value NULL. */
static bool add_extensions(X509 *cert, X509 *issuer, const struct extension *list)
{
    bool ok = true;
    for (; ok && list->value; list++) {
        X509V3_CTX context;
        X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
        X509_EXTENSION *it = X509V3_EXT_conf_nid(NULL, &context, list->nid, list->value);
        ok = it && X509_add_ext(cert, it, -1) == 1;
        X509_EXTENSION_free(it);
    }
    return ok;
}

static bool set_serial(X509 *cert)
{
    BIGNUM *number = BN_new();
    bool ok = number && BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
              BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
    BN_free(number);
    return ok;
}

static bool set_name(X509_NAME *name, const char *text)
{
    return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)text, -1,
                                      -1, 0) == 1;
}

/* issuer NULL: signed by itself, a CA. */
static bool issue(struct issued *it, const char *name, const struct issued *issuer)
{
    static const struct extension of_ca[] = {
        {NID_subject_key_identifier, "hash"},
        {NID_basic_constraints, "critical,CA:TRUE"},
        {NID_key_usage, "critical,keyCertSign,cRLSign"},
        {0},
    };
    static const struct extension of_server[] = {
        {NID_subject_key_identifier, "hash"},
        {NID_basic_constraints, "critical,CA:FALSE"},
        {NID_authority_key_identifier, "keyid"},
        {NID_key_usage, "critical,digitalSignature"},
        {NID_ext_key_usage, "serverAuth"},
        {NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:0:0:0:0:0:0:0:1,DNS:kubernetes,"
                               "DNS:kubernetes.default,DNS:kubernetes.default.svc,"
                               "DNS:kubernetes.default.svc.cluster.local"},
        {0},
    };
    *it = (struct issued){.key = EVP_EC_gen("P-256"), .cert = X509_new()};
    if (!it->key || !it->cert)
        return false;
    X509 *cert = it->cert;
    const struct issued *by = issuer ? issuer : it;
    return X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
           X509_gmtime_adj(X509_getm_notBefore(cert), -DAY_S) != NULL &&
           X509_gmtime_adj(X509_getm_notAfter(cert), (long)VALID_DAYS * DAY_S) != NULL &&
           X509_set_pubkey(cert, it->key) == 1 && set_name(X509_get_subject_name(cert), name) &&
           X509_set_issuer_name(cert, X509_get_subject_name(by->cert)) == 1 &&
           add_extensions(cert, by->cert, issuer ? of_server : of_ca) &&
           X509_sign(cert, by->key, EVP_sha256()) > 0;
}

/* A certificate, or if that is NULL a key, into a file; text may be NULL. */
static enum err write_pem(struct arena *arena, X509 *cert, EVP_PKEY *key, const char *path,
                          const char **text, struct errinfo *ei)
{
    char *data;
    BIO *bio = BIO_new(BIO_s_mem());
    enum err err = err_set(ei, ERR_INVALID, "cannot write %s: out of memory", path);
    if (bio && (cert ? PEM_write_bio_X509(bio, cert)
                     : PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL)) == 1) {
        size_t len = (size_t)BIO_get_mem_data(bio, &data);
        if (text)
            *text = arena_strndup(arena, data, len);
        err = file_write(path, data, len, cert ? 0644 : 0600, ei);
    }
    BIO_free(bio);
    return err;
}

enum err apitls_make(struct arena *arena, const char *directory, struct apitls *out,
                     struct errinfo *ei)
{
    struct issued ca = {0}, server = {0};
    enum err err;
    *out = (struct apitls){
        .ca_file = arena_printf(arena, "%s/ca.crt", directory),
        .cert_file = arena_printf(arena, "%s/tls.crt", directory),
        .key_file = arena_printf(arena, "%s/tls.key", directory),
    };
    if (!issue(&ca, "flagger-sandbox CA", NULL) || !issue(&server, "flagger-sandbox", &ca)) {
        err = err_set(ei, ERR_INVALID, "the TLS library cannot make a certificate");
        goto out;
    }
    err = write_pem(arena, ca.cert, NULL, out->ca_file, &out->ca_pem, ei);
    if (err == ERR_OK)
        err = write_pem(arena, server.cert, NULL, out->cert_file, NULL, ei);
    if (err == ERR_OK)
        err = write_pem(arena, NULL, server.key, out->key_file, NULL, ei);
out:
    free_issued(&ca);
    free_issued(&server);
    return err;
}
