// What a program may do wrong, in process and over a daemon: each ends with the status that
// docs/api.md names, and nothing crashes, hangs or is answered twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sluice/backend.h"
#include "sluice/statistics.hpp"
#include "support/eventually.h"
#include "two_places.h"

namespace sluice::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::Each;

class Misuse : public TwoPlaces {};
INSTANTIATE_TEST_SUITE_P(Places, Misuse,
                         ::testing::Values(Place::kLocal, Place::kRing, Place::kGrpc));

template <typename T>
sluice_code code_of(const Expected<T>& result) {
  return result ? SLUICE_OK : static_cast<sluice_code>(result.error().code);
}
sluice_code code_of(const std::optional<Error>& error) {
  return error ? static_cast<sluice_code>(error->code) : SLUICE_OK;
}

// ---- tensors ------------------------------------------------------------------------------------

TEST_P(Misuse, TensorsThatTheModelDoesNotTakeAreRefused) {
  const auto model = load();
  const auto refusal_of = [&](auto change) {
    std::vector<InputTensor> inputs = image();
    change(inputs);
    const auto by_infer = code_of(model.infer(inputs));
    auto submitted = model.submit(inputs);  // may fail by its reply
    EXPECT_EQ(submitted ? code_of(submitted->wait()) : code_of(submitted), by_infer);
    return by_infer;
  };
  using Inputs = std::vector<InputTensor>;
  const std::array<std::int32_t, 10> codes = {
      refusal_of([](Inputs& in) { in[0].element_type = 11; }),
      refusal_of([](Inputs& in) { in[0].element_type = 99; }),
      refusal_of([](Inputs& in) {
        in[0].dims = {1, 8, 8, 1};
      }),
      refusal_of([](Inputs& in) { in[0].dims = {64}; }),
      refusal_of([](Inputs& in) {
        in[0].dims = {-1, 1, 8, 8};
      }),
      refusal_of([](Inputs& in) { in[0].dims.assign(100, 1); }),
      refusal_of([](Inputs& in) { in[0].size_bytes = 8; }),
      refusal_of([](Inputs& in) { in[0].name = "picture"; }),
      refusal_of([](Inputs& in) { in.push_back(in[0]); }),
      refusal_of([](Inputs& in) { in.clear(); })};
  EXPECT_THAT(codes, Each(SLUICE_INVALID_ARGUMENT));
  const auto last = model.infer({});
  EXPECT_EQ(sluice_last_error_runtime_code(), SLUICE_RUNTIME_CODE_BAD_INPUT);
  EXPECT_TRUE(model.infer(image())) << "the model is as it was";
}

// Inputs need no alignment, nor do outputs: those that have none are copied.
TEST_P(Misuse, MemoryWithoutAlignmentIsCopied) {
  const auto model = load();
  const auto expected = model.infer(image());
  ASSERT_TRUE(expected) << expected.error().message;
  std::vector<std::byte> bytes(64 * 4 + 1);
  std::vector<std::byte> answer(10 * 4 + 1);
  const float half = 0.5F;
  for (std::size_t i = 0; i < 64; ++i) std::memcpy(&bytes[1 + i * 4], &half, 4);
  InputTensor odd = image()[0];
  odd.data = bytes.data() + 1;
  const auto reply =
      model.infer({odd}, {.outputs = {{"probabilities", std::span(answer).subspan(1)}}});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(std::memcmp(answer.data() + 1, expected->output<float>()->values.data(), 40), 0);
}

// ---- devices and handles ------------------------------------------------------------------------

TEST_P(Misuse, DevicesThatAreNotThereAreRefused) {
  EXPECT_EQ(code_of(runtime_.create_group({.num_cores = 1, .devices = {4711}})), SLUICE_NOT_FOUND);
  EXPECT_NE(code_of(runtime_.create_group({.num_cores = 1, .kind = "gpu"})), SLUICE_OK);
  EXPECT_NE(code_of(runtime_.create_group({.num_cores = 1 << 30})), SLUICE_OK);
  EXPECT_EQ(code_of(runtime_.create_group({.num_cores = -1})), SLUICE_INVALID_ARGUMENT);
  EXPECT_TRUE(runtime_.create_group({.num_cores = 1})) << "nothing was reserved";
}

