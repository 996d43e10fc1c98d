#include "tls/context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <string_view>

#include "base/file.h"

namespace sluice::tls {
namespace {

using Pem = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

/// As ALPN writes them: a length, then a name; the best first.
constexpr std::string_view kHttp =
    "\x02h2"
    "\x08http/1.1\x08http/1.0";
constexpr std::string_view kHttp2 = kHttp.substr(0, 3);
constexpr std::string_view kHttp11 = kHttp.substr(3, 9);

struct FileTexts {
  std::string certificate;
  std::string key;
  std::string ca;
};

Pem pem_of(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

/// For an encrypted key: nobody is there to type it.
int no_password(char* /*to*/, int /*size*/, int /*is_for_writing*/, void* /*data*/) { return 0; }

/// Null behind the last.
Certificate next_certificate(const Pem& pem) {
  return {PEM_read_bio_X509(pem.get(), nullptr, no_password, nullptr), X509_free};
}

/// The own one, then those between it and its authority.
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

/// The other end must show a certificate of one of these. A server names them to its clients.
bool set_authorities(SSL_CTX& context, const std::string& text) {
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

/// `data`: the names that the server knows.
int choose_protocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned offered_size, void* data) {
  const auto& known = *static_cast<const std::string_view*>(data);
  unsigned char* found = nullptr;
  const auto* wanted = reinterpret_cast<const unsigned char*>(known.data());
  const int result = SSL_select_next_proto(
      &found, chosen_size, wanted, static_cast<unsigned>(known.size()), offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void set_rules(SSL_CTX& context) {
  SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION);
  SSL_CTX_set_options(&context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(&context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS);
}

void set_server_protocols(SSL_CTX& context, Protocols protocols) {
  // The callback's data is not const, but it is only read.
  const std::string_view& known = protocols == Protocols::kHttp2 ? kHttp2 : kHttp;
  SSL_CTX_set_alpn_select_cb(&context, choose_protocol, const_cast<std::string_view*>(&known));
}

bool set_client_protocol(SSL_CTX& context) {
  const auto* offered = reinterpret_cast<const unsigned char*>(kHttp11.data());
  return SSL_CTX_set_alpn_protos(&context, offered, kHttp11.size()) == 0;  // 0: done
}

/// Fails: errors of reading.
Result<FileTexts> read(const Files& files) {
  FileTexts texts;
  if (!files.certificate.empty()) {
    texts.certificate = SLUICE_TRY(read_text_file(files.certificate));
    texts.key = SLUICE_TRY(read_text_file(files.key));
  }
  if (!files.ca.empty()) texts.ca = SLUICE_TRY(read_text_file(files.ca));
  return texts;
}

Result<Context> with_rules(const SSL_METHOD* method) {
  Context context(SSL_CTX_new(method), SSL_CTX_free);
  if (context == nullptr) return make_error(Code::kResourceExhausted, "TLS: no memory");
  set_rules(*context);
  return context;
}

bool set_texts(SSL_CTX& context, const Files& files, const FileTexts& texts) {
  const bool is_good =
      (files.certificate.empty() ||
       (set_certificates(context, texts.certificate) && set_key(context, texts.key))) &&
      (files.ca.empty() || set_authorities(context, texts.ca));
  ERR_clear_error();
  return is_good;
}

}  // namespace

Result<Context> read_server(const Files& files, Protocols protocols) {
  if (files.certificate.empty()) return Context();
  const FileTexts texts = SLUICE_TRY(read(files));
  Context context = SLUICE_TRY(with_rules(TLS_server_method()));
  set_server_protocols(*context, protocols);
  if (set_texts(*context, files, texts)) return context;
  return invalid_argument(
      "the certificate \"{}\" cannot be used with the key \"{}\"{}: one is no PEM file, or they do "
      "not belong together",
      files.certificate, files.key,
      files.ca.empty() ? "" : fmt::format(" and the authority \"{}\"", files.ca));
}

Result<Context> read_client(const Files& files) {
  if (files.certificate.empty() != files.key.empty()) {
    return invalid_argument("--certificate and --key belong together: give both or none");
  }
  const FileTexts texts = SLUICE_TRY(read(files));
  Context context = SLUICE_TRY(with_rules(TLS_client_method()));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (files.ca.empty()) SSL_CTX_set_default_verify_paths(context.get());
  if (set_client_protocol(*context) && set_texts(*context, files, texts)) return context;
  return invalid_argument(
      "--ca \"{}\", --certificate \"{}\", --key \"{}\": one is no PEM file, or they do not belong "
      "together",
      files.ca, files.certificate, files.key);
}

}  // namespace sluice::tls
