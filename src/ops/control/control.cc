// Operators that run subgraphs: If, Loop, Scan. They are steps of the executor.
#include "ops/control/infer.h"
#include "ops/families.h"

namespace sluice::ops {
namespace {

OperandSpec any(std::string_view name) {
  return {.name = name, .types = kAllTensors, .is_optional = true, .takes_any_type = true};
}

OperandSpec any_number(std::string_view name) {
  OperandSpec spec = any(name);
  spec.is_variadic = true;
  return spec;
}

/// A subgraph; and how many of the last inputs are what subgraphs capture.
std::vector<AttributeSpec> subgraphs(const std::vector<std::string_view>& names) {
  std::vector<AttributeSpec> specs = {{.name = "captures", .default_value = std::int64_t{0}}};
  for (const std::string_view name : names)
    specs.push_back({.name = name, .default_value = {}, .is_required = true});
  return specs;
}

OpSchema make_if() {
  return {.name = "If",
          .versions = {1, 11, 13, 16, 19, 21, 23, 24, 25},
          .doc = "runs one of two subgraphs, by a condition",
          .inputs = {{.name = "cond", .types = kBools}, any_number("captured")},
          .outputs = {any_number("outputs")},
          .attributes = subgraphs({"then_branch", "else_branch"}),
          .infer = infer_if,
          .traits = kControlFlow,
          .upgrade = upgrade_unchanged};
}

OpSchema make_loop() {
  return {.name = "Loop",
          .versions = {1, 11, 13, 16, 19, 21, 23, 24, 25},
          .doc = "runs a subgraph a given number of times or while a condition holds",
          .inputs = {{.name = "M", .types = kI64Only, .is_optional = true},
                     {.name = "cond", .types = kBools, .is_optional = true},
                     any_number("v_initial")},
          .outputs = {any_number("v_final_and_scan_outputs")},
          .attributes = subgraphs({"body"}),
          .infer = infer_loop,
          .traits = kControlFlow,
          .upgrade = upgrade_unchanged};
}

/// Version 8 has a batch dimension, which later ones cannot say.
Status upgrade_scan(ir::Subgraph& subgraph, ir::Operation& operation) {
  return operation.version < 9 ? ok_status() : upgrade_unchanged(subgraph, operation);
}

OpSchema make_scan() {
  OpSchema scan = {.name = "Scan",
                   .versions = {8, 9, 11, 16, 19, 21, 23, 24, 25},
                   .doc = "runs a subgraph for each element of sequences, with carried states",
                   .inputs = {any_number("initial_state_and_scan_inputs")},
                   .outputs = {any_number("final_state_and_scan_outputs")},
                   .attributes = subgraphs({"body"}),
                   .infer = infer_scan,
                   .traits = kControlFlow,
                   .upgrade = upgrade_scan};
  scan.attributes.push_back({.name = "num_scan_inputs", .default_value = {}, .is_required = true});
  for (const std::string_view name :
       {"directions", "scan_input_directions", "scan_output_directions", "scan_input_axes",
        "scan_output_axes"}) {
    scan.attributes.push_back({.name = name, .default_value = {}});
  }
  return scan;
}

}  // namespace

std::vector<OpSchema> control_ops() { return {make_if(), make_loop(), make_scan()}; }

}  // namespace sluice::ops
