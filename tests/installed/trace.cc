// Networks written in C++: a function of tensors is traced, compiled and run.
//
//   trace
#include <cmath>
#include <numeric>

#include "layers.hpp"
#include "show.hpp"

using layers::Dim;
using sluice::trace::Tensor;

/// An image of a digit to ten probabilities.
class ImageNet : public sluice::trace::Module {
 public:
  Tensor operator()(const Tensor& image) const {
    Tensor x = max_pool(relu(norm_(conv_(image))), {2, 2});
    return softmax(fc_(x.flatten()));
  }

 private:
  layers::Conv2d& conv_ = add_module<layers::Conv2d>("conv", 1, 4, 3);
  layers::BatchNorm& norm_ = add_module<layers::BatchNorm>("norm", 4);
  layers::Linear& fc_ = add_module<layers::Linear>("fc", 4 * 4 * 4, 10);
};

/// Words to the score of each word at the next place.
class Reader : public sluice::trace::Module {
 public:
  explicit Reader(int depth) {
    for (int i = 0; i < depth; ++i) {
      blocks_.push_back(&add_module<layers::Block>("blocks." + std::to_string(i), 8, 2));
    }
  }
  Tensor operator()(const Tensor& words) const {
    Tensor x = words_(words);
    for (const layers::Block* block : blocks_) x = (*block)(x);  // the trace has each block
    return head_(norm_(x)[{sluice::trace::all, -1}]);
  }

 private:
  layers::Embedding& words_ = add_module<layers::Embedding>("words", 20, 8);
  std::vector<const layers::Block*> blocks_;
  layers::LayerNorm& norm_ = add_module<layers::LayerNorm>("norm", 8);
  layers::Linear& head_ = add_module<layers::Linear>("head", 8, 20);
};

/// Weights that a training would have set.
static void set_weights(const sluice::trace::Module& module) {
  std::uint32_t state = 1;
  for (const auto& [name, parameter] : module.parameters()) {
    if (name.find("norm") != std::string::npos) continue;
    for (float& value : parameter->values()) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<float>(state >> 8U) / static_cast<float>(1U << 24U) - 0.5F;
    }
  }
  module.name_parameters();
}

template <typename T>
static std::vector<float> run(sluice::Package& package, const char* input,
                              const std::vector<T>& values, const std::vector<Dim>& dims) {
  const auto model = must(sluice::Model::open_copy(must(package.bytes())));
  auto context = must(model.create_context());
  must(context.set_input<T>(input, std::span<const T>(values), std::span<const Dim>(dims)));
  must(context.run());
  const auto output = must(context.output<float>("output"));
  return {output.values.begin(), output.values.end()};
}

static bool are_close(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return std::fabs(x - y) < 1e-5F; });
}

static void functions() {
  auto package = must(sluice::trace::compile(
      [](Tensor x, Tensor y) { return 2 * x[{sluice::trace::slice(0, 2)}] + y; },
      {{"x", "f32[3,N]"}, {"y", "f32[N]"}}));
  const auto model = must(sluice::Model::open_copy(must(package.bytes())));
  auto context = must(model.create_context());
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const std::vector<float> y = {10, 20};
  must(context.set_input<float>("x", x, {3, 2}));
  must(context.set_input<float>("y", y, {2}));
  must(context.run());
  const auto output = must(context.output<float>("output"));
  const std::vector<float> expected = {12, 24, 16, 28};
  show(std::ranges::equal(output.values, expected), "a function of two tensors is a model");
}

static void image_network() {
  ImageNet network;
  set_weights(network);
  auto package = must(sluice::trace::compile([&](Tensor image) { return network(image); },
                                             {{"image", "f32[N,1,8,8]"}}));
  const std::vector<float> one(std::begin(kSeven), std::end(kSeven));
  std::vector<float> three;
  for (int i = 0; i < 3; ++i) three.insert(three.end(), one.begin(), one.end());
  const auto alone = run(package, "image", one, {1, 1, 8, 8});
  const auto batch = run(package, "image", three, {3, 1, 8, 8});
  show(std::fabs(std::accumulate(alone.begin(), alone.end(), 0.0F) - 1) < 1e-5F,
       "a convolutional network of layers gives probabilities");
  show(batch.size() == 30 && are_close(alone, std::span(batch).last(10)),
       "the same package takes a batch of any size");
}

static void reader() {
  Reader network(2);
  set_weights(network);
  show(network.find_parameter("blocks.1.attend.query.weight") != nullptr,
       "a transformer's " + std::to_string(network.parameters().size()) +
           " parameters have the names of their modules");
  auto package = must(sluice::trace::compile([&](Tensor words) { return network(words); },
                                             {{"words", "i64[N,T]"}}));
  const auto five = run<Dim>(package, "words", {3, 1, 4, 1, 5}, {1, 5});
  const auto both = run<Dim>(package, "words", {9, 2, 6, 5, 3, 3, 1, 4, 1, 5}, {2, 5});
  show(five.size() == 20 && are_close(five, std::span(both).last(20)),
       "it reads sentences of any length, each row by itself");
  const auto other = run<Dim>(package, "words", {7, 2, 9, 6, 5}, {1, 5});
  show(other.size() == 20 && !are_close(five, other), "and other words give other scores");
}

static void refusals() {
  const int line = __LINE__ + 3;
  const auto branches = sluice::trace::compile(
      [](Tensor x) {
        if (x.sum() > 0) return x;
        return -x;
      },
      {{"x", "f32[3]"}});
  const std::string place = "trace.cc:" + std::to_string(line);
  show(!branches && branches.error().message.find(place) != std::string::npos,
       "a branch on elements is refused, with its line: " + place);
  const auto shapes = sluice::trace::compile([](Tensor x, Tensor y) { return x + y; },
                                             {{"x", "f32[2,3]"}, {"y", "f32[4]"}});
  show(!shapes && shapes.error().message.find("trace.cc:") == 0,
       "shapes that do not broadcast are refused at their line, too");
}

int main() {
  functions();
  image_network();
  reader();
  refusals();
}
