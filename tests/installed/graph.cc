// Functions, and a graph of them: a camera's bytes are scaled by one function and read by another,
// in one request. The program does not see the tensor between them.
//
//   graph digits.sluice [unix:/run/sluice.sock]
#include "show.hpp"
#include "sluice/trace/trace.hpp"

using sluice::trace::Tensor;

/// Pixels from 0 to 255, as a camera gives them.
static std::vector<float> camera() {
  std::vector<float> pixels;
  for (const float pixel : kSeven) pixels.push_back(pixel * 255);
  return pixels;
}

int main(int argc, char** argv) {
  auto runtime = open_runtime(argc, argv);
  auto package =
      must(sluice::trace::compile([](Tensor x) { return x / 255; }, {{"pixels", "f32[N,1,8,8]"}}));
  must(package.save("scale.sluice"));

  const sluice::FunctionOptions function;
  const auto scale = must(runtime.load({.path = "scale.sluice", .function = function}));
  const auto reader = must(runtime.load(
      {.path = argc > 1 ? argv[1] : "digits.sluice", .name = "reader", .function = function}));
  show(is_seven(must(reader.infer(seven()))), "a function answers as a model");

  auto graph = must(runtime.deploy_graph({.text = R"({"functions": ["scale", "read=reader"],
                                                      "edges": ["scale.output=read.image"]})",
                                          .name = "camera"}));
  const auto pixels = camera();
  const auto reply =
      must(graph.infer({sluice::tensor<float>("scale.pixels", pixels, {1, 1, 8, 8})}));
  show(is_seven(must(reply.output<float>("read.probabilities")).values),
       "a graph runs both in one request");
  show(must(runtime.find_model("camera")).id() == graph.id(), "it is listed as a model");

  const auto circle = runtime.deploy_graph(
      {.text = R"({"functions": ["scale"], "edges": ["scale.output=scale.pixels"]})"});
  show(!circle && circle.error().code == sluice::Code::kInvalidArgument,
       "a circle is refused: " + circle.error().message);
  show(sluice_runtime_unload(runtime.get(), reader.id(), 0) == 9,
       "a function stays while a graph has it");
  must(graph.unload());
  show(is_seven(must(reader.infer(seven()))), "and serves when the graph is gone");
}
