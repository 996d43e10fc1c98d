#include "rpc/client/credentials.h"

#include "base/file.h"

namespace sluice::rpc::client {

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials_of(const ClientOptions& options) {
  if (options.certificate.empty() != options.key.empty()) {
    return invalid_argument("--certificate and --key belong together: give both or none");
  }
  if (options.ca.empty() && !options.certificate.empty()) {
    return invalid_argument("--certificate: without --ca there is no TLS");
  }
  if (options.ca.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = SLUICE_TRY(read_text_file(options.ca));
  if (!options.certificate.empty()) {
    tls.pem_cert_chain = SLUICE_TRY(read_text_file(options.certificate));
    tls.pem_private_key = SLUICE_TRY(read_text_file(options.key));
  }
  return grpc::SslCredentials(tls);
}

}  // namespace sluice::rpc::client
