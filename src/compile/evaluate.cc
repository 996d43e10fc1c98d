#include "compile/evaluate.h"

#include <array>
#include <span>
#include <utility>

#include "backend/command_list.h"
#include "backend/texts.h"
#include "base/file.h"
#include "ops/schema.h"

namespace sluice::compile {
namespace {

constexpr std::int32_t kTexts = 1;  // binding of the pool
// Sizes of strings are not known before they are computed, so the pass cannot refuse them in time.
constexpr std::int64_t kMaxTextBytes = std::int64_t{64} << 20;

/// A constant as kernels read it, aligned: strings as texts. A mapped one leaves memory again.
Result<MutableBytes> run_form(const ir::Constant& constant) {
  if (constant.type.element() != ir::ElementType::kString) {
    MutableBytes copy = MutableBytes::copy_of(constant.data.view());
    release_pages(constant.data.view());
    return copy;
  }
  const auto texts = SLUICE_TRY(backend::decode_texts(constant));
  return MutableBytes::copy_of(std::as_bytes(std::span(texts)));
}

/// A kernel's result in the form of a constant: strings as offsets and bytes.
Result<ir::Constant> kept_form(const ir::Type& type, MutableBytes& result) {
  if (type.element() != ir::ElementType::kString) {
    return ir::Constant{type, std::move(result).freeze()};
  }
  const std::span<const sluice_text> texts(
      reinterpret_cast<const sluice_text*>(result.view().data()),
      result.view().size() / sizeof(sluice_text));
  const std::int64_t size = SLUICE_TRY(backend::encoded_bytes(texts));
  if (size > kMaxTextBytes) return unimplemented("{} bytes of strings are not folded", size);
  MutableBytes encoded(static_cast<std::size_t>(size));
  backend::encode_texts(texts, encoded.view());
  return ir::Constant{type, std::move(encoded).freeze()};
}

}  // namespace

Result<Evaluator> Evaluator::create(std::shared_ptr<const backend::Backend> backend) {
  const std::array<std::int32_t, 1> cores = {0};
  auto group = SLUICE_TRY(backend::Group::create(backend, 0, cores));
  return Evaluator(std::move(backend), std::move(group));
}

Result<std::vector<ir::Constant>> Evaluator::run(const ir::Graph& graph,
                                                 const ir::Subgraph& subgraph,
                                                 const ir::Operation& operation) const {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema == nullptr || schema->has(ops::kControlFlow) ||
      schema->has(ops::kDataDependentShape) || operation.body) {
    return unimplemented("{}: not computed ahead of time", operation.describe());
  }
  auto op = SLUICE_TRY(backend::Op::create({graph, subgraph, operation}));
  auto kernel = SLUICE_TRY(backend::Kernel::create(backend_, group_->device(), std::move(op)));

  std::vector<MutableBytes> kept;  // inputs whose own memory is not aligned
  std::vector<sluice_argument> inputs;
  for (const ir::OperandId id : operation.inputs) {
    const ir::Constant* constant = subgraph.find_constant(id);
    if (constant != nullptr) kept.push_back(SLUICE_TRY(run_form(*constant)));
    inputs.push_back(constant ? backend::fixed_argument(kept.back().view().data())
                              : backend::absent_argument());
  }
  std::vector<MutableBytes> results;
  std::vector<sluice_argument> outputs;
  for (const ir::OperandId id : operation.outputs) {
    const auto size = id.is_valid() ? ir::run_bytes(subgraph.operand(id).type) : 0;
    if (!size) return unimplemented("the size of \"{}\" is unknown", subgraph.operand(id).name);
    results.emplace_back(static_cast<std::size_t>(*size));
    outputs.push_back(id.is_valid() ? backend::fixed_argument(results.back().view().data())
                                    : backend::absent_argument());
    const bool is_text =
        id.is_valid() && subgraph.operand(id).type.element() == ir::ElementType::kString;
    if (is_text) outputs.back().texts = kTexts;
  }
  auto list = SLUICE_TRY(backend::CommandList::create(group_));
  SLUICE_TRY(list.add_kernel(std::move(kernel), inputs, outputs));
  SLUICE_TRY(list.finish());
  auto stream = SLUICE_TRY(backend::Stream::create(group_));
  backend::TextPool texts(std::make_shared<ByteBudget>(kMaxTextBytes));
  const std::array<void*, 2> bindings = {nullptr, texts.get()};
  SLUICE_TRY(stream.submit(list, bindings));
  SLUICE_TRY(stream.wait());

  std::vector<ir::Constant> constants;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ir::OperandId id = operation.outputs[i];
    constants.push_back(id.is_valid() ? SLUICE_TRY(kept_form(subgraph.operand(id).type, results[i]))
                                      : ir::Constant());
  }
  return constants;
}

}  // namespace sluice::compile
