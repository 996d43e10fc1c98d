#include "runtime/testing/engine_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/system/processor.h"
#include "exec/testing/exec_testing.h"

namespace sluice::runtime::testing {
namespace {

constexpr std::string_view kAddRelu = R"(
subgraph @0 "main" {
  input %x : f32[4]
  const %c : f32[4] = [1.0, -2.0, 3.0, -4.0]
  [%s : f32[4]] = Add.14[%x, %c]
  [%y : f32[4]] = Relu.14[%s]
  output [%y]
}
)";

terms::Device cpu_device(std::vector<std::vector<std::int32_t>> cpus) {
  terms::Device device;
  device.id = terms::DeviceId(0);
  device.kind = std::string(terms::kCpuKind);
  device.name = "processor";
  device.num_cores = static_cast<std::int32_t>(cpus.size());
  device.cpus = std::move(cpus);
  return device;
}

}  // namespace

const backend::BackendRegistry& registry() {
  static const auto kRegistry = backend::BackendRegistry::discover();
  return kRegistry;
}

Reply TestEngine::infer(terms::ModelHandle handle, Request request) {
  const auto model = sink(handle);
  if (!model.is_ok()) return failed_reply(model.status());
  return runtime::infer(**model, std::move(request));
}

Result<Cookie> TestEngine::post(terms::ModelHandle handle, Request& request) {
  return cookies_.post(SLUICE_TRY(sink(handle)), request);
}

topology::DeviceMap cpu_map(int max_cores) {
  std::vector<std::vector<std::int32_t>> cpus;
  for (const std::int32_t cpu : usable_cpus()) {
    if (static_cast<int>(cpus.size()) < max_cores) cpus.push_back({cpu});
  }
  topology::DeviceMap map;
  map.devices = {cpu_device(std::move(cpus))};
  return map;
}

topology::DeviceMap pretended_cpu_map(int num_cores) {
  topology::DeviceMap map;
  map.devices = {cpu_device({static_cast<std::size_t>(num_cores), {usable_cpus().front()}})};
  return map;
}

topology::DeviceMap sim_map(const backend::Backend& sim) {
  terms::Device device;
  device.id = terms::DeviceId(0);
  device.kind = sim.devices()[0].kind;
  device.backend = "sim";
  device.backend_index = 0;
  device.num_cores = 4;
  topology::DeviceMap map;
  map.devices = {device};
  return map;
}

std::shared_ptr<const package::Executable> model_of(std::string_view graph_text,
                                                    std::string_view backend) {
  return std::make_shared<const package::Executable>(
      exec::testing::executable_of(graph_text, backend));
}

std::shared_ptr<const package::Executable> add_relu(std::string_view backend) {
  return add_relu_in({}, backend);
}

std::shared_ptr<const package::Executable> aligned_add_relu() {
  const auto model = exec::LoadedModel::load(*add_relu(), registry(), {});
  EXPECT_TRUE(model.is_ok()) << model.status().to_string();
  return std::make_shared<const package::Executable>(model->executable());
}

std::shared_ptr<const package::Executable> add_relu_in(std::vector<std::int32_t> cores,
                                                       std::string_view backend) {
  package::Executable executable = exec::testing::executable_of(kAddRelu, backend);
  for (std::size_t i = 0; i < cores.size(); ++i) {
    executable.segments.push_back(
        {fmt::format("part {}", i), static_cast<std::uint32_t>(i), cores[i]});
  }
  return std::make_shared<const package::Executable>(std::move(executable));
}

Request request_of(float value) {
  auto memory = std::make_shared<MutableBytes>(16);
  const std::vector<float> values(4, value);
  std::memcpy(memory->view().data(), values.data(), 16);
  Request request;
  request.inputs = {{memory->view().data(), 16, ir::ElementType::kF32, {4}}};
  request.memory_owner = memory;
  return request;
}

std::vector<float> floats(const terms::OutputTensor& output) {
  const auto* data = static_cast<const float*>(output.view.data);
  return {data, data + output.view.size_bytes / 4};
}

LoadRequest load_of(std::shared_ptr<const package::Executable> executable, std::string name) {
  LoadRequest request;
  request.executable = std::move(executable);
  request.name = std::move(name);
  return request;
}

}  // namespace sluice::runtime::testing
