#include "fuzz/operators/run_kernels.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "backend/command_list.h"
#include "backend/texts.h"
#include "fuzz/operators/values.h"
#include "ops/inference.h"
#include "ops/schema.h"

namespace sluice::fuzz {
namespace {

constexpr std::int32_t kTexts = 1;  // binding of the pool
constexpr std::int64_t kMaxTextBytes = std::int64_t{1} << 20;

class KernelRun {
 public:
  KernelRun(const Prepared& prepared, const Target& target, GuardedMemory& memory)
      : graph_(prepared.graph),
        main_(prepared.graph.main()),
        contents_(prepared.contents),
        target_(target),
        memory_(memory),
        random_(prepared.seed),
        facts_(main_.num_operands()),
        addresses_(main_.num_operands(), nullptr) {}

  Status run() {
    for (const auto& [id, contents] : contents_) {
      facts_[id.index()].type = main_.operand(id).type;
      SLUICE_TRY(place(id, contents));
    }
    for (std::size_t i = 0; i < main_.num_operands(); ++i) {
      const ir::OperandId id(i);
      const ir::Constant* constant = main_.find_constant(id);
      if (constant == nullptr) continue;
      facts_[i] = ops::facts_of(main_.operand(id));
      SLUICE_TRY(place(id, *constant));
    }
    for (const ir::OperationId id : main_.order()) SLUICE_TRY(run_operation(main_.operation(id)));
    return ok_status();
  }

 private:
  void* allocate(std::int64_t bytes) { return memory_.place(bytes, !random_.once_in(3)); }

  /// Copies contents to guarded memory, in the form of a run.
  Status place(ir::OperandId id, const ir::Constant& contents) {
    const ir::Type& type = main_.operand(id).type;
    const auto bytes = ir::run_bytes(type.is_tensor() ? type : contents.type);
    if (!bytes || *bytes > GuardedMemory::kMaxBytes) return invalid_argument("a large tensor");
    void*& address = addresses_[id.index()];
    address = allocate(*bytes);
    if (contents.type.element() == ir::ElementType::kString) {
      decoded_.push_back(SLUICE_TRY(backend::decode_texts(contents)));
      if (*bytes > 0) {
        std::memcpy(address, decoded_.back().data(), static_cast<std::size_t>(*bytes));
      }
      return ok_status();
    }
    const auto held = std::min(static_cast<std::size_t>(*bytes), contents.data.size());
    if (held > 0) std::memcpy(address, contents.data.data(), held);
    return ok_status();
  }

  /// Elements that shape functions ask for, read from memory.
  void read_shape_values(const ops::OpSchema& schema, const ir::Operation& operation) {
    for (std::size_t i = 0; i < operation.inputs.size() && i < schema.inputs.size(); ++i) {
      const ir::OperandId id = operation.inputs[i];
      if (!schema.inputs[i].is_shape_value || !id.is_valid()) continue;
      ops::OperandFacts& facts = facts_[id.index()];
      const auto bytes = ir::run_bytes(facts.type);
      if (facts.values || facts.float_values || !bytes || addresses_[id.index()] == nullptr)
        continue;
      const auto* data = static_cast<const std::byte*>(addresses_[id.index()]);
      facts =
          fuzz::facts_of({facts.type, Bytes(nullptr, {data, static_cast<std::size_t>(*bytes)})});
    }
  }

  Status infer(const ir::Operation& operation) {
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    if (schema == nullptr || schema->has(ops::kControlFlow)) return unimplemented("no kernel");
    read_shape_values(*schema, operation);
    const auto inputs = ops::input_facts(operation, facts_);
    const ops::SubgraphInference bodies = {graph_,
                                           [&](ir::SubgraphId id, std::span<const ir::Type> types) {
                                             return infer_body(graph_.subgraph(id), types);
                                           }};
    ops::InferenceContext context(operation, inputs, &bodies);
    SLUICE_TRY(ops::infer_operation(context));
    for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
      const ir::OperandId id = operation.outputs[i];
      if (!id.is_valid()) continue;
      const ir::Type& declared = main_.operand(id).type;
      ops::OperandFacts& facts = facts_[id.index()];
      facts = {context.output(i).with_layout(declared.layout()), std::nullopt, std::nullopt};
      if (declared.is_tensor() && declared.is_static()) facts.type = declared;
      const auto bytes = facts.type.is_tensor() ? ir::run_bytes(facts.type) : std::nullopt;
      if (!bytes || *bytes > GuardedMemory::kMaxBytes) return invalid_argument("a large result");
    }
    return ok_status();
  }

