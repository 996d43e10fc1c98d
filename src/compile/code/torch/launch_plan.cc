#include "compile/code/torch/launch_plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compile/code/compile_kernels.h"
#include "ops/schema.h"
#include "plan/arena_layout.h"

namespace sluice::compile {
namespace {

constexpr std::size_t kMaxNamed = 5;  // operations that an error lists
constexpr std::int64_t kMaxWorkspaceBytes = std::int64_t{1} << 40;

/// Whether a kernel's source has a parameter of this name, which backends/cuda/README.md lists.
bool has_parameter(const ir::KernelCode& code, std::string_view name) {
  const std::string_view text(reinterpret_cast<const char*>(code.source.data()),
                              code.source.size());
  const std::size_t open = text.find(code.function + "(");
  if (open == std::string_view::npos) return false;
  const std::string_view list = text.substr(open, text.find(')', open) - open);
  for (std::size_t at = list.find(name); at != std::string_view::npos;
       at = list.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool is_start = list[at - 1] == ' ' || list[at - 1] == '*';
    if (is_start && (end == list.size() || list[end] == ',')) return true;
  }
  return false;
}

class Planner {
 public:
  explicit Planner(const package::Executable& executable)
      : executable_(executable), main_(executable.graph.main()) {
    for (std::size_t i = 0; i < main_.num_operands(); ++i) roots_.emplace_back(i);
    for (const package::OperationCode& entry : executable.code) {
      if (entry.subgraph == 0) codes_.emplace(entry.operation, &entry.code);
    }
  }

  Result<LaunchPlan> plan() {
    SLUICE_TRY(check_ends());
    plan_.defaults.assign(main_.inputs.size(), -1);
    SLUICE_TRY(walk());
    place_ends();
    SLUICE_TRY(place_workspace());
    for (std::size_t i = 0; i < steps_.size(); ++i) SLUICE_TRY(add_call(steps_[i]));
    add_copies();
    return std::move(plan_);
  }

 private:
  struct Step {
    const ir::Operation* operation;
    const ir::KernelCode* code;
  };

  /// Inputs and outputs are tensors of numbers whose shapes are known.
  Status check_ends() const {
    const auto check = [&](ir::OperandId id, std::string_view role) -> Status {
      const ir::Type& type = main_.operand(id).type;
      const bool is_static = type.is_tensor() && type.is_static();
      if (is_static && type.element() != ir::ElementType::kString) return ok_status();
      return invalid_argument(
          "{} \"{}\" is {}: an extension takes and gives tensors of numbers "
          "of known shapes{}",
          role, main_.operand(id).name, type.to_string(),
          is_static ? "" : "; --shape fixes the shapes of inputs");
    };
    for (const ir::OperandId id : main_.inputs) SLUICE_TRY(check(id, "input"));
    for (const ir::OperandId id : main_.outputs) SLUICE_TRY(check(id, "output"));
    if (!main_.inputs.empty()) return ok_status();
    return invalid_argument("the model has no input, by which torch chooses an operator's device");
  }

  /// Collects the steps; views share the memory of what they view.
  Status walk() {
    std::vector<std::string> others;
    for (std::size_t position = 0; position < main_.order().size(); ++position) {
      const ir::Operation& operation = main_.operation(main_.order()[position]);
      const ops::OpSchema* const schema = ops::find_schema(operation.domain, operation.kind);
      const ir::KernelCode* const code = find_code(position);
      if (schema != nullptr && schema->has(ops::kView)) {
        roots_[operation.outputs[0].index()] = root_of(operation.inputs[0]);
        if (operation.is("InputOrDefault", "sluice")) add_default(operation);
      } else if (code != nullptr) {
        steps_.push_back({&operation, code});
      } else if (!std::ranges::all_of(operation.outputs, [&](auto id) { return is_empty(id); })) {
        others.push_back(fmt::format("{} runs on {}", operation.describe(), runner_of(position)));
      }
    }
    if (others.empty()) return ok_status();
    const std::size_t num_named = std::min(others.size(), kMaxNamed);
    std::string named = fmt::format(
        "{}",
        fmt::join(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(num_named), ", "));
    if (others.size() > num_named) named += fmt::format(", and {} more", others.size() - num_named);
    return invalid_argument(
        "an extension holds compiled kernels of one GPU backend alone, but {}; "
        "compile with --backend cuda, or leave these operations out of the model",
        named);
  }

  /// As package::signature_of finds defaults.
  void add_default(const ir::Operation& operation) {
    const auto place = std::ranges::find(main_.inputs, operation.input(0));
    if (place == main_.inputs.end() || !main_.is_constant(operation.input(1))) return;
    plan_.defaults[static_cast<std::size_t>(place - main_.inputs.begin())] =
        number_of_constant(operation.input(1));
  }

  const ir::KernelCode* find_code(std::size_t position) const {
    const auto found = codes_.find(position);
    return found == codes_.end() ? nullptr : found->second;
  }

  std::string runner_of(std::size_t position) const {
    const std::int16_t number = executable_.backend_of[0][position];
    return number < 0 ? "the executor" : executable_.backends[static_cast<std::size_t>(number)];
  }

  bool is_empty(ir::OperandId id) const { return !id.is_valid() || bytes_of(id) == 0; }
  std::int64_t bytes_of(ir::OperandId id) const {
    return ir::run_bytes(main_.operand(id).type).value_or(-1);
  }
  ir::OperandId root_of(ir::OperandId id) const { return roots_[id.index()]; }

