#include <assert.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "net/file_watch.h"
#include "net/server/server_internal.h"

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

/* Refuses pipes, on which OpenSSL would block. */
static enum err check_files(const struct http_server_options *options, struct errinfo *ei)
{
    const struct {
        const char *what, *path;
    } files[] = {{"TLS certificate", options->tls_cert_file},
                 {"TLS key", options->tls_key_file},
                 {"CA of clients", options->tls_client_ca_file}};
    struct errinfo why;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (files[i].path && file_check(files[i].path, &why) != ERR_OK)
            return err_set(ei, ERR_INVALID, "cannot use the %s %s: %s", files[i].what,
                           files[i].path, why.text);
    }
    return ERR_OK;
}

static enum err load(SSL_CTX *ctx, const struct http_server_options *options, struct errinfo *ei)
{
    int verify = SSL_VERIFY_PEER;
    enum err err = check_files(options, ei);

    if (err != ERR_OK)
        return err;
    if (SSL_CTX_use_certificate_chain_file(ctx, options->tls_cert_file) != 1)
        return tls_error("TLS certificate", options->tls_cert_file, ei);
    if (SSL_CTX_use_PrivateKey_file(ctx, options->tls_key_file, SSL_FILETYPE_PEM) != 1)
        return tls_error("TLS key", options->tls_key_file, ei);
    if (!options->tls_client_ca_file)
        return ERR_OK;
    if (SSL_CTX_load_verify_locations(ctx, options->tls_client_ca_file, NULL) != 1)
        return tls_error("CA of clients", options->tls_client_ca_file, ei);
    if (!options->tls_client_optional)
        verify |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(ctx, verify, NULL);
    return ERR_OK;
}

/* The common name, on the heap. NULL if there is none, or more than one: it would be ambiguous. */
static char *common_name(const X509 *certificate)
{
    const X509_NAME *subject = X509_get_subject_name(certificate);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    unsigned char *utf8 = NULL;
    char *name = NULL;

    if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0)
        return NULL;
    int len =
        ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (len > 0 && strlen((const char *)utf8) == (size_t)len)
        name = heap_strdup((const char *)utf8);
    OPENSSL_free(utf8);
    ERR_clear_error();
    return name;
}

/*
 * Saves the client's name at the end of the handshake, since h2o does not expose its SSL. A resumed
 * session carries its certificate. The data of h2o's BIO is the socket (h2o 2.2,
 * lib/common/socket.c, setup_bio()): no function of h2o leads from a connection to its certificate.
 */
static void on_handshake(const SSL *ssl, int where, int ret)
{
    (void)ret;
    if (!(where & SSL_CB_HANDSHAKE_DONE))
        return;
    const X509 *certificate = SSL_get0_peer_certificate(ssl);
    if (!certificate || SSL_get_verify_result(ssl) != X509_V_OK)
        return;
    BIO *bio = SSL_get_rbio(ssl);
    assert(strcmp(BIO_method_name(bio), "h2o_socket") == 0);
    const h2o_socket_t *sock = BIO_get_data(bio);
    struct server_conn *conn = sock->on_close.data;
    free(conn->client_name);
    conn->client_name = common_name(certificate);
}

static enum err make(const struct http_server_options *options, SSL_CTX **out, struct errinfo *ei)
{
    static const unsigned char context[] = "flagger-c";
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    if (!ctx)
        return err_set(ei, ERR_INVALID, "TLS cannot be set up");
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS); /* idle connections hold 34 KiB less */
    /* libuv refuses writes after a failed read, and h2o would wait for the end of its close_notify
     * for ever. Lengths and chunks mark the end of HTTP/1.1 answers anyway. */
    SSL_CTX_set_quiet_shutdown(ctx, 1);
    SSL_CTX_set_session_id_context(ctx, context, sizeof(context) - 1);
    SSL_CTX_set_alpn_select_cb(ctx, select_protocol, NULL);
    SSL_CTX_set_info_callback(ctx, on_handshake);
    enum err err = load(ctx, options, ei);
    if (err != ERR_OK) {
        SSL_CTX_free(ctx);
        return err;
    }
    *out = ctx;
    return ERR_OK;
}

/* New connections get the new certificate; old ones hold a reference to theirs. */
static bool on_changed(void *arg)
{
    struct http_server *server = arg;
    struct errinfo info = {0};
    SSL_CTX *ctx = NULL;

    if (make(&server->options, &ctx, &info) != ERR_OK) {
        log_warn("tls_unread", NULL, info.text);
        return false;
    }
    SSL_CTX_free(server->accept.ssl_ctx);
    server->accept.ssl_ctx = ctx;
    log_info("tls_read", NULL, "the TLS certificate, key or CA of clients has changed");
    return true;
}

enum err server_tls_start(struct http_server *server, struct errinfo *ei)
{
    const struct http_server_options *options = &server->options;
    const char *const files[] = {options->tls_cert_file, options->tls_key_file,
                                 options->tls_client_ca_file};

    if (!options->tls_cert_file && !options->tls_key_file) {
        if (options->tls_client_ca_file)
            return err_set(ei, ERR_INVALID, "a CA of clients needs a TLS certificate and key");
        return ERR_OK;
    }
    if (!options->tls_cert_file || !options->tls_key_file)
        return err_set(ei, ERR_INVALID, "TLS needs both a certificate file and a key file");
    server->file_watch = file_watch_start(server->loop, files, 3, on_changed, server);
    enum err err = make(options, &server->accept.ssl_ctx, ei);
    if (err != ERR_OK)
        server_tls_stop(server);
    return err;
}

void server_tls_stop(struct http_server *server)
{
    file_watch_stop(server->file_watch);
    server->file_watch = NULL;
}
