// How requests end: at once or later, by a cookie to poll, wait for or cancel, in the order of
// their priorities, at a deadline, refused, or with NaN. Every failure has a code and an advice.
//
//   outcomes digits.sluice [unix:/run/sluice.sock]
#include <atomic>
#include <cmath>

#include "show.hpp"

static void show_code(int code, const std::string& claim) {
  show(sluice_last_error_runtime_code() == code, claim);
  std::printf("       %s\n       %s\n", sluice_last_error(), sluice_last_error_remedy());
}

/// A batch that takes a while.
static const std::vector<float> kMany(std::size_t{64} * 20000, 0.5F);
static std::vector<sluice::InputTensor> slow() {
  return {sluice::tensor<float>("image", kMany, {20000, 1, 8, 8})};
}

static void later(const sluice::LoadedModel& model) {
  auto request = must(model.submit(slow()));
  const auto early = request.wait_for(sluice::Nanoseconds(0));
  show(!early.has_value(), "cookie " + std::to_string(request.id()) + " is pending");
  show(request.wait().operator bool(), "and is waited for");

  auto running = must(model.submit(slow()));
  auto waiting = must(model.submit(slow()));
  must(waiting.cancel());
  const auto reply = waiting.wait();
  show(!reply && reply.error().code == sluice::Code::kCancelled,
       "a cancelled request ends with CANCELLED");
  show_code(SLUICE_RUNTIME_CODE_CANCELLED, "which has a code");

  const auto late = model.infer(slow(), {.timeout = std::chrono::microseconds(1)});
  show(!late && late.error().code == sluice::Code::kDeadlineExceeded,
       "a deadline that passes ends a request");
  show_code(SLUICE_RUNTIME_CODE_TIMEOUT, "which has a code");
}

/// One runs, two wait: the more important one is first.
static void in_order(const sluice::LoadedModel& model) {
  std::atomic<int> turn = 0, low_turn = 0, high_turn = 0;
  auto running = must(model.submit(slow()));
  must(model.submit(seven(), [&](const auto&) {
    low_turn = ++turn;
    turn.notify_all();
  }));
  must(model.submit(seven(),
                    [&](const auto&) {
                      high_turn = ++turn;
                      turn.notify_all();
                    },
                    {.priority = 5}));
  auto refused = model.submit(seven());
  show(!refused || !refused->wait(), "two wait; one more is refused");
  show_code(SLUICE_RUNTIME_CODE_QUEUE_FULL, "with the time to retry");
  must(running.wait());
  for (int n = turn; n < 2; n = turn) turn.wait(n);
  show(high_turn < low_turn, "the request of higher priority overtakes");
}

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "digits.sluice";
  auto runtime = open_runtime(argc, argv);
  const auto model = must(runtime.load({.path = path, .depth = 1, .queue_limit = 2}));

  const auto detailed = must(model.infer(seven(), {.wants_detail = true}));
  show(is_seven(detailed), "a synchronous request returns with its outputs");
  std::printf("       it ran on %zu cores by %s: %lld ns in the queue, %lld ns of computing\n",
              detailed.detail()->num_cores, detailed.detail()->backends[0],
              static_cast<long long>(detailed.detail()->queue_ns),
              static_cast<long long>(detailed.detail()->compute_ns));
  later(model);
  in_order(model);

  const float two[2] = {};
  show(!model.infer({sluice::tensor<float>("image", two, {1, 2})}), "a wrong shape is refused");
  show_code(SLUICE_RUNTIME_CODE_BAD_INPUT, "which has a code");
  show(!runtime.find_model("nobody"), "a model that is not there is not found");
  show_code(SLUICE_RUNTIME_CODE_INVALID_HANDLE, "which has a code");

  float nan[64];
  std::fill_n(nan, 64, std::nanf(""));
  const std::vector<sluice::InputTensor> bad = {sluice::tensor<float>("image", nan, {1, 1, 8, 8})};
  show(must(model.infer(bad)).runtime_code() == sluice::RuntimeCode::kOk, "NaN passes by default");
  for (const int policy : {SLUICE_NAN_FLAG, SLUICE_NAN_FAIL}) {
    if (policy == SLUICE_NAN_FAIL && argc > 2) continue;  // not in a daemon
    const auto strict = must(runtime.load({.path = path, .nan_policy = policy}));
    const auto reply = strict.infer(bad);
    show(policy == SLUICE_NAN_FLAG
             ? reply && reply->runtime_code() == sluice::RuntimeCode::kNumericError
             : !reply && reply.error().code == sluice::Code::kDataLoss,
         policy == SLUICE_NAN_FLAG ? "or is flagged beside the outputs" : "or fails the request");
  }
}
