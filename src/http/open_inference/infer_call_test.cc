#include "http/open_inference/infer_call.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/model_ref.h"
#include "dispatch/testing/keeping_sink.h"

namespace sluice::http {
namespace {

TEST(InferCall, AnswerGivesItsBytesBackThoughTheCallIsKept) {
  const auto sink = std::make_shared<dispatch::testing::KeepingSink>();
  sink->signature_.outputs.push_back({"y", ir::Type()});
  const dispatch::ModelRef model(sink, std::vector<bool>(), false);
  const auto budget = std::make_shared<ByteBudget>(1 << 20);
  const auto call = std::make_shared<InferCall>();  // as a shadow keeps it
  call->model = "m";
  call->charge = ByteCharge::take(budget, 0).value();
  auto numbers = std::make_shared<std::array<float, 2>>(std::array<float, 2>{1, 2});
  const std::weak_ptr<std::array<float, 2>> watched = numbers;
  terms::OutputTensor output;
  output.view = {numbers->data(), sizeof *numbers, ir::ElementType::kF32, {2}};
  output.owner = std::move(numbers);
  call->reply.outputs.push_back(std::move(output));
  {
    const Reply reply = write_reply(model, 1 << 16, call).value();
    EXPECT_NE(reply.text.find("[1,2]"), std::string::npos) << reply.text;
    EXPECT_GT(budget->held_bytes(), 0);
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_EQ(budget->held_bytes(), 0) << "the client pays for an answer that it has";
  EXPECT_TRUE(watched.expired());
}

TEST(InferCall, RefusedAnswerGivesItsBytesBackThoughTheCallIsKept) {
  const auto sink = std::make_shared<dispatch::testing::KeepingSink>();
  sink->signature_.outputs.push_back({"y", ir::Type()});
  const dispatch::ModelRef model(sink, std::vector<bool>(), false);
  const auto budget = std::make_shared<ByteBudget>(100);
  const auto call = std::make_shared<InferCall>();
  call->charge = ByteCharge::take(budget, 0).value();
  auto number = std::make_shared<float>(1.0F);
  const std::weak_ptr<float> watched = number;
  terms::OutputTensor output;
  output.view = {number.get(), sizeof *number, ir::ElementType::kF32, {1}};
  output.owner = std::move(number);
  call->reply.outputs.push_back(std::move(output));
  EXPECT_FALSE(write_reply(model, 1 << 16, call).is_ok());
  EXPECT_EQ(budget->held_bytes(), 0);
  EXPECT_TRUE(watched.expired());
}

TEST(InferCall, NamesAndIdsAreTextsOfJson) {
  const auto sink = std::make_shared<dispatch::testing::KeepingSink>();
  const dispatch::ModelRef model(sink, std::vector<bool>(), false);
  const auto budget = std::make_shared<ByteBudget>(1 << 20);
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"a plain one", R"("a plain one")"}, {R"(a "b" \ c)", R"("a \"b\" \\ c")"},
      {"\n\x7f", "\"\\n\x7f\""},           {"\xc3\xa9", "\"\xc3\xa9\""},
      {"\xff", "\"\xef\xbf\xbd\""},        {"", R"("")"}};
  for (const auto& [text, expected] : texts) {
    const auto call = std::make_shared<InferCall>();
    call->model = text;
    call->id = text;
    call->charge = ByteCharge::take(budget, 0).value();
    const std::string reply = write_reply(model, 1 << 16, call).value().text;
    EXPECT_TRUE(reply.starts_with("{\"model_name\":" + expected + ",")) << reply;
    EXPECT_EQ(reply.find(",\"id\":" + expected + ",") != std::string::npos, !text.empty()) << reply;
  }
}

}  // namespace
}  // namespace sluice::http