TEST_P(Misuse, DeadHandlesAreNotFound) {
  std::uint64_t dead = 0;
  {
    auto model = load();
    dead = model.id();
  }
  const auto inputs = image();
  const sluice_named_array input = {
      "image", {inputs[0].data, inputs[0].size_bytes, 1, 4, inputs[0].dims.data()}};
  sluice_runtime* runtime = runtime_.get();
  for (const std::uint64_t model : {dead, std::uint64_t{0}, ~std::uint64_t{0}, dead + 1000}) {
    std::uint64_t id = 0;
    sluice_reply* reply = nullptr;
    const sluice_loaded_model* info = nullptr;
    const sluice_model_statistics* statistics = nullptr;
    const auto submit = [&] {
      const auto code = sluice_runtime_submit(runtime, model, &input, 1, nullptr, &id);
      return code == SLUICE_OK ? sluice_runtime_wait(runtime, id, -1, &reply) : code;
    };
    const std::array<std::int32_t, 8> codes = {
        sluice_runtime_infer(runtime, model, &input, 1, nullptr, &reply),
        submit(),
        sluice_runtime_start(runtime, model),
        sluice_runtime_stop(runtime, model, 0),
        sluice_runtime_reset(runtime, model),
        sluice_runtime_unload(runtime, model, 0),
        sluice_runtime_model(runtime, model, &info),
        sluice_runtime_statistics(runtime, model, &statistics)};
    EXPECT_THAT(codes, Each(AnyOf(SLUICE_NOT_FOUND, SLUICE_INVALID_ARGUMENT))) << "model " << model;
    EXPECT_EQ(reply, nullptr);
    EXPECT_EQ(sluice_runtime_cancel(runtime, id), SLUICE_NOT_FOUND) << "its reply was taken";
    EXPECT_EQ(sluice_runtime_poll(runtime, id, &reply), SLUICE_NOT_FOUND);
    EXPECT_EQ(sluice_runtime_wait(runtime, id, -1, &reply), SLUICE_NOT_FOUND);
    EXPECT_EQ(sluice_runtime_destroy_group(runtime, model), SLUICE_NOT_FOUND);
  }
}

TEST_P(Misuse, ClosedRuntimeRefusesEverything) {
  auto model = load();
  const std::uint64_t id = model.id();
  auto request = model.submit(image());
  ASSERT_TRUE(request);
  EXPECT_FALSE(runtime_.close());
  const std::array<std::int32_t, 12> codes = {
      code_of(runtime_.devices()),
      code_of(runtime_.groups()),
      code_of(runtime_.models()),
      code_of(runtime_.load({.path = digits_package()})),
      code_of(runtime_.estimate({.path = digits_package()})),
      code_of(runtime_.create_group({.num_cores = 1})),
      code_of(runtime_.find_model("digits")),
      code_of(runtime_.share(4096)),
      code_of(model.infer(image())),
      code_of(model.submit(image())),
      code_of(model.stop()),
      code_of(runtime_.close())};
  EXPECT_THAT(codes, Each(SLUICE_FAILED_PRECONDITION));
  EXPECT_EQ(code_of(request->wait()), SLUICE_FAILED_PRECONDITION);
  EXPECT_EQ(sluice_runtime_unload(runtime_.get(), id, 0), SLUICE_FAILED_PRECONDITION);
}

