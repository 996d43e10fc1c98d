// Post-training quantization: ranges of activations are observed on samples.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "compile/compile.h"
#include "exec/loaded_model.h"
#include "passes/quantize/quantize_convolutions.h"

namespace sluice::compile {

struct QuantizeOptions {
  /// Options of the quantized executable; `weights` too: kInt8 for products in 8 bits.
  CompileOptions compiling;
  /// Names of convolutions that stay in f32.
  std::set<std::string> kept;
  /// Cores that samples run on; 0 for all.
  int num_threads = 0;
};

/// Runs a graph on samples, records the ranges of its activations, and compiles it with 8-bit
/// convolutions (see passes/quantize/quantize_convolutions.h). Used by one thread.
///
///     auto quantizer = Quantizer::create(graph, registry, options);
///     for (...) quantizer->observe(sample);
///     auto executable = quantizer->finish();
class Quantizer {
 public:
  /// Compiles the graph in f32, to be observed. The registry outlives the quantizer.
  /// Fails: kInvalidArgument for a graph that is quantized already, or names in `kept` that it
  ///        lacks; what compile() and load report.
  static Result<Quantizer> create(ir::Graph graph, const backend::BackendRegistry& registry,
                                  QuantizeOptions options);

  const terms::Signature& signature() const { return signature_; }
  int num_convolutions() const;  ///< in the graph
  int num_quantized() const { return static_cast<int>(plan_.convolutions.size()); }

  /// Runs one sample, a tensor per input, in f32.
  /// Fails: kInvalidArgument for tensors that do not match the inputs or activations that are not
  ///        finite.
  Status observe(std::span<const terms::TensorView> inputs);

  /// Output `index` of the sample observed last, in f32; valid until the next.
  const terms::TensorView& output(std::size_t index) const { return context_->output(index); }

  /// Fails: kFailedPrecondition if nothing was observed; what compile() reports.
  Result<package::Executable> finish() const;

 private:
  Quantizer(const backend::BackendRegistry& registry, QuantizeOptions options)
      : registry_(&registry), options_(std::move(options)) {}
  Status load_observed();

  const backend::BackendRegistry* registry_;
  QuantizeOptions options_;
  ir::Graph graph_;
  passes::QuantizationPlan plan_;
  terms::Signature signature_;
  std::shared_ptr<exec::LoadedModel> model_;
  std::shared_ptr<exec::Context> context_;
  std::map<ir::OperandId, passes::ValueRange> ranges_;
};

}  // namespace sluice::compile
