#include "tls/peer.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include "base/utf8.h"

namespace sluice::tls {
namespace {

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

bool is_ip_address(const std::string& host) {
  in6_addr address = {};  // has room for both kinds
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

std::string certificate_name(const SSL& ssl) {
  const Certificate certificate(SSL_get1_peer_certificate(&ssl), X509_free);
  if (certificate == nullptr) return {};
  const X509_NAME* subject = X509_get_subject_name(certificate.get());
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  unsigned char* text = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return check_name(name, "certificate").is_ok() ? name : std::string();
}

Status expect_host(SSL& ssl, const std::string& host) {
  X509_VERIFY_PARAM* const expected = SSL_get0_param(&ssl);
  const bool is_set = is_ip_address(host)
                          ? X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1
                          : SSL_set1_host(&ssl, host.c_str()) == 1 &&
                                SSL_set_tlsext_host_name(&ssl, host.c_str()) == 1;
  return is_set ? ok_status() : make_error(Code::kResourceExhausted, "TLS: no memory");
}

}  // namespace sluice::tls