TEST_P(Misuse, ChildOfAForkIsRefusedAndTheParentGoesOn) {
  const auto model = load();
  ASSERT_TRUE(model.infer(image()));
  const pid_t child = ::fork();
  if (child == 0) {
    // Nothing that allocates in a lock of another thread: codes alone.
    const bool are_refused = code_of(model.infer(image())) == SLUICE_FAILED_PRECONDITION &&
                             code_of(runtime_.devices()) == SLUICE_FAILED_PRECONDITION &&
                             sluice_runtime_close(runtime_.get(), 0) == SLUICE_FAILED_PRECONDITION;
    ::_exit(are_refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(model.infer(image()));
}

// ---- callbacks ----------------------------------------------------------------------------------

TEST_P(Misuse, CallbackThatThrowsBlocksOrReentersDoesNoHarm) {
  const auto model = load({.path = digits_package(), .depth = 2});
  std::atomic<int> num_done = 0;
  std::array<std::int32_t, 4> codes = {};
  const auto count = [&](const Expected<Reply>&) {
    ++num_done;
    num_done.notify_all();
  };
  ASSERT_FALSE(model.submit(image(), [&](Expected<Reply>) {
    codes[0] = code_of(model.infer(image()));
    codes[1] = sluice_runtime_close(runtime_.get(), 0);
    codes[2] = sluice_runtime_unload(runtime_.get(), model.id(), 0);
    codes[3] = code_of(runtime_.load({.path = digits_package()}));
    EXPECT_EQ(code_of(model.submit(image(), count)), SLUICE_OK);
    ++num_done;
    num_done.notify_all();
    throw std::runtime_error("of the program");
  }));
  for (int n = num_done; n < 2; n = num_done) num_done.wait(n);
  EXPECT_THAT(codes, Each(SLUICE_FAILED_PRECONDITION));
  EXPECT_TRUE(model.infer(image()));
}

// ---- races --------------------------------------------------------------------------------------

// Every request ends once, with a result or as cancelled.
TEST_P(Misuse, CancelsRaceWithReplies) {
  const auto model = load({.path = digits_package(), .depth = 2});
  constexpr int kNumRounds = 20;
  constexpr int kNumRequests = 12;
  std::atomic<int> num_replies = 0;
  std::atomic<int> num_cancelled = 0;
  for (int round = 0; round < kNumRounds; ++round) {
    std::vector<Request> requests;
    for (int i = 0; i < kNumRequests; ++i) {
      auto request = model.submit(image(8));
      ASSERT_TRUE(request) << request.error().message;
      requests.push_back(std::move(*request));
    }
    std::thread cancels([&] {
      for (std::size_t i = 0; i < requests.size(); ++i) {
        const std::uint64_t id = requests[requests.size() - 1 - i].id();
        EXPECT_THAT(sluice_runtime_cancel(runtime_.get(), id), AnyOf(SLUICE_OK, SLUICE_NOT_FOUND));
      }
    });
    std::vector<sluice_reply*> replies;
    for (const Request& request : requests) {
      sluice_reply* reply = nullptr;
      const auto code = sluice_runtime_wait(runtime_.get(), request.id(), -1, &reply);
      EXPECT_THAT(code, AnyOf(SLUICE_OK, SLUICE_CANCELLED)) << sluice_last_error();
      code == SLUICE_OK ? ++num_replies : ++num_cancelled;
      replies.push_back(reply);
    }
    cancels.join();
    for (const Request& request : requests) {
      sluice_reply* again = nullptr;
      EXPECT_EQ(sluice_runtime_wait(runtime_.get(), request.id(), 0, &again), SLUICE_NOT_FOUND);
    }
    for (sluice_reply* reply : replies) sluice_reply_free(reply);
  }
  EXPECT_EQ(num_replies + num_cancelled, kNumRounds * kNumRequests);
  EXPECT_TRUE(model.infer(image()));
}

// Every callback is called once; every call ends with a status of the table.
TEST_P(Misuse, CloseRacesWithEveryKindOfCall) {
  const auto model = load({.path = digits_package(), .depth = 1});
  std::atomic<int> num_accepted = 0;
  std::atomic<int> num_called = 0;
  std::atomic<bool> has_begun = false;
  const auto until_closed = [&](auto call) {
    return std::thread([&, call] {
      for (std::int32_t code = SLUICE_OK; code != SLUICE_FAILED_PRECONDITION;) {
        code = call();
        has_begun = true;
        EXPECT_THAT(code, AnyOf(SLUICE_OK, SLUICE_CANCELLED, SLUICE_NOT_FOUND,
                                SLUICE_RESOURCE_EXHAUSTED, SLUICE_FAILED_PRECONDITION))
            << sluice_last_error();
      }
    });
  };
  std::array<std::thread, 4> threads = {
      until_closed([&] { return code_of(model.infer(image(8))); }), until_closed([&] {
        const auto error = model.submit(image(8), [&](const Expected<Reply>&) { ++num_called; });
        if (!error) ++num_accepted;
        return code_of(error);
      }),
      until_closed([&] { return code_of(runtime_.models()); }), until_closed([&] {
        auto request = model.submit(image(8));
        return request ? code_of(request->wait()) : code_of(request);
      })};
  EXPECT_TRUE(eventually([&] { return has_begun.load(); }));
  EXPECT_FALSE(runtime_.close());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_called, num_accepted);
}

// ---- a server that is not well ------------------------------------------------------------------

class DyingServer : public Misuse {};
INSTANTIATE_TEST_SUITE_P(Places, DyingServer, ::testing::Values(Place::kRing, Place::kGrpc));

TEST_P(DyingServer, CallsUnderWayEndAsUnavailable) {
  const auto model = load({.path = digits_package(), .depth = 1});
  std::atomic<int> num_started = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int32_t code = SLUICE_OK; code == SLUICE_OK;) {
        if (t == 3) {
          code = code_of(runtime_.models());
        } else if (t == 2) {
          auto request = model.submit(image(64));
          code = request ? code_of(request->wait()) : code_of(request);
        } else {
          code = code_of(model.infer(image(64)));
        }
        ++num_started;
        EXPECT_THAT(code, AnyOf(SLUICE_OK, SLUICE_UNAVAILABLE)) << sluice_last_error();
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return num_started >= 20; }));
  daemon_->end_abruptly();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(code_of(runtime_.load({.path = digits_package()})), SLUICE_UNAVAILABLE);
  EXPECT_EQ(code_of(runtime_.create_group({.num_cores = 1})), SLUICE_UNAVAILABLE);
  EXPECT_FALSE(runtime_.close());
}

