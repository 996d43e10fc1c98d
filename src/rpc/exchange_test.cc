// Tensors between the servers of two daemons, with the client in the middle of a fetch.
#include <gmock/gmock.h>

#include <array>
#include <thread>

#include "base/system/huge_pages.h"
#include "rpc/client/fetch_tensor.h"
#include "rpc/server/peers/peer_server.h"
#include "rpc/testing/serving.h"
#include "rpc/wire/tensor_chunks.h"
#include "runtime/inference/thread_driver.h"
#include "support/eventually.h"

namespace sluice::rpc {
namespace {

using sluice::testing::eventually;
using ::testing::HasSubstr;

/// No test waits so long: a fetch that only its idle limit ends is a hang.
constexpr std::int64_t kIdleNs = 3'600'000'000'000;

service::ServiceOptions options_for_peers() {
  service::ServiceOptions options;
  options.exchange_peers = {{service::ExchangePeer::By::kToken, "guest"}};
  return options;
}

class ExchangeTest : public testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  ExchangeTest() : ServingTest(options_for_peers()) {
    server::PeerServerOptions options;
    options.address = wire::parse_address("127.0.0.1:0").value();
    options.tokens = {{"knock", terms::Roles::all(), "guest"}};
    peers_ = server::PeerServer::start(service_, options).value();
  }
  ~ExchangeTest() override {
    peers_->shutdown();
    stop();
  }

  /// A tensor that is offered, put by a session of nobody.
  void offer(std::int64_t size_bytes) {
    caller_ = service_.caller_of(terms::Role::kInference, "", {"unix:/s", 1, 0, 0}).value();
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size_bytes));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_at(i);
    const terms::TensorView view = {bytes.data(), size_bytes, ir::ElementType::kU8, {size_bytes}};
    index_ = service_.put_tensor(caller_, view, 0).value();
    key_ = service_.offer_tensor(caller_, index_).value();
  }

  /// Differs between messages, whose size is no multiple of 251.
  static std::uint8_t byte_at(std::size_t i) { return static_cast<std::uint8_t>(i % 251); }

  static bool is_as_offered(const terms::TensorView& view) {
    const auto* bytes = static_cast<const std::uint8_t*>(view.data);
    for (std::size_t i = 0; i < static_cast<std::size_t>(view.size_bytes); ++i) {
      if (bytes[i] != byte_at(i)) return false;
    }
    return true;
  }

  Result<terms::OutputTensor> fetch(const terms::TakeRoom& take_room,
                                    const std::stop_token& stop = {}) const {
    return client::fetch_tensor({.address = peers_->address(), .token = "knock"},
                                static_cast<std::uint64_t>(index_), key_, take_room, kIdleNs, stop);
  }

  std::unique_ptr<server::PeerServer> peers_;
  service::Caller caller_;
  terms::TensorIndex index_ = {};
  std::string key_;
};

/// More than what may be on its way.
constexpr std::int64_t kLarge = std::int64_t{96} << 20;

TEST_F(ExchangeTest, TensorThatLeavesDuringItsFetchArrivesAndCountsUntilThen) {
  offer(kLarge);
  const auto usage = [&] { return service_.exchange().usage(caller_.session->owner()).bytes; };
  const auto tensor = fetch([&](std::int64_t bytes) {
    EXPECT_EQ(bytes, kLarge);
    EXPECT_TRUE(service_.exchange().remove(caller_.session->owner(), index_).is_ok());
    EXPECT_EQ(usage(), kLarge) << "the fetch holds a lease";
    return ok_status();
  });
  ASSERT_TRUE(tensor.is_ok()) << tensor.status().to_string();
  EXPECT_EQ(tensor->view.size_bytes, kLarge);
  EXPECT_TRUE(is_as_offered(tensor->view));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->view.data) % HugePages::kPageBytes, 0U);
  EXPECT_TRUE(eventually([&] { return usage() == 0; }));
}

/// A request may outlive its session, and keep an output then.
TEST_F(ExchangeTest, SessionThatHasEndedPutsNothing) {
  const auto session = service_.open_session("short", {"unix:/s", 1, 0, 0}).value();
  const service::Caller caller = {session, session->peer()};
  std::vector<std::byte> bytes(16);
  const terms::TensorView view = {bytes.data(), 16, ir::ElementType::kU8, {16}};
  ASSERT_TRUE(service_.put_tensor(caller, view, 0).is_ok());
  service_.close_session(session->id(), make_error(Code::kAborted, "over"));
  const auto late = service_.put_tensor(caller, view, 0);
  EXPECT_EQ(terms::runtime_code_of(late.status()), RuntimeCode::kCancelled);
  EXPECT_EQ(service_.exchange().usage(session->owner()).num_tensors, 0);
}

