#include "sandbox/exchange.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "support/eventually.h"
#include "support/manual_clock.h"

namespace sluice::sandbox {
namespace {

using sluice::testing::eventually;

constexpr OwnerId kMine{1};

terms::OutputTensor tensor_of(std::int64_t size_bytes) {
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size_bytes));
  terms::OutputTensor tensor;
  tensor.view.data = bytes->data();
  tensor.view.size_bytes = size_bytes;
  tensor.owner = std::move(bytes);
  return tensor;
}

TEST(Exchange, FreesATensorWhenItsTimeToLiveIsOverWithoutAnotherCall) {
  ManualClock clock;
  Exchange exchange(clock, {});
  exchange.add(kMine);
  ASSERT_TRUE(exchange.put(kMine, tensor_of(8), 1000).is_ok());
  EXPECT_EQ(exchange.usage(kMine).bytes, 8);
  clock.advance(1000);
  EXPECT_TRUE(eventually([&] { return exchange.usage(kMine).bytes == 0; }));
}

TEST(Exchange, BytesOnADeviceComeToTheHostWhenTheyAreRead) {
  ManualClock clock;
  Exchange exchange(clock, {});
  exchange.add(kMine);
  int num_fetches = 0;
  Status answer = ok_status();
  terms::OutputTensor tensor = tensor_of(8);
  tensor.left = std::make_shared<const terms::LeftBytes>(terms::LeftBytes{nullptr, [&] {
                                                                            ++num_fetches;
                                                                            return answer;
                                                                          }});
  const auto index = exchange.put(kMine, tensor);
  ASSERT_TRUE(index.is_ok());
  EXPECT_TRUE(exchange.find(kMine, *index).is_ok());
  const auto key = exchange.offer(kMine, *index);
  ASSERT_TRUE(key.is_ok());
  EXPECT_EQ(num_fetches, 0);
  EXPECT_TRUE(exchange.get(kMine, *index).is_ok());
  EXPECT_EQ(num_fetches, 1);
  EXPECT_TRUE(exchange.get_offered(*index, *key).is_ok());
  EXPECT_EQ(num_fetches, 2);
  answer = terms::runtime_error(RuntimeCode::kDeviceError, "lost");
  for (const Status& status :
       {exchange.get(kMine, *index).status(), exchange.get_offered(*index, *key).status()}) {
    EXPECT_EQ(terms::runtime_code_of(status), RuntimeCode::kDeviceError);
  }
}

/// Has one thing that ends at its time.
class TestHolder final : public ExchangeHolder {
 public:
  explicit TestHolder(std::int64_t end_ns) : end_ns_(end_ns) {}
  std::int64_t expire(std::int64_t now_ns) override {
    has_ended = has_ended || now_ns >= end_ns_;
    return has_ended ? kNoDeadline : end_ns_;
  }
  void drop(OwnerId owner) override { dropped.push_back(owner); }

  std::atomic<bool> has_ended = false;
  std::vector<OwnerId> dropped;

 private:
  const std::int64_t end_ns_;
};

TEST(Exchange, HoldersHearOfTimesAndOfOwnersThatEnd) {
  ManualClock clock;
  Exchange exchange(clock, {});
  const auto first = std::make_shared<TestHolder>(1000);
  const auto second = std::make_shared<TestHolder>(2000);
  exchange.add(std::weak_ptr<ExchangeHolder>(first));
  exchange.add(std::weak_ptr<ExchangeHolder>(std::make_shared<TestHolder>(500)));  // it is gone
  exchange.add(std::weak_ptr<ExchangeHolder>(second));
  exchange.look_at(1000);
  clock.advance(1000);
  EXPECT_TRUE(eventually([&] { return first->has_ended.load(); }));
  EXPECT_FALSE(second->has_ended);
  clock.advance(1000);
  EXPECT_TRUE(eventually([&] { return second->has_ended.load(); }));
  exchange.drop(kMine);
  EXPECT_EQ(first->dropped, std::vector<OwnerId>{kMine});
  EXPECT_EQ(second->dropped, std::vector<OwnerId>{kMine});
}

TEST(Exchange, RefusesATimeToLiveOutOfRange) {
  ManualClock clock;
  Exchange exchange(clock, {.max_ttl_ns = 10});
  exchange.add(kMine);
  EXPECT_FALSE(exchange.put(kMine, tensor_of(8), 11).is_ok());
  EXPECT_FALSE(exchange.put(kMine, tensor_of(8), -1).is_ok());
}

TEST(Exchange, ManyThreadsPutAndGetAtOnce) {
  Exchange exchange(system_clock(), {.limits = {.max_bytes = 1 << 20, .max_tensors = 1 << 20}});
  std::atomic<int> num_read = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t owner = 1; owner <= 4; ++owner) {
    exchange.add(OwnerId{owner});
    threads.emplace_back([&, owner] {
      for (int i = 0; i < 500; ++i) {
        const auto index = exchange.put(OwnerId{owner}, tensor_of(16), 1 + (i % 3) * 1'000'000'000);
        const auto lease = exchange.get(OwnerId{owner}, *index);
        num_read += lease.is_ok() && (*lease)->view.size_bytes == 16 ? 1 : 0;
        const Status status = exchange.remove(OwnerId{owner}, *index);
        (void)status;  // its time may be over
      }
      exchange.drop(OwnerId{owner});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(num_read, 1300) << "tensors with a second to live are all found";
  for (std::uint64_t owner = 1; owner <= 4; ++owner) {
    EXPECT_EQ(exchange.usage(OwnerId{owner}).bytes, 0);
  }
}

/// The time of both is measured by bench_exchange.
TEST(Exchange, PutAndGetLeaveTheBytesWhereTheyAreAtAnySize) {
  Exchange exchange(system_clock(), {.limits = {.max_bytes = std::int64_t{1} << 34}});
  exchange.add(kMine);
  for (const std::int64_t size_bytes :
       {std::int64_t{4}, std::int64_t{1} << 20, std::int64_t{1} << 28}) {
    const terms::OutputTensor tensor = tensor_of(size_bytes);
    for (int i = 0; i < 100; ++i) {
      const auto index = exchange.put(kMine, tensor);
      ASSERT_TRUE(index.is_ok());
      const auto lease = exchange.get(kMine, *index);
      ASSERT_TRUE(lease.is_ok());
      ASSERT_EQ((*lease)->view.data, tensor.view.data) << size_bytes << " bytes";
      ASSERT_TRUE(exchange.remove(kMine, *index).is_ok());
    }
  }
}

}  // namespace
}  // namespace sluice::sandbox