  static Result<std::vector<ir::Type>> infer_body(const ir::Subgraph& body,
                                                  std::span<const ir::Type> inputs) {
    if (inputs.size() != body.inputs.size()) return invalid_argument("a body with other inputs");
    ops::SubgraphFacts facts(body.num_operands());
    for (std::size_t i = 0; i < body.num_operands(); ++i) {
      const ir::OperandId id(i);
      if (body.is_constant(id)) facts[i] = ops::facts_of(body.operand(id));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) facts[body.inputs[i].index()].type = inputs[i];
    for (const ir::OperationId id : body.order()) {
      const ir::Operation& operation = body.operation(id);
      const auto operands = ops::input_facts(operation, facts);
      ops::InferenceContext context(operation, operands);
      SLUICE_TRY(ops::infer_operation(context));
      for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
        const ir::OperandId output = operation.outputs[i];
        if (output.is_valid()) facts[output.index()].type = context.output(i);
      }
    }
    std::vector<ir::Type> outputs;
    for (const ir::OperandId id : body.outputs) outputs.push_back(facts[id.index()].type);
    return outputs;
  }

  /// With the images in the layout that the backend prefers, now and then.
  std::function<ir::Type(ir::OperandId)> choose_layouts(const ir::Operation& operation) {
    const auto plain = [this](ir::OperandId id) { return facts_[id.index()].type; };
    if (random_.once_in(2)) return plain;
    return [this, plain, first = operation.output(0)](ir::OperandId id) {
      const ir::Type type = plain(id);
      const bool is_image = type.is_tensor() && type.shape() != nullptr &&
                            type.shape()->size() >= 3 &&
                            type.element() != ir::ElementType::kString &&
                            ir::element_bits(type.element()) >= 8 && !main_.is_constant(id);
      return is_image ? type.with_layout(ir::Layout::kC16) : type;
    };
  }

  /// Packs the constants that the backend packs.
  Status pack(backend::OpSource& source, const backend::Op& op) {
    for (std::size_t i = 0; i < source.operation.inputs.size(); ++i) {
      if (!main_.is_constant(source.operation.inputs[i])) continue;
      const auto packing = SLUICE_TRY(target_.backend->query_packing(op, static_cast<int>(i)));
      if (!packing || packing->size_bytes > GuardedMemory::kMaxBytes) continue;
      const std::span<std::byte> packed(static_cast<std::byte*>(allocate(packing->size_bytes)),
                                        static_cast<std::size_t>(packing->size_bytes));
      SLUICE_TRY(target_.backend->pack(op, static_cast<int>(i), packed));
      source.packed.resize(std::max(source.packed.size(), i + 1));
      source.packed[i] = packed;
    }
    return ok_status();
  }

  Status run_operation(const ir::Operation& operation) {
    SLUICE_TRY(infer(operation));
    if (ops::find_schema(operation.domain, operation.kind)->has(ops::kView)) return view(operation);
    if (has_no_results(operation)) return ok_status();  // the executor makes no kernel either
    backend::OpSource source{graph_, main_, operation};
    source.type_of = choose_layouts(operation);
    auto op = SLUICE_TRY(backend::Op::create(source));
    const auto support = SLUICE_TRY(target_.backend->query(op));
    if (!support.is_supported) {  // in that layout, perhaps
      source.type_of = [this](ir::OperandId id) { return facts_[id.index()].type; };
      op = SLUICE_TRY(backend::Op::create(source));
      if (!SLUICE_TRY(target_.backend->query(op)).is_supported) return unimplemented("no kernel");
    }
    if (!random_.once_in(3)) {
      SLUICE_TRY(pack(source, op));
      if (!source.packed.empty()) op = SLUICE_TRY(backend::Op::create(source));
    }
    const auto kernel = SLUICE_TRY(backend::Kernel::create(target_.backend, 0, std::move(op)));
    return run_kernel(operation, source, kernel);
  }

