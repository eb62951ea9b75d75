#include <openssl/err.h>
#include <string.h>

#include "net/server_internal.h"

/* HTTP/1.1 only: this h2o is older than the fix for HTTP/2's rapid resets. */
static int select_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned int in_len, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1";

    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len, ours, sizeof(ours) - 1, in,
                              in_len) == OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_OK;
    return SSL_TLSEXT_ERR_NOACK;
}

static enum err tls_error(const char *what, const char *file, struct errinfo *ei)
{
    char reason[160] = "unknown reason";
    unsigned long code = ERR_peek_last_error();

    if (code)
        ERR_error_string_n(code, reason, sizeof(reason));
    ERR_clear_error();
    return err_set(ei, ERR_INVALID, "cannot use the %s %s: %s", what, file, reason);
}

static enum err load(SSL_CTX *ctx, const struct http_server_options *options, struct errinfo *ei)
{
    if (SSL_CTX_use_certificate_chain_file(ctx, options->tls_cert_file) != 1)
        return tls_error("TLS certificate", options->tls_cert_file, ei);
    if (SSL_CTX_use_PrivateKey_file(ctx, options->tls_key_file, SSL_FILETYPE_PEM) != 1)
        return tls_error("TLS key", options->tls_key_file, ei);
    if (!options->tls_client_ca_file)
        return ERR_OK;
    if (SSL_CTX_load_verify_locations(ctx, options->tls_client_ca_file, NULL) != 1)
        return tls_error("CA of clients", options->tls_client_ca_file, ei);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return ERR_OK;
}

enum err server_tls_new(const struct http_server_options *options, SSL_CTX **out,
                        struct errinfo *ei)
{
    static const unsigned char context[] = "flagger-c";

    *out = NULL;
    if (!options->tls_cert_file && !options->tls_key_file) {
        if (options->tls_client_ca_file)
            return err_set(ei, ERR_INVALID, "a CA of clients needs a TLS certificate and key");
        return ERR_OK;
    }
    if (!options->tls_cert_file || !options->tls_key_file)
        return err_set(ei, ERR_INVALID, "TLS needs both a certificate file and a key file");
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    if (!ctx)
        return err_set(ei, ERR_INVALID, "TLS cannot be set up");
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_id_context(ctx, context, sizeof(context) - 1);
    SSL_CTX_set_alpn_select_cb(ctx, select_protocol, NULL);
    enum err err = load(ctx, options, ei);
    if (err != ERR_OK) {
        SSL_CTX_free(ctx);
        return err;
    }
    *out = ctx;
    return ERR_OK;
}
