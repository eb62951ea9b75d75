#include "api/apitls.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/stat.h>

#include "object/try.h"

static X509 *load(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    X509 *cert = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    assert_non_null(cert);
    return cert;
}

CASE(test_chain)
{
    struct apitls tls;
    struct errinfo ei;
    assert_int_equal(apitls_make(arena, unit_folder(), &tls, &ei), ERR_OK);
    X509 *ca = load(tls.ca_file), *cert = load(tls.cert_file);
    EVP_PKEY *key = X509_get_pubkey(ca);
    assert_int_equal(X509_verify(cert, key), 1);
    assert_int_equal(X509_check_ip_asc(cert, "127.0.0.1", 0), 1);
    assert_int_equal(X509_check_host(cert, "localhost", 0, 0, NULL), 1);
    assert_int_equal(X509_check_host(cert, "example.com", 0, 0, NULL), 0);
    assert_true(X509_check_ca(ca) > 0);
    assert_int_equal(X509_check_ca(cert), 0);
    struct stat st;
    assert_int_equal(stat(tls.key_file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    EVP_PKEY_free(key);
    X509_free(ca);
    X509_free(cert);
}

CASE(test_no_directory)
{
    struct apitls tls;
    struct errinfo ei = {0};
    assert_int_not_equal(apitls_make(arena, "/nonexistent/apitls", &tls, &ei), ERR_OK);
    assert_true(*ei.text);
}
