// The call by which another daemon reads a tensor.
#pragma once

#include <atomic>
#include <vector>

#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/server/listen/peer_table.h"
#include "service/clients/tokens.h"
#include "service/service.h"

namespace sluice::rpc::server {

/// A tensor, and where what is to be sent of it begins: 0 to its size.
struct Wanted {
  sandbox::ExchangeTable::Lease tensor;
  std::int64_t offset_bytes = 0;
};

/// Sends tensors from where they lie: a chunk is the tensor's own memory until gRPC has written it.
class FetchHandler final
    : public v1::Exchange::WithRawCallbackMethod_FetchTensor<v1::Exchange::Service> {
 public:
  /// All outlive the handler.
  FetchHandler(service::Service& service, const PeerTable& peers,
               std::vector<service::AccessToken> tokens);

  /// From now on.
  void set_tokens(std::vector<service::AccessToken> tokens) { tokens_.set(std::move(tokens)); }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* FetchTensor(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request) override;

 private:
  Result<Wanted> find(const grpc::CallbackServerContext& context,
                      const grpc::ByteBuffer& request) const;

  service::Service& service_;
  const PeerTable& peers_;
  service::TokenTable tokens_;
  std::atomic<int> num_fetches_ = 0;
};

}  // namespace sluice::rpc::server
