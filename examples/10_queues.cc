// Feeds a model through queues of pointers: a thread adds images, the model takes them by itself
// and calls back when an answer is there. No tensor is copied.
//
//   10_queues digits.sluice
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "seven.h"
#include "sluice/session.hpp"

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "10_queues: %s\n", error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  auto runtime = sluice::Runtime::create();
  if (!runtime) return fail(runtime.error());
  auto model = runtime->load({.path = argc > 1 ? argv[1] : "digits.sluice", .depth = 2});
  if (!model) return fail(model.error());

  std::array<std::array<float, 10>, 16> answers = {};
  std::atomic<std::size_t> num_answers = 0;
  std::atomic<bool> has_failed = false;
  auto queues = sluice::Queues::open(*runtime, *model, 4);  // closed before what it writes to
  if (!queues) return fail(queues.error());

  // A full queue makes its thread wait: the model sets the pace.
  const auto no_limit = sluice::Nanoseconds(-1);
  std::thread producer([&] {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (queues->enqueue("image", std::span<const float>(kSeven), {}, no_limit)) return;
    }
  });
  for (auto& answer : answers) {
    const auto count = [&](sluice::RuntimeCode code, std::int64_t) {
      if (code != sluice::RuntimeCode::kOk) has_failed = true;
      ++num_answers;
      num_answers.notify_all();
    };
    if (auto error = queues->enqueue("probabilities", std::span(answer), count, no_limit)) {
      producer.join();
      return fail(*error);
    }
  }
  producer.join();
  for (auto n = num_answers.load(); n < answers.size(); n = num_answers) num_answers.wait(n);

  if (has_failed) return fail({sluice::Code::kUnknown, "a run failed"});
  for (const auto& answer : answers) print_digit(answer.data());
}
