#include "rpc/server/listen/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <string_view>

#include "base/file.h"

namespace sluice::rpc::server {
namespace {

using Pem = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

/// As ALPN writes it: its length, then its name.
constexpr std::string_view kHttp2 = "\x02h2";

Pem pem_of(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

/// For an encrypted key: nobody is there to type it.
int no_password(char* /*to*/, int /*size*/, int /*is_for_writing*/, void* /*data*/) { return 0; }

/// Null behind the last.
Certificate next_certificate(const Pem& pem) {
  return {PEM_read_bio_X509(pem.get(), nullptr, no_password, nullptr), X509_free};
}

/// The server's own, then those between it and its authority.
bool set_certificates(SSL_CTX& context, const std::string& text) {
  const Pem pem = pem_of(text);
  const Certificate own = next_certificate(pem);
  if (own == nullptr || SSL_CTX_use_certificate(&context, own.get()) != 1) return false;
  while (const Certificate between = next_certificate(pem)) {
    if (SSL_CTX_add1_chain_cert(&context, between.get()) != 1) return false;
  }
  return true;
}

bool set_key(SSL_CTX& context, const std::string& text) {
  const Key key(PEM_read_bio_PrivateKey(pem_of(text).get(), nullptr, no_password, nullptr),
                EVP_PKEY_free);
  return key != nullptr && SSL_CTX_use_PrivateKey(&context, key.get()) == 1 &&
         SSL_CTX_check_private_key(&context) == 1;
}

/// Clients must show a certificate of one of these.
bool set_client_authorities(SSL_CTX& context, const std::string& text) {
  const Pem pem = pem_of(text);
  int count = 0;
  while (const Certificate authority = next_certificate(pem)) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(&context), authority.get()) != 1) return false;
    if (SSL_CTX_add_client_CA(&context, authority.get()) != 1) return false;
    ++count;
  }
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return count > 0;
}

/// gRPC's clients insist on an agreement.
int choose_http2(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* chosen_size,
                 const unsigned char* offered, unsigned offered_size, void* /*data*/) {
  unsigned char* found = nullptr;
  const auto* wanted = reinterpret_cast<const unsigned char*>(kHttp2.data());
  const int result =
      SSL_select_next_proto(&found, chosen_size, wanted, kHttp2.size(), offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void set_protocol(SSL_CTX& context) {
  SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION);
  SSL_CTX_set_options(&context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(&context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(&context, choose_http2, nullptr);
}

}  // namespace

Result<TlsContext> read_tls(const TlsFiles& files) {
  const std::string certificate = SLUICE_TRY(read_text_file(files.certificate));
  const std::string key = SLUICE_TRY(read_text_file(files.key));
  std::string client_ca;
  if (!files.client_ca.empty()) client_ca = SLUICE_TRY(read_text_file(files.client_ca));
  TlsContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) return make_error(Code::kResourceExhausted, "TLS: no memory");
  set_protocol(*context);
  const bool is_good = set_certificates(*context, certificate) && set_key(*context, key) &&
                       (client_ca.empty() || set_client_authorities(*context, client_ca));
  ERR_clear_error();
  if (is_good) return context;
  return invalid_argument(
      "the certificate \"{}\" cannot be used with the key \"{}\"{}: one is no PEM file, or they do "
      "not belong together",
      files.certificate, files.key,
      files.client_ca.empty() ? "" : fmt::format(" and the authority \"{}\"", files.client_ca));
}

}  // namespace sluice::rpc::server
