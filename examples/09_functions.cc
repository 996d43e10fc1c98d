// Functions of a tenant, and a graph of them: one scales the bytes of a camera, one reads the
// digit. A request runs both; the program does not see the tensor between them.
//
//   09_functions digits.sluice [unix:/run/sluice.sock]
#include "seven.h"
#include "sluice/runtime.hpp"
#include "sluice/trace/trace.hpp"

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "09_functions: %s\n", error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  auto runtime = argc > 2 ? sluice::Runtime::connect(argv[2]) : sluice::Runtime::create();
  if (!runtime) return fail(runtime.error());
  const auto scaled = [](sluice::trace::Tensor x) { return x / 255; };
  auto package = sluice::trace::compile(scaled, {{"pixels", "f32[N,1,8,8]"}});
  if (!package) return fail(package.error());
  if (auto error = package->save("scale.sluice")) return fail(*error);

  const sluice::FunctionOptions function;  // quotas of memory, cores and requests
  auto scale = runtime->load({.path = "scale.sluice", .function = function});
  if (!scale) return fail(scale.error());
  const char* path = argc > 1 ? argv[1] : "digits.sluice";
  auto reader = runtime->load({.path = path, .name = "reader", .function = function});
  if (!reader) return fail(reader.error());
  auto graph = runtime->deploy_graph({.text = R"({"functions": ["scale", "read=reader"],
                                                  "edges": ["scale.output=read.image"]})",
                                      .name = "camera"});
  if (!graph) return fail(graph.error());

  std::vector<float> pixels;
  for (const float pixel : kSeven) pixels.push_back(pixel * 255);
  auto reply = graph->infer({sluice::tensor<float>("scale.pixels", pixels, {1, 1, 8, 8})});
  if (!reply) return fail(reply.error());
  const auto output = reply->output<float>("read.probabilities");
  if (!output) return fail(output.error());
  print_digit(output->values.data());
}