  bool has_no_results(const ir::Operation& operation) {
    for (const ir::OperandId id : operation.outputs) {
      if (!id.is_valid()) continue;
      if (ir::num_elements(*facts_[id.index()].type.shape()) != 0) return false;
      addresses_[id.index()] = allocate(0);
    }
    return true;
  }

  /// The result has the input's elements.
  Status view(const ir::Operation& operation) {
    const ir::OperandId from = operation.input(0);
    const ir::OperandId to = operation.output(0);
    if (!from.is_valid() || !to.is_valid()) return invalid_argument("a view of nothing");
    if (ir::run_bytes(facts_[from.index()].type) != ir::run_bytes(facts_[to.index()].type)) {
      return invalid_argument("a view of another size");
    }
    addresses_[to.index()] = addresses_[from.index()];
    return ok_status();
  }

  /// Memory of a tensor of `type` with the elements at `address`, which may be of another layout.
  void* in_layout(const ir::Type& type, ir::OperandId id) {
    void* address = addresses_[id.index()];
    if (type.layout() == facts_[id.index()].type.layout()) return address;
    const std::int64_t bytes = ir::run_bytes(type).value_or(0);
    if (bytes > GuardedMemory::kMaxBytes) return nullptr;
    void* padded = allocate(bytes);
    const std::int64_t held = ir::run_bytes(facts_[id.index()].type).value_or(0);
    std::memcpy(padded, address, static_cast<std::size_t>(std::min(bytes, held)));
    return padded;
  }

  Status run_kernel(const ir::Operation& operation, const backend::OpSource& source,
                    const std::shared_ptr<const backend::Kernel>& kernel) {
    std::vector<ir::OperandId> reads = operation.inputs;
    if (operation.body) {
      reads.insert(reads.end(), operation.body->inputs.begin(), operation.body->inputs.end());
    }
    std::vector<sluice_argument> inputs;
    for (const ir::OperandId id : reads) {
      void* address = id.is_valid() ? in_layout(source.type_of(id), id) : nullptr;
      if (id.is_valid() && address == nullptr) return invalid_argument("an input without memory");
      inputs.push_back(id.is_valid() ? backend::fixed_argument(address)
                                     : backend::absent_argument());
    }
    std::vector<std::vector<std::int64_t>> actual_dims;
    std::vector<sluice_argument> outputs;
    actual_dims.reserve(operation.outputs.size());
    for (const ir::OperandId id : operation.outputs) {
      outputs.push_back(backend::absent_argument());
      actual_dims.emplace_back();
      if (!id.is_valid()) continue;
      const ir::Type type = source.type_of(id);
      const auto bytes = ir::run_bytes(type);
      if (!bytes || *bytes > GuardedMemory::kMaxBytes) return invalid_argument("a large result");
      addresses_[id.index()] = allocate(*bytes);
      outputs.back() = backend::fixed_argument(addresses_[id.index()]);
      const bool is_text = type.element() == ir::ElementType::kString;
      if (is_text) std::memset(addresses_[id.index()], 0, static_cast<std::size_t>(*bytes));
      if (is_text) outputs.back().texts = kTexts;
      facts_[id.index()].type = type;
      actual_dims.back() = *type.static_dims();
      outputs.back().actual_dims = actual_dims.back().data();
    }
    share_memory(operation, source, *kernel, inputs, outputs);
    SLUICE_TRY(submit(kernel, inputs, outputs));
    return take_actual_dims(operation, actual_dims);
  }

