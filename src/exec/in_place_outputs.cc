#include "exec/in_place_outputs.h"

#include <algorithm>
#include <optional>

#include "exec/subgraph_code.h"

namespace sluice::exec {
namespace {

using PlaceKind = plan::Place::Kind;

class Finder {
 public:
  Finder(const SubgraphCode& code, const RangePlan& plan) : code_(code), plan_(plan) {}

  std::vector<InPlaceOutput> run() {
    std::vector<InPlaceOutput> found;
    for (std::size_t at = plan_.range.begin; at < plan_.range.end; ++at) {
      if (plan_.kernels[at - plan_.range.begin] == nullptr) continue;
      if (const auto pair = pair_of(at)) found.push_back(*pair);
    }
    return found;
  }

 private:
  static bool is_between(std::int32_t binding, std::int32_t begin, std::int32_t end) {
    return binding >= begin && binding < end;
  }

  /// The binding that holds the operand; -1 for an operand that lies elsewhere.
  std::int32_t binding_of(ir::OperandId id) const {
    if (!id.is_valid()) return -1;
    const plan::Place& place = plan_.placement->places[id.index()];
    return place.kind == PlaceKind::kBinding ? place.binding : -1;
  }

  std::optional<InPlaceOutput> pair_of(std::size_t at) {
    const ir::Operation& operation = code_.operation_at(at);
    const plan::BindingNumbers& numbers = code_.numbers;
    const ir::OperandId result = operation.output(0);
    const std::int32_t output = binding_of(result);
    if (!is_between(output, numbers.output(0), numbers.arena())) return std::nullopt;
    const auto& kernel = plan_.kernels[at - plan_.range.begin];
    for (std::size_t i = 0; i < std::min<std::size_t>(operation.inputs.size(), 32); ++i) {
      const ir::OperandId operand = operation.inputs[i];
      const std::int32_t input = binding_of(operand);
      if (!is_between(input, numbers.input(0), numbers.output(0))) continue;
      if (!kernel->may_overwrite(static_cast<int>(i)) || bytes_of(operand) != bytes_of(result)) {
        continue;
      }
      if (is_read_otherwise(input, at)) continue;
      return InPlaceOutput{static_cast<std::size_t>(output - numbers.output(0)),
                           static_cast<std::size_t>(input)};
    }
    return std::nullopt;
  }

  std::optional<std::int64_t> bytes_of(ir::OperandId id) const {
    return ir::run_bytes(plan_.facts.type_of(id));
  }

  /// Reads of an input at the last position that reads it.
  struct LastReads {
    std::size_t at = 0;
    int count = 0;
    bool is_copied = false;  ///< to an output, after the last step
  };

  void find_last_reads() {
    last_reads_.resize(static_cast<std::size_t>(code_.numbers.output(0)));
    const auto reads_of = [&](ir::OperandId id) -> LastReads* {
      const std::int32_t binding = binding_of(id);
      const bool is_input = is_between(binding, code_.numbers.input(0), code_.numbers.output(0));
      return is_input ? &last_reads_[static_cast<std::size_t>(binding)] : nullptr;
    };
    for (std::size_t at = plan_.range.begin; at < plan_.range.end; ++at) {
      const auto read = [&](ir::OperandId id) {
        LastReads* reads = reads_of(id);
        if (reads != nullptr) *reads = {at, reads->at == at ? reads->count + 1 : 1, false};
      };
      code_.operation_at(at).for_each_read(read);
    }
    for (const plan::OutputCopy& copy : plan_.placement->copies) {
      if (LastReads* reads = reads_of(copy.source)) reads->is_copied = true;
    }
  }

  /// Whether the step at `at`, which reads the input, reads it by two operands, or anything reads
  /// it later.
  bool is_read_otherwise(std::int32_t input, std::size_t at) {
    if (last_reads_.empty()) find_last_reads();
    const LastReads& reads = last_reads_[static_cast<std::size_t>(input)];
    return reads.at != at || reads.count != 1 || reads.is_copied;
  }

  const SubgraphCode& code_;
  const RangePlan& plan_;
  std::vector<LastReads> last_reads_;  // by input of the subgraph; empty before the first question
};

}  // namespace

std::vector<InPlaceOutput> find_in_place_outputs(const SubgraphCode& code, const RangePlan& plan) {
  const bool is_whole = plan.range.begin == 0 && plan.range.end == code.subgraph->order().size();
  if (!is_whole) return {};
  return Finder(code, plan).run();
}

}  // namespace sluice::exec
