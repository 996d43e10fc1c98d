#include "rpc/server/session/message_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::rpc::server {
namespace {

constexpr std::int64_t kMostBytes = 1 << 20;

std::string framed(const std::string& message, char flag = '\0') {
  std::string bytes(1, flag);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(message.size() >> shift);
  return bytes + message;
}

class MessageReaderTest : public ::testing::Test {
 protected:
  /// Those that are complete.
  std::vector<std::string> read() {
    std::vector<std::string> messages;
    while (true) {
      const auto next = reader_.next();
      EXPECT_TRUE(next.is_ok()) << next.status().to_string();
      if (!next.is_ok() || !next->has_value()) return messages;
      messages.emplace_back((*next)->bytes);
    }
  }

  const std::shared_ptr<ByteBudget> budget_ = std::make_shared<ByteBudget>(2 * kMostBytes);
  MessageReader reader_{kMostBytes, budget_};
};

TEST_F(MessageReaderTest, MessagesAreCutWhereverTheirBytesAre) {
  const std::vector<std::string> messages = {"one", "", std::string(70'000, 'x'), "four"};
  std::string all;
  for (const std::string& message : messages) all += framed(message);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{4}, std::size_t{1000}, all.size()}) {
    std::vector<std::string> came;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      ASSERT_TRUE(reader_.add(std::string_view(all).substr(at, piece)).is_ok());
      for (std::string& message : read()) came.push_back(std::move(message));
    }
    EXPECT_EQ(came, messages) << "in pieces of " << piece;
    EXPECT_FALSE(reader_.is_within_message());
  }
}

TEST_F(MessageReaderTest, FirstByteSaysWhetherItIsCompressed) {
  ASSERT_TRUE(reader_.add(framed("a", '\1')).is_ok());
  EXPECT_TRUE((*reader_.next())->is_compressed);
  ASSERT_TRUE(reader_.add(framed("a", '\2')).is_ok());
  EXPECT_EQ(reader_.next().status().code(), Code::kInvalidArgument);
}

TEST_F(MessageReaderTest, LengthOverTheLimitIsRefusedBeforeItsBytes) {
  const std::string head = framed(std::string(kMostBytes + 1, 'x')).substr(0, 5);
  ASSERT_TRUE(reader_.add(head).is_ok());
  const Status status = reader_.next().status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(), "Received message larger than max (1048577 vs. 1048576)");
}

TEST_F(MessageReaderTest, MemoryGrowsWithWhatCame) {
  const std::string message = framed(std::string(kMostBytes, 'x'));
  ASSERT_TRUE(reader_.add(std::string_view(message).substr(0, 10'000)).is_ok());
  EXPECT_LE(budget_->held_bytes(), 20'000);
  EXPECT_TRUE(reader_.is_within_message());
  ASSERT_TRUE(reader_.add(std::string_view(message).substr(10'000)).is_ok());
  EXPECT_GE(budget_->held_bytes(), kMostBytes);
  EXPECT_EQ(read().size(), 1U);
  reader_.drop();
  EXPECT_EQ(budget_->held_bytes(), 0);
}

TEST_F(MessageReaderTest, BudgetOfAllCallsBoundsOne) {
  const auto others = ByteCharge::take(budget_, 2 * kMostBytes - 20'000).value();
  EXPECT_TRUE(reader_.add(framed(std::string(10'000, 'x'))).is_ok());
  EXPECT_EQ(reader_.add(std::string(30'000, 'x')).code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace sluice::rpc::server
