#include "net/client_tls.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/buf.h"

/* curl keeps what it read of a CA file for a day, unless told otherwise. */
enum { MAX_CERT = 1024 * 1024, CA_CACHE_S = 1 };

static CURLcode set_blob(CURL *easy, CURLoption option, const char *pem)
{
    struct curl_blob blob = {
        .data = (void *)(uintptr_t)pem, .len = strlen(pem), .flags = CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

static CURLcode set_ca_file(CURL *easy, const char *file)
{
    curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, (long)CA_CACHE_S);
    return curl_easy_setopt(easy, CURLOPT_CAINFO, file);
}

static CURLcode set_trust(CURL *easy, const struct http_tls *tls, const char *more_ca)
{
    CURLcode code = CURLE_OK;

    if (tls->insecure) {
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
        return CURLE_OK;
    }
    if (!tls->ca_pem && !tls->ca_file)
        return more_ca ? set_ca_file(easy, more_ca) : CURLE_OK;
    /* Without this the system's directory of certificates would be trusted as well. */
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    if (tls->ca_pem)
        code = set_blob(easy, CURLOPT_CAINFO_BLOB, tls->ca_pem);
    else
        code = set_ca_file(easy, tls->ca_file);
    return code;
}

/*
 * curl shares connections by certificate without looking at the key. Text after the certificate is
 * ignored when it is read but compared when connections are: the key's digest there keeps those
 * with another key apart.
 */
static CURLcode set_cert(CURL *easy, const struct http_tls *tls)
{
    const char *key = tls->key_pem ? tls->key_pem : tls->key_file;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;

    if (EVP_Digest(key, strlen(key), digest, &len, EVP_sha256(), NULL) != 1)
        return CURLE_OUT_OF_MEMORY;
    struct buf text;
    buf_init(&text, MAX_CERT);
    buf_printf(&text, "%s\n# key ", tls->cert_pem);
    for (unsigned int i = 0; i < len; i++)
        buf_printf(&text, "%02x", digest[i]);
    CURLcode code = text.truncated ? CURLE_BAD_FUNCTION_ARGUMENT
                                   : set_blob(easy, CURLOPT_SSLCERT_BLOB, text.data);
    buf_fini(&text);
    return code;
}

static CURLcode set_identity(CURL *easy, const struct http_tls *tls)
{
    CURLcode code = CURLE_OK;

    if (tls->cert_pem)
        code = set_cert(easy, tls);
    else if (tls->cert_file)
        code = curl_easy_setopt(easy, CURLOPT_SSLCERT, tls->cert_file);
    if (code != CURLE_OK)
        return code;
    if (tls->key_pem)
        code = set_blob(easy, CURLOPT_SSLKEY_BLOB, tls->key_pem);
    else if (tls->key_file)
        code = curl_easy_setopt(easy, CURLOPT_SSLKEY, tls->key_file);
    return code;
}

enum err client_tls_apply(CURL *easy, const struct http_tls *tls, const char *more_ca,
                          struct errinfo *ei)
{
    static const struct http_tls none;

    if (!tls)
        tls = &none;
    bool has_cert = tls->cert_pem || tls->cert_file;
    bool has_key = tls->key_pem || tls->key_file;
    if (has_cert != has_key)
        return err_set(ei, ERR_INVALID,
                       "a client certificate needs its key, and a key its certificate");
    CURLcode code = set_trust(easy, tls, more_ca);
    if (code == CURLE_OK)
        code = set_identity(easy, tls);
    if (code != CURLE_OK)
        return err_set(ei, ERR_INVALID, "unusable TLS settings: %s", curl_easy_strerror(code));
    return ERR_OK;
}
