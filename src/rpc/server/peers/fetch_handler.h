// The call by which another daemon reads a tensor.
#pragma once

#include <atomic>
#include <vector>

#include "proto/sluice/v1/exchange.pb.h"
#include "rpc/server/reactor/methods.h"
#include "service/clients/tokens.h"
#include "service/service.h"

namespace sluice::rpc::server {

/// A tensor, and where what is to be sent of it begins: 0 to its size.
struct Wanted {
  sandbox::ExchangeTable::Lease tensor;
  std::int64_t offset_bytes = 0;
};

/// Sends tensors from where they lie: a chunk is the tensor's own memory until it is written.
class FetchHandler final {
 public:
  /// `service` outlives the handler.
  FetchHandler(service::Service& service, std::vector<service::AccessToken> tokens);

  /// Adds the call of sluice.v1.Exchange.
  void add_to(Methods& methods);
  /// From now on.
  void set_tokens(std::vector<service::AccessToken> tokens) { tokens_.set(std::move(tokens)); }

  // NOLINTBEGIN(readability-identifier-naming): the calls have the names of the protocol.
  void FetchTensor(CallContext* context, const v1::FetchTensorRequest* request);
  // NOLINTEND(readability-identifier-naming)

 private:
  Result<Wanted> find(const CallContext& context, const v1::FetchTensorRequest& request) const;

  service::Service& service_;
  service::TokenTable tokens_;
  std::atomic<int> num_fetches_ = 0;
};

}  // namespace sluice::rpc::server
