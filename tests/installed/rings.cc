// The rings of a model's queues: of a constant size, first in, first out, filled by one thread
// while the model drains them. They hold pointers: the model reads and writes the program's memory.
// Only a lack of data or room makes a thread wait.
//
//   rings digits.sluice
#include <array>
#include <atomic>
#include <thread>

#include "show.hpp"
#include "sluice/session.hpp"

struct Answer {
  alignas(64) std::array<float, 10> values = {};
};

int main(int argc, char** argv) {
  auto runtime = must(sluice::Runtime::create());
  auto model = must(runtime.load({.path = argc > 1 ? argv[1] : "digits.sluice", .depth = 1}));
  std::vector<Answer> answers(32);
  std::atomic<std::size_t> num_done = 0;
  std::vector<std::size_t> order;  // written by one callback at a time: the queue's order
  auto queues = must(sluice::Queues::open(runtime, model, 4));

  int num_images = 0;
  while (!queues.enqueue("image", std::span(kSeven))) ++num_images;
  show(
      sluice_last_error_runtime_code() == SLUICE_RUNTIME_CODE_QUEUE_FULL && num_images == 4,
      "a queue takes as many entries as it was made for, without a place for answers nothing runs");

  const auto no_limit = sluice::Nanoseconds(-1);
  std::thread producer([&] {
    for (std::size_t i = 4; i < answers.size(); ++i)
      must(queues.enqueue("image", std::span(kSeven), {}, no_limit));
  });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto on_done = [&, i](sluice::RuntimeCode, std::int64_t) {
      order.push_back(i);
      num_done = num_done + 1;
      num_done.notify_all();
    };
    must(queues.enqueue("probabilities", std::span(answers[i].values), on_done, no_limit));
  }
  producer.join();
  for (auto n = num_done.load(); n < answers.size(); n = num_done) num_done.wait(n);
  show(std::is_sorted(order.begin(), order.end()),
       "entries of a queue are used first in, first out");
  show(std::all_of(answers.begin(), answers.end(),
                   [](const Answer& a) { return is_seven(a.values); }),
       "the model took images and wrote answers by itself, in the program's memory");

  const auto late = queues.enqueue("image", std::span(kSeven).first(10));
  show(late && late->code == sluice::Code::kInvalidArgument, "memory of another size is refused");
  int num_returned = 0;
  const auto count = [&](sluice::RuntimeCode code, std::int64_t) {
    num_returned += code == sluice::RuntimeCode::kCancelled;
  };
  for (int i = 0; i < 3; ++i) must(queues.enqueue("image", std::span(kSeven), count));
  must(queues.close());
  show(num_returned == 3, "closing the queues gives the waiting entries back");
}
