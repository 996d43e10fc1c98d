// Networks for the benches of the runtime, made from text: no files needed.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/system/processor.h"
#include "ir/text/graph_text.h"
#include "ops/inference.h"
#include "package/executable.h"
#include "runtime/engine.h"

namespace sluice::bench {

/// Ends the program with the message unless `result` is ok.
template <typename T>
T value_of(Result<T> result) {
  if (!result.is_ok()) {
    fmt::print(stderr, "{}\n", result.status().to_string());
    std::exit(1);
  }
  return std::move(result).value();
}
inline void check(const Status& status) {
  if (status.is_ok()) return;
  fmt::print(stderr, "{}\n", status.to_string());
  std::exit(1);
}

/// `layers` matrix products of `rows` x `width` by `width` x `width` in a row, on the backend
/// "cpu".
inline std::shared_ptr<const package::Executable> products(int layers, int width, int rows = 1) {
  std::string text =
      fmt::format("subgraph @0 \"main\" {{\n  input %x0 : f32[{},{}]\n", rows, width);
  for (int i = 0; i < layers; ++i) {
    text += fmt::format("  const %w{} : f32[{},{}] = splat 0.01\n", i, width, width);
  }
  for (int i = 0; i < layers; ++i) {
    text +=
        fmt::format("  [%x{} : f32[{},{}]] = MatMul.13[%x{}, %w{}]\n", i + 1, rows, width, i, i);
  }
  text += fmt::format("  output [%x{}]\n}}\n", layers);
  package::Executable executable;
  executable.graph = value_of(ir::parse_graph(text));
  check(ops::infer_types(executable.graph));
  executable.backends = {"cpu"};
  executable.backend_of = {std::vector<std::int16_t>(static_cast<std::size_t>(layers), 0)};
  return std::make_shared<const package::Executable>(std::move(executable));
}

inline runtime::EngineOptions this_machine() {
  terms::Device device;
  device.id = terms::DeviceId(0);
  device.kind = std::string(terms::kCpuKind);
  for (const std::int32_t cpu : usable_cpus()) device.cpus.push_back({cpu});
  device.num_cores = static_cast<std::int32_t>(device.cpus.size());
  runtime::EngineOptions options;
  options.devices.devices = {device};
  return options;
}

/// One input of `rows` x `width` zeros, 64-byte aligned, and an output like it; reused from call to
/// call.
class Caller {
 public:
  explicit Caller(int width, int rows = 1)
      : dims_{rows, width},
        bytes_(width * std::int64_t{4} * rows),
        memory_(static_cast<std::size_t>(2 * ((bytes_ + 63) / 64 * 64))) {
    std::memset(memory_.view().data(), 0, memory_.view().size());
  }

  runtime::Request request() {
    runtime::Request request;
    request.inputs = {{memory_.view().data(), bytes_, ir::ElementType::kF32, dims_}};
    request.outputs = {{memory_.view().data() + memory_.view().size() / 2, bytes_}};
    return request;
  }

  void infer(runtime::RequestSink& model) {
    check(runtime::infer(model, request()).errors.to_status());
  }
  void infer(runtime::Engine& engine, terms::ModelHandle model) {
    infer(*value_of(engine.sink(model)));
  }

 private:
  std::vector<std::int64_t> dims_;
  std::int64_t bytes_;
  MutableBytes memory_;
};

/// Resident bytes of this process.
inline std::int64_t resident_bytes() {
  long long total = 0;
  long long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lld %lld", &total, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * 4096;
}

}  // namespace sluice::bench