// The daemon keeps time limits; where it does not answer, the client does half a second later.
TEST_P(DyingServer, TimeLimitsHoldAlthoughTheServerHangs) {
  const auto model = load({.path = digits_package(), .depth = 1});
  ASSERT_TRUE(model.infer(image()));
  ASSERT_TRUE(model.submit(image())->wait());
  daemon_->suspend();
  auto limited = model.submit(image(), {.timeout = milliseconds(20)});
  auto unlimited = model.submit(image());
  ASSERT_TRUE(limited && unlimited);
  std::atomic<int> by_callback = -1;
  ASSERT_FALSE(model.submit(image(),
                            [&](const Expected<Reply>& reply) {
                              by_callback = code_of(reply);
                              by_callback.notify_all();
                            },
                            {.timeout = milliseconds(30)}));
  EXPECT_EQ(code_of(limited->wait()), SLUICE_DEADLINE_EXCEEDED);
  by_callback.wait(-1);
  EXPECT_EQ(by_callback, SLUICE_DEADLINE_EXCEEDED);
  EXPECT_EQ(code_of(model.infer(image(), {.timeout = milliseconds(20)})), SLUICE_DEADLINE_EXCEEDED);
  EXPECT_FALSE(unlimited->wait_for(milliseconds(0))) << "still in flight";
  EXPECT_FALSE(unlimited->cancel());
  daemon_->end_abruptly();
  EXPECT_EQ(code_of(unlimited->wait()), SLUICE_UNAVAILABLE);
  EXPECT_FALSE(runtime_.close());
}

}  // namespace
}  // namespace sluice::testing
