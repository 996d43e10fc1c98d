// Memory of a call's messages, which outlives the call where a device still uses it.
#pragma once

#include <grpcpp/support/message_allocator.h>

#include <memory>
#include <utility>

#include "base/byte_budget.h"

namespace sluice::rpc::server {

/// One per call, deleted by `Release`. `Messages` has a `request`, a `response` and the `charge` of
/// the response, and lives for as long as anybody shares it.
template <typename Messages>
class MessageHolder final
    : public grpc::MessageHolder<decltype(Messages::request), decltype(Messages::response)> {
 public:
  MessageHolder() : messages_(std::make_shared<Messages>()) {
    this->set_request(&messages_->request);
    this->set_response(&messages_->response);
  }
  /// The call is over. Whoever still shares the messages reads the request: a device after a
  /// cancel, or a shadow. The client's budget must not pay for an answer that it has.
  void Release() override {
    messages_->response = decltype(Messages::response)();
    messages_->charge = ByteCharge();
    delete this;
  }
  const std::shared_ptr<Messages>& messages() const { return messages_; }

 private:
  std::shared_ptr<Messages> messages_;
};

template <typename Messages>
class MessageAllocator final
    : public grpc::MessageAllocator<decltype(Messages::request), decltype(Messages::response)> {
 public:
  grpc::MessageHolder<decltype(Messages::request), decltype(Messages::response)>* AllocateMessages()
      override {
    return new MessageHolder<Messages>();
  }
};

/// Messages of a call that such an allocator made.
template <typename Messages>
const std::shared_ptr<Messages>& messages_of(grpc::RpcAllocatorState* state) {
  return static_cast<MessageHolder<Messages>*>(state)->messages();
}

}  // namespace sluice::rpc::server
