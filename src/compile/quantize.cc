#include "compile/quantize.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/plural.h"
#include "compile/optimize.h"
#include "ir/verify.h"
#include "ops/inference.h"

namespace sluice::compile {
namespace {

Status check_unquantized(const ir::Graph& graph) {
  const ir::Subgraph& main = graph.main();
  const bool is_quantized = std::ranges::any_of(main.order(), [&](ir::OperationId at) {
    return main.operation(at).is("QuantizeLinear") ||
           main.operation(at).is("QuantizedConv", "sluice");
  });
  return is_quantized ? invalid_argument(
                            "the model is quantized already; give the one that it was made from")
                      : ok_status();
}

Status check_names(const ir::Subgraph& subgraph, const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const bool is_there = std::ranges::any_of(subgraph.order(), [&](ir::OperationId at) {
      return subgraph.operation(at).is("Conv") && subgraph.operation(at).name == name;
    });
    if (!is_there) return invalid_argument("the model has no convolution named \"{}\"", name);
  }
  return ok_status();
}

Result<passes::ValueRange> range_of(const terms::TensorView& view) {
  const std::span<const float> values(static_cast<const float*>(view.data),
                                      static_cast<std::size_t>(view.size_bytes) / sizeof(float));
  // Starts as [0, 0]: a quantized range holds 0, because padding and Relu need it exactly.
  passes::ValueRange range;
  for (const float value : values) {
    if (!std::isfinite(value)) return invalid_argument("an activation is not finite");
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

}  // namespace

Result<Quantizer> Quantizer::create(ir::Graph graph, const backend::BackendRegistry& registry,
                                    QuantizeOptions options) {
  Quantizer quantizer(registry, std::move(options));
  const CompileOptions& compiling = quantizer.options_.compiling;
  const auto placement =
      SLUICE_TRY(Placement::create(compiling.places, registry, compiling.backends));
  SLUICE_TRY(check_unquantized(graph));
  SLUICE_TRY(ir::verify(graph));
  SLUICE_TRY(ops::infer_types(graph));
  SLUICE_TRY(optimize(graph, passes::plain_pipeline(), registry, placement));
  // No further fusion: the plan speaks of convolutions and the activations between them, which
  // fused operations would hide. The second call removes what the first left unread.
  SLUICE_TRY(optimize(graph, {passes::find_pass("dead_code"), 1}, registry, placement));
  quantizer.graph_ = std::move(graph);
  quantizer.signature_ = package::signature_of(quantizer.graph_);
  SLUICE_TRY(check_names(quantizer.graph_.main(), quantizer.options_.kept));
  quantizer.plan_ = passes::plan_quantization(quantizer.graph_.main(), quantizer.options_.kept);
  SLUICE_TRY(quantizer.load_observed());
  return quantizer;
}

/// The same graph in f32, with the activations behind its own outputs.
Status Quantizer::load_observed() {
  ir::Graph observed = graph_;
  ir::Subgraph& main = observed.main();
  for (const ir::OperandId id : plan_.activations) {
    // A name per output, since the signature refers to outputs by name.
    ir::Operand& operand = main.operand(id);
    if (operand.name.empty()) operand.name = fmt::format("activation {}", id.index());
    main.outputs.push_back(id);
  }
  CompileOptions compiling = options_.compiling;
  compiling.weights = WeightPrecision::kF32;
  // Cuts and cores name segments of the quantized executable; this one is thrown away.
  compiling.pack = false;
  compiling.cuts.clear();
  compiling.cores.clear();
  exec::LoadOptions loading;
  loading.num_threads = options_.num_threads;
  auto executable = SLUICE_TRY(compile(std::move(observed), *registry_, compiling));
  model_ = std::make_shared<exec::LoadedModel>(
      SLUICE_TRY(exec::LoadedModel::load(std::move(executable), *registry_, loading)));
  context_ = std::make_shared<exec::Context>(SLUICE_TRY(model_->create_context()));
  return ok_status();
}

int Quantizer::num_convolutions() const {
  const ir::Subgraph& main = graph_.main();
  return static_cast<int>(std::ranges::count_if(
      main.order(), [&](ir::OperationId at) { return main.operation(at).is("Conv"); }));
}

Status Quantizer::observe(std::span<const terms::TensorView> inputs) {
  if (inputs.size() != signature_.inputs.size()) {
    return invalid_argument("{}, the model takes {}", counted(inputs.size(), "tensor"),
                            signature_.inputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SLUICE_TRY(context_->set_input(i, inputs[i]));
  }
  SLUICE_TRY(context_->run());
  for (std::size_t i = 0; i < plan_.activations.size(); ++i) {
    const passes::ValueRange seen =
        // The activations follow the model's own outputs, as load_observed() appended them.
        SLUICE_TRY(range_of(context_->output(signature_.outputs.size() + i)));
    passes::ValueRange& range = ranges_[plan_.activations[i]];
    range.low = std::min(range.low, seen.low);
    range.high = std::max(range.high, seen.high);
  }
  return ok_status();
}

Result<package::Executable> Quantizer::finish() const {
  if (ranges_.size() != plan_.activations.size()) {
    return make_error(Code::kFailedPrecondition, "no sample was observed; give at least one");
  }
  ir::Graph graph = graph_;
  // `plan_` speaks of operands of `graph_`, and the copy has the same numbers.
  passes::quantize_convolutions(graph.main(), plan_, ranges_);
  return compile(std::move(graph), *registry_, options_.compiling);
}

}  // namespace sluice::compile
