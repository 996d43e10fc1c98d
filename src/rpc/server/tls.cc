#include "rpc/server/tls.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/file.h"

namespace sluice::rpc::server {
namespace {

grpc_ssl_server_certificate_config* config_of(const TlsTexts& texts) {
  const grpc_ssl_pem_key_cert_pair pair = {texts.key.c_str(), texts.certificate.c_str()};
  // gRPC wants some where certificates are exchanged; where clients show none they mean nothing.
  const std::string& roots = texts.client_ca.empty() ? texts.certificate : texts.client_ca;
  return grpc_ssl_server_certificate_config_create(roots.c_str(), &pair, 1);
}

grpc_ssl_client_certificate_request_type request_of(const TlsTexts& texts) {
  return texts.client_ca.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                 : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
}

/// Whether gRPC accepts the certificates. Only opening a port tells, so this opens a private one
/// and closes it.
bool can_be_used(const TlsTexts& texts) {
  grpc_init();
  grpc_completion_queue* queue = grpc_completion_queue_create_for_next(nullptr);
  grpc_server* server = grpc_server_create(nullptr, nullptr);
  grpc_server_register_completion_queue(server, queue, nullptr);
  grpc_server_credentials* credentials = grpc_ssl_server_credentials_create_with_options(
      grpc_ssl_server_credentials_create_options_using_config(request_of(texts), config_of(texts)));
  const std::string address = fmt::format("unix-abstract:sluice-tls-{}", getpid());
  const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
  grpc_server_credentials_release(credentials);
  grpc_server_shutdown_and_notify(server, queue, nullptr);
  grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr);
  grpc_server_destroy(server);
  grpc_completion_queue_shutdown(queue);
  while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr).type !=
         GRPC_QUEUE_SHUTDOWN) {
    continue;
  }
  grpc_completion_queue_destroy(queue);
  grpc_shutdown();
  return port != 0;
}

}  // namespace

Result<TlsTexts> read_tls(const TlsFiles& files) {
  TlsTexts texts;
  texts.key = SLUICE_TRY(read_text_file(files.key));
  texts.certificate = SLUICE_TRY(read_text_file(files.certificate));
  if (!files.client_ca.empty()) texts.client_ca = SLUICE_TRY(read_text_file(files.client_ca));
  if (can_be_used(texts)) return texts;
  return invalid_argument(
      "the certificate \"{}\" cannot be used with the key \"{}\"{}: one is no PEM file, or they do "
      "not belong together",
      files.certificate, files.key,
      files.client_ca.empty() ? "" : fmt::format(" and the authority \"{}\"", files.client_ca));
}

/// Gives each port the newest certificates when a connection arrives.
class TlsCertificates::Credentials final : public grpc::ServerCredentials {
 public:
  explicit Credentials(TlsCertificates& certificates) : certificates_(certificates) {}

  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  struct Port {
    TlsCertificates& certificates;
    int generation = 0;  ///< that it has; gRPC asks for one port's on one thread at a time
  };

  int AddPortToServer(const std::string& address, grpc_server* server) override {
    ports_.push_back(std::make_unique<Port>(Port{certificates_}));
    grpc_server_credentials* credentials = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            request_of(certificates_.texts_), fetch, ports_.back().get()));
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  static grpc_ssl_certificate_config_reload_status fetch(
      void* user_data, grpc_ssl_server_certificate_config** config) {
    Port& port = *static_cast<Port*>(user_data);
    const std::lock_guard lock(port.certificates.mutex_);
    if (port.generation == port.certificates.generation_) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    *config = config_of(port.certificates.texts_);
    port.generation = port.certificates.generation_;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  TlsCertificates& certificates_;
  std::vector<std::unique_ptr<Port>> ports_;
};

TlsCertificates::TlsCertificates(TlsTexts texts)
    : texts_(std::move(texts)), credentials_(std::make_shared<Credentials>(*this)) {}

TlsCertificates::~TlsCertificates() = default;

void TlsCertificates::set(TlsTexts texts) {
  const std::lock_guard lock(mutex_);
  texts_ = std::move(texts);
  ++generation_;
}

std::shared_ptr<grpc::ServerCredentials> TlsCertificates::credentials() { return credentials_; }

}  // namespace sluice::rpc::server
