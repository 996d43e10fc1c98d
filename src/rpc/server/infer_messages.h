// Memory of an inference's messages, which outlives the call where a device still uses it.
#pragma once

#include <grpcpp/support/message_allocator.h>

#include <memory>

#include "base/byte_budget.h"
#include "proto/sluice/v1/inference.pb.h"
#include "service/region_slices.h"

namespace sluice::rpc::server {

struct InferMessages {
  v1::InferRequest request;
  v1::InferResponse response;
  service::PlacedTensors placed;
  ByteCharge charge;  ///< of the response
};

/// One per call, deleted by `Release`; the messages live for as long as anybody shares them.
class InferHolder final : public grpc::MessageHolder<v1::InferRequest, v1::InferResponse> {
 public:
  InferHolder() : messages_(std::make_shared<InferMessages>()) {
    set_request(&messages_->request);
    set_response(&messages_->response);
  }
  void Release() override { delete this; }
  const std::shared_ptr<InferMessages>& messages() const { return messages_; }

 private:
  std::shared_ptr<InferMessages> messages_;
};

class InferAllocator final : public grpc::MessageAllocator<v1::InferRequest, v1::InferResponse> {
 public:
  grpc::MessageHolder<v1::InferRequest, v1::InferResponse>* AllocateMessages() override {
    return new InferHolder();
  }
};

}  // namespace sluice::rpc::server
