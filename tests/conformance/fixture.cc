#include "conformance/fixture.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "support/values.h"

namespace sluice::conformance {
namespace {

/// Operands of an operation in the order that kernels take them, each with device memory.
class Placement {
 public:
  explicit Placement(std::shared_ptr<const Backend> backend) : backend_(std::move(backend)) {}

  Status add(const sluice_operand& operand, std::vector<sluice_argument>& arguments) {
    if (operand.tensor.element_type == 0) {
      arguments.push_back(backend::absent_argument());
    } else if (operand.is_constant != 0 && backend_->devices()[0].has_host_memory) {
      arguments.push_back(backend::fixed_argument(operand.tensor.data));
    } else {
      memory_.push_back(SLUICE_TRY(DeviceMemory::allocate(backend_, 0, operand.tensor.size_bytes)));
      arguments.push_back(backend::fixed_argument(memory_.back().address()));
      auto& copied = operand.is_constant != 0 ? constants_ : placed_;
      copied.push_back({operand.tensor, arguments.back()});
    }
    return ok_status();
  }

  struct Placed {
    sluice_tensor tensor;
    sluice_argument argument;
  };
  const std::vector<Placed>& placed() const { return placed_; }
  /// Constants of a device that does not reach host memory.
  const std::vector<Placed>& constants() const { return constants_; }

 private:
  std::shared_ptr<const Backend> backend_;
  std::vector<DeviceMemory> memory_;
  std::vector<Placed> placed_;
  std::vector<Placed> constants_;
};

Tensor empty_like(const sluice_tensor& tensor) {
  return {tensor_type(static_cast<ir::ElementType>(tensor.element_type),
                      {tensor.dims, tensor.dims + tensor.rank}),
          std::vector<std::byte>(static_cast<std::size_t>(tensor.size_bytes))};
}

}  // namespace

std::vector<std::filesystem::path> plugins_under_test() {
  std::vector<std::filesystem::path> paths;
  if (const char* list = std::getenv("SLUICE_CONFORMANCE_PLUGINS"); list != nullptr) {
    std::istringstream stream(list);
    for (std::string path; std::getline(stream, path, ':');) paths.emplace_back(path);
    return paths;
  }
  for (const auto& entry : std::filesystem::directory_iterator(testing::build_path("lib/sluice"))) {
    if (backend::plugin_name(entry.path())) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

std::string test_name_of(const ::testing::TestParamInfo<std::filesystem::path>& plugin) {
  std::string name =
      backend::plugin_name(plugin.param).value_or("unnamed" + std::to_string(plugin.index));
  std::ranges::replace(name, '-', '_');  // googletest allows no other mark
  return name;
}

Tensor Tensor::of(ir::ElementType element, std::vector<std::int64_t> dims,
                  std::span<const double> values) {
  return {tensor_type(element, std::move(dims)), testing::encode(element, values)};
}

std::vector<double> Tensor::values() const { return testing::decode(type.element(), bytes); }

Result<std::shared_ptr<const Group>> group_of_all_cores(
    const std::shared_ptr<const Backend>& backend) {
  std::vector<std::int32_t> cores(static_cast<std::size_t>(backend->devices()[0].num_cores));
  std::iota(cores.begin(), cores.end(), 0);
  return Group::create(backend, 0, cores);
}

Result<std::vector<Tensor>> run_once(const std::shared_ptr<const Backend>& backend, const Op& op,
                                     std::span<const Tensor> inputs) {
  const auto kernel = SLUICE_TRY(Kernel::create(backend, 0, op));
  const auto group = SLUICE_TRY(group_of_all_cores(backend));
  CommandList list = SLUICE_TRY(CommandList::create(group));
  const sluice_op& c_op = op.get();
  Placement read(backend);
  Placement written(backend);
  std::vector<sluice_argument> in;
  std::vector<sluice_argument> out;
  for (int i = 0; i < c_op.num_inputs; ++i) SLUICE_TRY(read.add(c_op.inputs[i], in));
  for (int i = 0; i < c_op.num_body_inputs; ++i) SLUICE_TRY(read.add(c_op.body_inputs[i], in));
  for (int i = 0; i < c_op.num_outputs; ++i) SLUICE_TRY(written.add(c_op.outputs[i], out));
  if (read.placed().size() != inputs.size()) return invalid_argument("test: wrong inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SLUICE_TRY(list.add_copy(backend::fixed_argument(inputs[i].bytes.data()),
                             read.placed()[i].argument, read.placed()[i].tensor.size_bytes));
  }
  for (const auto& constant : read.constants()) {
    SLUICE_TRY(list.add_copy(backend::fixed_argument(constant.tensor.data), constant.argument,
                             constant.tensor.size_bytes));
  }
  SLUICE_TRY(list.add_kernel(kernel, in, out));
  std::vector<Tensor> results;
  for (const auto& placed : written.placed()) {
    results.push_back(empty_like(placed.tensor));
    SLUICE_TRY(list.add_copy(placed.argument, backend::fixed_argument(results.back().bytes.data()),
                             placed.tensor.size_bytes));
  }
  SLUICE_TRY(list.finish());
  Stream stream = SLUICE_TRY(Stream::create(group));
  SLUICE_TRY(stream.submit(list, {}));
  SLUICE_TRY(stream.wait());
  return results;
}

void Conformance::SetUp() {
  auto loaded = Backend::load(GetParam());
  if (loaded.status().code() == Code::kUnavailable) GTEST_SKIP() << loaded.status().message();
  ASSERT_TRUE(loaded.is_ok()) << loaded.status().to_string();
  plugin = *loaded;
}

}  // namespace sluice::conformance
