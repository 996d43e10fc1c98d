// Feeds a model through queues of pointers: a thread adds images, the model takes them by itself
// and calls back when an answer is there. No tensor is copied.
//
//   sluice compile examples/digits/digits.onnx -o digits.sluice
//   queues digits.sluice
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "sluice/session.hpp"

// An 8 x 8 picture of a seven.
static const std::vector<float> kSeven = {0, 0, .5, 1,  1,  1,  .4, 0,  //
                                          0, 0, .7, .6, .5, 1,  .4, 0,  //
                                          0, 0, 0,  0,  .3, 1,  .1, 0,  //
                                          0, 0, .2, .5, .9, 1,  .6, 0,  //
                                          0, 0, .8, 1,  1,  .7, .4, 0,  //
                                          0, 0, 0,  .5, .9, 0,  0,  0,  //
                                          0, 0, 0,  1,  .5, 0,  0,  0,  //
                                          0, 0, .6, 1,  .1, 0,  0,  0};

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "queues: %s\n", error.message.c_str());
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
      if (queues->enqueue("image", std::span(kSeven), {}, no_limit)) return;
    }
  });
  for (auto& answer : answers) {
    const auto count = [&](std::int32_t code, std::int64_t) {
      if (code != SLUICE_CODE_OK) has_failed = true;
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

  if (has_failed) return fail({SLUICE_STATUS_OK, "a run failed"});
  for (const auto& answer : answers) {
    const auto best = std::max_element(answer.begin(), answer.end());
    std::printf("it is a %td (%.1f %%)\n", best - answer.begin(), *best * 100);
  }
}
