// Two models in one program, each on cores of its own and with a thread of its own. A context
// belongs to one thread at a time; models are shared by all.
//
//   two_models first.sluice second.sluice
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "sluice/sluice.hpp"

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
  std::fprintf(stderr, "two_models: %s\n", error.message.c_str());
  return 1;
}

/// Runs the model 100 times; the answer, or why there is none.
static std::string classify(const sluice::Model& model) {
  auto context = model.create_context();
  if (!context) return context.error().message;
  if (auto error = context->set_input("image", kSeven, {1, 1, 8, 8})) return error->message;
  for (int i = 0; i < 100; ++i) {
    if (auto error = context->run()) return error->message;
  }
  const auto output = context->output<float>("probabilities");
  if (!output) return output.error().message;
  const auto best = std::max_element(output->values.begin(), output->values.end());
  return "it is a " + std::to_string(best - output->values.begin()) + " (" + std::to_string(*best) +
         ")";
}

int main(int argc, char** argv) {
  const char* first_path = argc > 1 ? argv[1] : "digits.sluice";
  auto first = sluice::Model::open(first_path, 1);
  if (!first) return fail(first.error());
  auto second = sluice::Model::open(argc > 2 ? argv[2] : first_path, 1);
  if (!second) return fail(second.error());
  std::string answers[2];
  std::thread other([&] { answers[1] = classify(*second); });
  answers[0] = classify(*first);
  other.join();
  for (const std::string& answer : answers) std::printf("%s\n", answer.c_str());
}
