// Two models in one program, each on cores of its own and with a thread of its own. A context
// belongs to one thread at a time; all threads share the models.
//
//   two_models digits.sluice
#include <thread>

#include "show.hpp"

/// Runs the model 100 times.
static bool recognizes(const sluice::Model& model) {
  auto context = must(model.create_context());
  const std::vector<float> image(std::begin(kSeven), std::end(kSeven));
  must(context.set_input("image", image, {1, 1, 8, 8}));
  for (int i = 0; i < 100; ++i) must(context.run());
  return is_seven(must(context.output<float>("probabilities")).values);
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "digits.sluice";
  const auto first = must(sluice::Model::open(path, 1)),
             second = must(sluice::Model::open(path, 1));
  bool is_right = false;
  std::thread other([&] { is_right = recognizes(second); });
  show(recognizes(first), "the first model recognizes the seven");
  other.join();
  show(is_right, "and so does the second beside it");
}
