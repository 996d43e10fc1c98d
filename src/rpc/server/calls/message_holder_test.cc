#include "rpc/server/calls/message_holder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rpc/server/calls/infer_messages.h"

namespace sluice::rpc::server {
namespace {

TEST(MessageHolder, EndOfTheCallFreesTheAnswerAndKeepsTheRequest) {
  const auto budget = std::make_shared<ByteBudget>(1 << 20);
  MessageAllocator<InferMessages> allocator;
  auto* holder = allocator.AllocateMessages();
  const std::shared_ptr<InferMessages> messages = messages_of<InferMessages>(holder);
  holder->request()->set_model(7);
  holder->response()->add_outputs()->set_data(std::string(1000, 'x'));
  messages->charge = ByteCharge::take(budget, 1000).value();
  EXPECT_EQ(budget->held_bytes(), 1000);
  holder->Release();
  EXPECT_EQ(budget->held_bytes(), 0) << "a client pays for an answer that it has";
  EXPECT_EQ(messages->response.outputs_size(), 0);
  EXPECT_EQ(messages->request.model(), 7U);
}

}  // namespace
}  // namespace sluice::rpc::server
