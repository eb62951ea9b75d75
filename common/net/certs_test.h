/*
 * For tests only: a certificate authority and its certificates, made for each run and written to
 * unit_folder(). A certificate is for 127.0.0.1 and the name given. Use certs_free() as
 * tear_down_all.
 */
#ifndef NET_CERTS_TEST_H
#define NET_CERTS_TEST_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit.h"

struct cert {
    X509 *x509;
    EVP_PKEY *key;
    char cert_file[128];
    char key_file[128];
    char cert_pem[4096];
    char key_pem[4096];
    struct cert *before;
};

static struct cert *certs_made;

static inline void cert_extension(X509 *x509, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, x509, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    X509_add_ext(x509, ext, -1);
    X509_EXTENSION_free(ext);
}

static inline void cert_slurp(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    text[file ? fread(text, 1, size - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
}

/* ca NULL: self-signed, and an authority itself. */
static inline void cert_make(struct cert *cert, const struct cert *ca, const char *name)
{
    static long serial = 1;
    char alt[128];

    *cert = (struct cert){.x509 = X509_new(), .key = EVP_EC_gen("P-256"), .before = certs_made};
    certs_made = cert;
    X509_set_version(cert->x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert->x509), serial++);
    X509_gmtime_adj(X509_getm_notBefore(cert->x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert->x509), 3600);
    X509_set_pubkey(cert->x509, cert->key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert->x509), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509 *issuer = ca ? ca->x509 : cert->x509;
    X509_set_issuer_name(cert->x509, X509_get_subject_name(issuer));
    cert_extension(cert->x509, issuer, NID_basic_constraints,
                   ca ? "critical,CA:FALSE" : "critical,CA:TRUE");
    if (ca) {
        snprintf(alt, sizeof(alt), "DNS:%s,IP:127.0.0.1", name);
        cert_extension(cert->x509, issuer, NID_subject_alt_name, alt);
    }
    X509_sign(cert->x509, ca ? ca->key : cert->key, EVP_sha256());

    snprintf(cert->cert_file, sizeof(cert->cert_file), "%s/%s.crt", unit_folder(), name);
    snprintf(cert->key_file, sizeof(cert->key_file), "%s/%s.key", unit_folder(), name);
    FILE *file = fopen(cert->cert_file, "w");
    PEM_write_X509(file, cert->x509);
    fclose(file);
    file = fopen(cert->key_file, "w");
    PEM_write_PrivateKey(file, cert->key, NULL, NULL, 0, NULL, NULL);
    fclose(file);
    cert_slurp(cert->cert_file, cert->cert_pem, sizeof(cert->cert_pem));
    cert_slurp(cert->key_file, cert->key_pem, sizeof(cert->key_pem));
}

static inline int certs_free(void **state)
{
    for (; certs_made; certs_made = certs_made->before) {
        X509_free(certs_made->x509);
        EVP_PKEY_free(certs_made->key);
    }
    return 0;
}

#endif
