#include "sim/machine.h"

#include "conformance/op_maker.h"

namespace sluice::sim_tests {
namespace {

using backend::fixed_argument;

template <typename T>
T value_of(Result<T> result) {
  if (!result.is_ok()) throw std::runtime_error(result.status().to_string());
  return std::move(result).value();
}

void require(const Status& status) {
  if (!status.is_ok()) throw std::runtime_error(status.to_string());
}

}  // namespace

Machine::Machine(const std::string& description) : sim_(value_of(testing::make_sim(description))) {}

std::shared_ptr<const Group> Machine::group(std::vector<std::int32_t> cores, int device) const {
  return value_of(Group::create(backend(), device, cores));
}

Stream Machine::stream(const std::shared_ptr<const Group>& group) const {
  return value_of(Stream::create(group));
}

DeviceMemory Machine::memory(std::int64_t size_bytes, int device) const {
  return value_of(DeviceMemory::allocate(backend(), device, size_bytes));
}

std::shared_ptr<const Kernel> Machine::relu(const std::string& node, int device) const {
  const auto type = conformance::tensor_type(ir::ElementType::kF32, {kCount});
  auto op = conformance::OpMaker("Relu", 14).name(node).input(type).output(type).make();
  return value_of(Kernel::create(backend(), device, value_of(std::move(op))));
}

CommandList Machine::list(const std::shared_ptr<const Group>& group,
                          const std::vector<std::shared_ptr<const Kernel>>& kernels, float* x,
                          float* y) const {
  CommandList list = value_of(CommandList::create(group));
  const sluice_argument in = fixed_argument(x);
  const sluice_argument out = fixed_argument(y);
  for (const auto& kernel : kernels) require(list.add_kernel(kernel, {&in, 1}, {&out, 1}));
  require(list.finish());
  return list;
}

CommandList Machine::copy(const std::shared_ptr<const Group>& group, const void* source,
                          void* target, std::int64_t size_bytes) const {
  CommandList list = value_of(CommandList::create(group));
  require(list.add_copy(fixed_argument(source), fixed_argument(target), size_bytes));
  require(list.finish());
  return list;
}

void submit(Stream& stream, const CommandList& list) { require(stream.submit(list, {})); }

std::int64_t finish_time(Machine& machine, Stream& stream) {
  require(stream.wait());
  return machine.time().now_ns();
}

}  // namespace sluice::sim_tests
