#include "completions/embedding.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "completions/testing/scheduler_testing.h"

namespace sluice::completions {
namespace {

class EmbeddingTest : public SchedulerTest {
 protected:
  std::shared_ptr<Embedding> make_embedding(std::int64_t max_run_ns) {
    embed::Ports ports;
    ports.ids = 0;
    ports.mask = 1;
    ports.width = 1;
    embed::Facts facts;
    facts.context = 8;
    auto model = std::make_shared<const embed::TextModel>(
        embed::TextModel{facts, ports, language_->tokenizer});
    EmbeddingRequest request;
    request.texts.resize(1);
    request.texts[0].ids.resize(2);
    return std::make_shared<Embedding>(model_, std::move(model), std::move(request), shared_,
                                       dispatch::RequestLimits{quota_, max_run_ns});
  }
};

TEST_F(EmbeddingTest, LimitOfARunReachesTheModel) {
  std::optional<Status> ended;
  const auto limited = make_embedding(5000);
  ASSERT_TRUE(limited->start([&](const auto& numbers) { ended = numbers.status(); }).is_ok());
  EXPECT_EQ(sink_->requests.back().max_run_ns, 5000);
  EXPECT_EQ(quota_->num_in_flight(), 1) << "each of its runs is not counted again";
  sink_->answer(RuntimeCode::kTimeout, 0);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(terms::runtime_code_of(*ended), RuntimeCode::kTimeout);
  EXPECT_EQ(quota_->num_in_flight(), 0);
  EXPECT_EQ(shared_.num_texts, 0);
}

}  // namespace
}  // namespace sluice::completions