  /// Output 0 takes the memory of an input that the kernel may overwrite, now and then.
  void share_memory(const ir::Operation& operation, const backend::OpSource& source,
                    const backend::Kernel& kernel, std::vector<sluice_argument>& inputs,
                    std::vector<sluice_argument>& outputs) {
    if (!operation.output(0).is_valid() || random_.once_in(2)) return;
    const auto size = ir::run_bytes(source.type_of(operation.output(0)));
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      const ir::OperandId id = operation.inputs[i];
      if (!id.is_valid() || main_.is_constant(id) || !kernel.may_overwrite(static_cast<int>(i)) ||
          ir::run_bytes(source.type_of(id)) != size) {
        continue;
      }
      std::memcpy(outputs[0].address, inputs[i].address, static_cast<std::size_t>(*size));
      inputs[i].address = outputs[0].address;
      return;
    }
  }

  Status submit(const std::shared_ptr<const backend::Kernel>& kernel,
                std::span<const sluice_argument> inputs, std::span<const sluice_argument> outputs) {
    const auto& group = random_.once_in(4) ? target_.two_cores : target_.one_core;
    auto list = SLUICE_TRY(backend::CommandList::create(group));
    SLUICE_TRY(list.add_kernel(kernel, inputs, outputs));
    SLUICE_TRY(list.finish());
    auto stream = SLUICE_TRY(backend::Stream::create(group));
    const std::array<void*, 2> bindings = {nullptr, texts_.get()};
    SLUICE_TRY(stream.submit(list, bindings));
    return stream.wait();
  }

  /// A shape that depends on data is within its bound.
  Status take_actual_dims(const ir::Operation& operation,
                          const std::vector<std::vector<std::int64_t>>& actual_dims) {
    for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
      const ir::OperandId id = operation.outputs[i];
      if (!id.is_valid()) continue;
      const std::vector<std::int64_t> bound = *facts_[id.index()].type.static_dims();
      for (std::size_t d = 0; d < bound.size(); ++d) {
        if (actual_dims[i][d] >= 0 && actual_dims[i][d] <= bound[d]) continue;
        std::fprintf(stderr, "operators: %s tells %lld of %lld\n", operation.describe().c_str(),
                     static_cast<long long>(actual_dims[i][d]), static_cast<long long>(bound[d]));
        std::abort();
      }
      facts_[id.index()].type = facts_[id.index()].type.with_shape(
          ir::Shape(actual_dims[i].begin(), actual_dims[i].end()));
      if (facts_[id.index()].type.element() == ir::ElementType::kString) read_texts(id);
    }
    return ok_status();
  }

  /// Every text can be read.
  void read_texts(ir::OperandId id) const {
    const auto count = ir::num_elements(*facts_[id.index()].type.shape()).value_or(0);
    const std::span<const sluice_text> texts(
        static_cast<const sluice_text*>(addresses_[id.index()]), static_cast<std::size_t>(count));
    std::size_t sum = 0;
    for (const sluice_text& text : texts) {
      for (std::int64_t i = 0; i < text.size_bytes; ++i)
        sum += static_cast<unsigned char>(text.data[i]);
    }
    volatile std::size_t kept = sum;
    static_cast<void>(kept);
  }

  const ir::Graph& graph_;
  const ir::Subgraph& main_;
  const std::map<ir::OperandId, ir::Constant>& contents_;
  const Target& target_;
  GuardedMemory& memory_;
  Random random_;
  ops::SubgraphFacts facts_;
  std::vector<void*> addresses_;
  std::vector<std::vector<sluice_text>> decoded_;
  backend::TextPool texts_{std::make_shared<ByteBudget>(kMaxTextBytes)};
};

}  // namespace

Status run_kernels(const Prepared& prepared, const Target& target, GuardedMemory& memory) {
  const Status status = KernelRun(prepared, target, memory).run();
  memory.check_and_reset();
  return status;
}

}  // namespace sluice::fuzz