TEST_F(ExchangeTest, TensorWithoutRoomIsNotFetched) {
  offer(1024);
  const auto tensor = fetch(
      [](std::int64_t) { return terms::runtime_error(RuntimeCode::kOutOfResources, "no room"); });
  EXPECT_EQ(terms::runtime_code_of(tensor.status()), RuntimeCode::kOutOfResources);
}

TEST_F(ExchangeTest, ServerEndsAtOnceDuringAFetch) {
  offer(kLarge);
  const auto tensor = fetch([&](std::int64_t) {
    peers_->shutdown();
    return ok_status();
  });
  EXPECT_FALSE(tensor.is_ok());
  // The lease of the call ends behind it.
  EXPECT_TRUE(eventually(
      [&] { return service_.exchange().usage(caller_.session->owner()).bytes == kLarge; }));
}

/// The process after it has the same socket, and knows other tensors.
TEST_F(ExchangeTest, ServerThatLeavesEndsItsFetchesAndTakesNoMore) {
  offer(kLarge);
  const auto tensor = fetch([&](std::int64_t /*bytes*/) {
    peers_->leave();
    return ok_status();
  });
  ASSERT_TRUE(tensor.is_ok()) << tensor.status().to_string();
  EXPECT_TRUE(is_as_offered(tensor->view));
  EXPECT_EQ(fetch([](std::int64_t /*bytes*/) { return ok_status(); }).status().code(),
            Code::kUnavailable);
}

TEST_F(ExchangeTest, StopEndsAFetch) {
  offer(kLarge);
  std::stop_source stop;
  const auto tensor = fetch(
      [&](std::int64_t) {
        stop.request_stop();
        return ok_status();
      },
      stop.get_token());
  EXPECT_EQ(tensor.status().code(), Code::kCancelled);
}

TEST_F(ExchangeTest, NobodyAtTheAddressIsAnErrorThatNamesIt) {
  offer(16);
  const std::string address = peers_->address();
  peers_->shutdown();
  const auto tensor = fetch([](std::int64_t) { return ok_status(); });
  EXPECT_EQ(tensor.status().code(), Code::kUnavailable);
  EXPECT_THAT(tensor.status().message(), HasSubstr(address));
}

TEST_F(ExchangeTest, ManyFetchesAtOnceGiveTheSameBytes) {
  offer(3'000'000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto tensor = fetch([](std::int64_t) { return ok_status(); });
      ASSERT_TRUE(tensor.is_ok() && tensor->view.size_bytes == 3'000'000);
      EXPECT_TRUE(is_as_offered(tensor->view));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TensorChunks, MessagesOfAnotherFormAreRefused) {
  const auto refuses = [](const std::string& bytes) {
    const grpc::Slice slice(bytes);
    grpc::ByteBuffer message(&slice, 1);
    std::array<std::byte, 4> to = {};
    return !wire::read_tensor_chunk(message, to).is_ok();
  };
  EXPECT_TRUE(refuses(""));
  EXPECT_TRUE(refuses({0x1a, 0x00})) << "empty";
  EXPECT_TRUE(refuses({0x1a, 0x05, 1, 2, 3, 4, 5})) << "more than there is room for";
  EXPECT_TRUE(refuses({0x1a, 0x04, 1, 2, 3})) << "cut";
  EXPECT_TRUE(refuses({0x1a, 0x02, 1, 2, 3})) << "longer than it says";
  EXPECT_TRUE(refuses({0x12, 0x02, 1, 2})) << "another field";
  EXPECT_FALSE(refuses({0x1a, 0x02, 1, 2}));
}

TEST(TensorChunks, HeadWhoseSizeContradictsItsShapeIsRefused) {
  terms::TensorView view = {nullptr, 16, ir::ElementType::kF32, {4}};
  auto good = wire::write_tensor_head({view});
  EXPECT_EQ(wire::read_tensor_head(good)->view.size_bytes, 16);
  view.size_bytes = 17;
  auto bad = wire::write_tensor_head({view});
  EXPECT_FALSE(wire::read_tensor_head(bad).is_ok());
}

TEST(TensorChunks, HeadSaysWhereTheChunksBegin) {
  const terms::TensorView view = {nullptr, 16, ir::ElementType::kF32, {4}};
  for (const std::int64_t offset : {0, 5, 16}) {
    auto head = wire::write_tensor_head({view, offset});
    EXPECT_EQ(wire::read_tensor_head(head)->offset_bytes, offset);
  }
  for (const std::int64_t offset : {-1, 17}) {
    auto head = wire::write_tensor_head({view, offset});
    EXPECT_FALSE(wire::read_tensor_head(head).is_ok()) << offset;
  }
}

}  // namespace
}  // namespace sluice::rpc
