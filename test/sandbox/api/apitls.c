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

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool ok = extension && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
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
    it->key = EVP_EC_gen("P-256");
    it->cert = X509_new();
    if (!it->key || !it->cert)
        return false;
    X509 *cert = it->cert;
    const struct issued *by = issuer ? issuer : it;
    bool ok = X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
              X509_gmtime_adj(X509_getm_notBefore(cert), -DAY_S) != NULL &&
              X509_gmtime_adj(X509_getm_notAfter(cert), (long)VALID_DAYS * DAY_S) != NULL &&
              X509_set_pubkey(cert, it->key) == 1 && set_name(X509_get_subject_name(cert), name) &&
              X509_set_issuer_name(cert, X509_get_subject_name(by->cert)) == 1 &&
              add_extension(cert, by->cert, NID_subject_key_identifier, "hash");
    if (ok && !issuer) {
        ok = add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE") &&
             add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign");
    } else if (ok) {
        ok = add_extension(cert, by->cert, NID_basic_constraints, "critical,CA:FALSE") &&
             add_extension(cert, by->cert, NID_authority_key_identifier, "keyid") &&
             add_extension(cert, by->cert, NID_key_usage, "critical,digitalSignature") &&
             add_extension(cert, by->cert, NID_ext_key_usage, "serverAuth") &&
             add_extension(cert, by->cert, NID_subject_alt_name,
                           "DNS:localhost,IP:127.0.0.1,IP:0:0:0:0:0:0:0:1,DNS:kubernetes,"
                           "DNS:kubernetes.default,DNS:kubernetes.default.svc,"
                           "DNS:kubernetes.default.svc.cluster.local");
    }
    return ok && X509_sign(cert, by->key, EVP_sha256()) > 0;
}

static enum err write_pem(struct arena *arena, BIO *bio, const char *path, unsigned mode,
                          const char **text, struct errinfo *ei)
{
    char *data;
    long len = BIO_get_mem_data(bio, &data);
    if (text)
        *text = arena_strndup(arena, data, (size_t)len);
    enum err err = file_write(path, data, (size_t)len, mode, ei);
    BIO_free(bio);
    return err;
}

static enum err write_cert(struct arena *arena, X509 *cert, const char *path, const char **text,
                           struct errinfo *ei)
{
    BIO *bio = BIO_new(BIO_s_mem());
    if (!bio || PEM_write_bio_X509(bio, cert) != 1) {
        BIO_free(bio);
        return err_set(ei, ERR_INVALID, "cannot write the certificate %s: out of memory", path);
    }
    return write_pem(arena, bio, path, 0644, text, ei);
}

static enum err write_key(struct arena *arena, EVP_PKEY *key, const char *path, struct errinfo *ei)
{
    BIO *bio = BIO_new(BIO_s_mem());
    if (!bio || PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1) {
        BIO_free(bio);
        return err_set(ei, ERR_INVALID, "cannot write the key %s: out of memory", path);
    }
    return write_pem(arena, bio, path, 0600, NULL, ei);
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
    err = write_cert(arena, ca.cert, out->ca_file, &out->ca_pem, ei);
    if (err == ERR_OK)
        err = write_cert(arena, server.cert, out->cert_file, NULL, ei);
    if (err == ERR_OK)
        err = write_key(arena, server.key, out->key_file, ei);
out:
    free_issued(&ca);
    free_issued(&server);
    return err;
}
