// Memory that a program shares with a daemon: inputs and outputs lie in it, each on its own, and
// travel in no message. With the engine in this process it is ordinary memory, and the
// program is the same.
//
//   shared_memory digits.sluice [unix:/run/sluice.sock]
#include "show.hpp"

int main(int argc, char** argv) {
  auto runtime = open_runtime(argc, argv);
  const auto model = must(runtime.load({.path = argc > 1 ? argv[1] : "digits.sluice"}));

  // A camera's frames, and a place for answers at a multiple of 64 bytes behind them.
  constexpr std::size_t kFrames = 1000, kPixels = 64, kClasses = 10;
  constexpr std::size_t kAnswersAt = kFrames * kPixels * sizeof(float);
  const auto shared = must(runtime.share(kAnswersAt + kFrames * kClasses * sizeof(float)));
  const auto frames = shared.part<float>(0, kFrames * kPixels);
  const auto answers = shared.part<float>(kAnswersAt, kFrames * kClasses);
  for (std::size_t i = 0; i < kFrames; ++i) {
    std::copy_n(kSeven, kPixels, frames.begin() + static_cast<std::ptrdiff_t>(i * kPixels));
  }
  const auto last = answers.last(kClasses);

  const std::vector<sluice::InputTensor> from_shared = {
      sluice::tensor<float>("image", frames, {kFrames, 1, 8, 8})};
  const sluice::RequestOptions to_shared = {
      .outputs = {{"probabilities", std::as_writable_bytes(answers)}}};
  const auto reply = must(model.infer(from_shared, to_shared));
  show(must(reply.output<float>()).values.data() == answers.data(),
       "the answers are in shared memory");
  show(is_seven(last), "and right");

  std::fill(answers.begin(), answers.end(), 0.0F);
  const auto own = must(model.infer(from_shared));
  show(is_seven(must(own.output<float>()).values.last(kClasses)), "inputs alone may be shared");
  must(model.infer(seven(), to_shared));
  show(is_seven(answers.first(kClasses)), "outputs alone may be shared");
}
