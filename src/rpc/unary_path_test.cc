// The way of a request of a model and of a function through the rooms of the daemon, recorded while
// it takes it.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "rpc/client/client.h"
#include "rpc/testing/function_trace.h"
#include "rpc/testing/serving.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::rpc {
namespace {

/// The rooms that hand a request on; below them lies the model's own computation.
constexpr std::string_view kRooms[] = {"rpc", "service", "dispatch", "worker",
                                       "shm", "sandbox", "runtime"};

/// Constructors and destructors, which the compiler places where values are made and dropped.
bool is_of_a_value(std::string_view name) {
  name = name.substr(0, name.find('('));
  const std::size_t last = name.rfind("::");
  if (last == std::string_view::npos) return false;
  const std::string_view function = name.substr(last + 2);
  return function.starts_with('~') || name.substr(0, last).ends_with("::" + std::string(function));
}

/// The room of a function, by its namespace. Returns nullopt for rooms that the test does not count
/// and for constructors, destructors and other functions of value types.
std::optional<std::string_view> room_of(std::string_view name) {
  if (is_of_a_value(name)) return std::nullopt;
  name.remove_prefix(std::string_view("sluice::").size());
  const std::string_view room = name.substr(0, name.find("::"));
  const auto* it = std::ranges::find(kRooms, room);
  return it == std::end(kRooms) ? std::nullopt : std::optional(*it);
}

/// The rooms in the order of entry; a room appears once per visit.
std::vector<std::string_view> rooms_of(const std::vector<testing::TraceStep>& trace) {
  std::vector<std::string_view> rooms;
  for (const testing::TraceStep& step : trace) {
    const auto room = room_of(step.function);
    if (room && (rooms.empty() || rooms.back() != *room)) rooms.push_back(*room);
  }
  return rooms;
}

std::int64_t num_calls(const std::vector<testing::TraceStep>& trace, std::string_view function) {
  return std::ranges::count_if(trace, [&](const testing::TraceStep& step) {
    return step.is_call && step.function.starts_with(function);
  });
}

std::string text_of(const std::vector<testing::TraceStep>& trace) {
  std::string text;
  for (const testing::TraceStep& step : trace) {
    if (step.is_call) text += step.function + "\n";
  }
  return text;
}

class Serving final : public testing::ServingTest<runtime::ThreadDrivers> {
 public:
  Serving() : ServingTest({}), client_(client::Client::create({.address = address()}).value()) {}
  ~Serving() override { stop(); }
  void TestBody() override {}

  bool load(const terms::LoadOptions& options) {
    const auto entry = client_->load(options, package_);
    if (entry.is_ok()) model_ = entry->info.handle;
    return entry.is_ok();
  }
  bool infer() {
    std::vector<float> x(4);
    return client_->infer(model_, {{"x", {x.data(), 16, ir::ElementType::kF32, {4}}}}).is_ok();
  }

 private:
  std::unique_ptr<client::Client> client_;
  std::uint64_t model_ = 0;
};

/// Traces a request whose model has answered before, so that its latency is known.
Result<std::vector<testing::TraceStep>> trace_request(const terms::LoadOptions& options) {
  Serving* serving = nullptr;  // of the child, which ends without its destructor
  const auto prepare = [&] {
    serving = new Serving();
    bool is_ok = serving->load(options);
    for (int i = 0; i < 20 && is_ok; ++i) is_ok = serving->infer();
    return is_ok;
  };
  return testing::trace_call("sluice::rpc::server::Handlers::Infer(", prepare,
                             [&] { return serving->infer(); });
}

TEST(UnaryPath, RequestChangesRoomLessThanTwelveTimesAndLooksItsModelUpOnce) {
  if (const std::string why = testing::why_no_trace(); !why.empty()) GTEST_SKIP() << why;
  const auto trace = trace_request({});
  if (trace.status().code() == Code::kUnavailable) GTEST_SKIP() << trace.status().message();
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  const auto rooms = rooms_of(*trace);
  std::puts(fmt::format("rooms: {}", fmt::join(rooms, " ")).c_str());
  EXPECT_GE(rooms.size(), 4U) << "the trace is too short to be one of a request";
  EXPECT_LT(rooms.size() - 1, 12U) << text_of(*trace);
  EXPECT_EQ(num_calls(*trace, "sluice::service::ModelTable::find("), 1) << text_of(*trace);
  EXPECT_EQ(num_calls(*trace, "sluice::runtime::Engine::sink("), 0);
}

TEST(UnaryPath, FunctionsRequestChangesRoomLessThanTwentyTimes) {
  if (const std::string why = testing::why_no_trace(); !why.empty()) GTEST_SKIP() << why;
  terms::LoadOptions options;
  options.function.emplace();
  const auto trace = trace_request(options);
  if (trace.status().code() == Code::kUnavailable) GTEST_SKIP() << trace.status().message();
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  const auto rooms = rooms_of(*trace);
  std::puts(fmt::format("rooms: {}", fmt::join(rooms, " ")).c_str());
  EXPECT_GE(std::ranges::count(rooms, "sandbox"), 1) << "it was no function's request";
  EXPECT_LT(rooms.size() - 1, 20U) << text_of(*trace);
  EXPECT_EQ(num_calls(*trace, "sluice::service::ModelTable::find("), 1) << text_of(*trace);
}

}  // namespace
}  // namespace sluice::rpc