  /// The operands of a step in the order of its kernel's parameters.
  static std::vector<LaunchPlan::Parameter> parameters_of(const Step& step) {
    const ir::Operation& operation = *step.operation;
    std::vector<LaunchPlan::Parameter> parameters;
    for (const std::int32_t number : step.code->arguments) {
      const auto index = static_cast<std::size_t>(number < 0 ? -1 - number : number);
      if (number < 0) {
        parameters.push_back({true, operation.outputs[index]});
      } else if (index < operation.inputs.size()) {
        parameters.push_back({false, operation.inputs[index]});
      } else {
        parameters.push_back({false, operation.body->inputs[index - operation.inputs.size()]});
      }
    }
    return parameters;
  }

  /// Inputs lie where the caller has them; so do outputs, in the order of their numbers.
  void place_ends() {
    for (std::size_t i = 0; i < main_.inputs.size(); ++i) {
      places_[main_.inputs[i]] = {LaunchMemory::kInput, static_cast<std::int64_t>(i)};
    }
    std::map<ir::OperandId, bool> written;
    for (const Step& step : steps_) {
      for (const auto& parameter : parameters_of(step)) {
        if (parameter.is_output) written[root_of(parameter.operand)] = true;
      }
    }
    for (std::size_t i = 0; i < main_.outputs.size(); ++i) {
      const ir::OperandId root = root_of(main_.outputs[i]);
      if (written.contains(root)) {
        places_.emplace(root, LaunchPlace{LaunchMemory::kOutput, static_cast<std::int64_t>(i)});
      }
    }
  }

  /// Intermediate tensors share one memory where their lifetimes allow it.
  Status place_workspace() {
    std::vector<ir::OperandId> owners;
    std::vector<plan::Lifetime> lifetimes;
    std::map<ir::OperandId, std::size_t> numbers;
    for (std::size_t at = 0; at < steps_.size(); ++at) {
      const auto step = static_cast<std::int32_t>(at);
      for (const auto& parameter : parameters_of(steps_[at])) {
        const ir::OperandId root = root_of(parameter.operand);
        if (places_.contains(root) || main_.is_constant(root)) continue;
        const auto [found, is_new] = numbers.emplace(root, owners.size());
        if (is_new) {
          owners.push_back(root);
          lifetimes.push_back({step, step, bytes_of(root)});
        }
        lifetimes[found->second].last_step = step;
      }
    }
    const auto layout =
        SLUICE_TRY(plan::pack_arena({lifetimes, kLaunchAlignment, kMaxWorkspaceBytes}));
    for (std::size_t i = 0; i < owners.size(); ++i) {
      places_[owners[i]] = {LaunchMemory::kWorkspace, layout.offset_bytes[i]};
    }
    plan_.workspace_bytes = layout.arena_bytes;
    return ok_status();
  }

  std::int64_t number_of_constant(ir::OperandId id) {
    const auto [found, is_new] =
        constants_.emplace(id, static_cast<std::int64_t>(plan_.constants.size()));
    if (is_new) plan_.constants.push_back(id);
    return found->second;
  }

  LaunchPlace place_of(ir::OperandId id) {
    const ir::OperandId root = root_of(id);
    const auto found = places_.find(root);
    if (found != places_.end()) return found->second;
    return {LaunchMemory::kConstant, number_of_constant(root)};
  }

  Status add_call(const Step& step) {
    const ir::KernelCode& code = *step.code;
    if (has_parameter(code, "mask")) {
      return invalid_argument(
          "{}: its kernel is written for SLUICE_CUDA_CONFINE=masks; compile "
          "without that variable",
          step.operation->describe());
    }
    const std::string name = code_name(*step.operation, code);
    const auto [kernel, is_new] = kernels_.emplace(name, plan_.kernels.size());
    const auto parameters = parameters_of(step);
    if (is_new) plan_.kernels.push_back({name, &code, has_parameter(code, "wrong"), parameters});
    LaunchPlan::Call call = {kernel->second, step.operation->describe(), {}};
    for (const auto& parameter : parameters) {
      const ir::Constant* const constant = main_.find_constant(root_of(parameter.operand));
      if (constant != nullptr && ir::is_left_out(*constant)) {
        return invalid_argument(
            "constant \"{}\" is left out of the package; compile without "
            "--packed-only",
            main_.operand(parameter.operand).name);
      }
      call.arguments.push_back(place_of(parameter.operand));
    }
    plan_.calls.push_back(std::move(call));
    return ok_status();
  }

  void add_copies() {
    for (std::size_t i = 0; i < main_.outputs.size(); ++i) {
      const LaunchPlace own = {LaunchMemory::kOutput, static_cast<std::int64_t>(i)};
      const std::int64_t bytes = bytes_of(main_.outputs[i]);
      if (bytes == 0) continue;
      const LaunchPlace from = place_of(main_.outputs[i]);
      const bool is_there = from.memory == own.memory && from.at == own.at;
      if (!is_there) plan_.copies.push_back({from, own, bytes});
    }
  }

  const package::Executable& executable_;
  const ir::Subgraph& main_;
  std::map<std::size_t, const ir::KernelCode*> codes_;  // by position of the operation
  std::vector<ir::OperandId> roots_;                    // by operand: whose memory it shares
  std::vector<Step> steps_;
  std::map<ir::OperandId, LaunchPlace> places_;  // by root
  std::map<ir::OperandId, std::int64_t> constants_;
  std::map<std::string, std::size_t> kernels_;
  LaunchPlan plan_;
};

}  // namespace

Result<LaunchPlan> plan_launches(const package::Executable& executable) {
  return Planner(executable).plan();
}

}  // namespace sluice::compile
