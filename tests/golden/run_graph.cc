#include "golden/run_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "compile/compile.h"
#include "ops/schema.h"
#include "support/values.h"

namespace sluice::golden {
namespace {

const backend::BackendRegistry& registry() {
  static const auto kRegistry = backend::BackendRegistry::discover();
  return kRegistry;
}

/// The elements that differ in the last index alone.
struct Row {
  std::size_t begin = 0, end = 0;
};

Row row_of(const Values& values, std::size_t at) {
  const auto size = static_cast<std::size_t>(
      values.dims.empty() ? 1 : std::max<std::int64_t>(1, values.dims.back()));
  return {at / size * size, std::min(values.numbers.size(), (at / size + 1) * size)};
}

/// The largest finite number of the row around an element: what rounding is relative to.
double largest_of_row(const Values& values, std::size_t at) {
  double largest = 1;
  const Row row = row_of(values, at);
  for (std::size_t i = row.begin; i < row.end; ++i) {
    const double size = std::abs(values.numbers[i]);
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  return largest;
}

constexpr double kHuge = 1e37;  ///< from here on a sum in another order may overflow

struct Allowed {
  double relative = 0, absolute = 0;  ///< `absolute` is relative to the row's largest
};

Allowed allowed_of(ir::ElementType element, const Slack& slack) {
  switch (element) {
    case ir::ElementType::kF64: return {1e-9, 1e-10};
    case ir::ElementType::kF32: return {2e-4, 2e-5 + slack.of_largest};
    case ir::ElementType::kF16: return {1e-2, 5e-3 + slack.of_largest};
    case ir::ElementType::kBf16: return {5e-2, 3e-2 + slack.of_largest};
    default: return {0, 0};
  }
}

}  // namespace

Result<GraphRunner> GraphRunner::create(const ir::Graph& graph, const std::string& backend,
                                        bool optimize) {
  compile::CompileOptions options;
  options.backends = {backend};
  options.optimize = optimize;
  auto executable = SLUICE_TRY(compile::compile(graph, registry(), options));
  exec::LoadOptions load;
  load.num_threads = 1;
  return GraphRunner(SLUICE_TRY(exec::LoadedModel::load(std::move(executable), registry(), load)));
}

Result<std::vector<Values>> GraphRunner::run(std::vector<HostTensor> inputs) const {
  exec::Context context = SLUICE_TRY(model_.create_context());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    HostTensor& input = inputs[i];
    SLUICE_TRY(context.set_input(
        i, {input.bytes.data(), std::ssize(input.bytes), input.element, input.dims}));
  }
  SLUICE_TRY(context.run());
  std::vector<Values> outputs;
  for (std::size_t i = 0; i < model_.signature().outputs.size(); ++i) {
    const terms::TensorView& view = context.output(i);
    const std::span bytes(static_cast<const std::byte*>(view.data),
                          static_cast<std::size_t>(view.size_bytes));
    outputs.push_back({view.element, view.dims, testing::decode(view.element, bytes)});
  }
  return outputs;
}

Result<bool> overflows(const ir::Graph& graph, const std::vector<HostTensor>& inputs) {
  ir::Graph tapped = graph;
  ir::Subgraph& main = tapped.main();
  main.outputs.clear();
  std::vector<std::pair<ir::OperationId, std::size_t>> made;  // each output's operation
  std::map<ir::OperandId, std::size_t> places;                // by operand, among the outputs
  for (const ir::OperationId at : main.order()) {
    for (const ir::OperandId id : main.operation(at).outputs) {
      if (!id.is_valid() || !main.operand(id).type.is_tensor() ||
          !ir::is_floating_point(main.operand(id).type.element())) {
        continue;
      }
      main.operand(id).name = fmt::format("tap_{}", main.outputs.size());
      places[id] = main.outputs.size();
      made.emplace_back(at, main.outputs.size());
      main.outputs.push_back(id);
    }
  }
  if (made.empty()) return false;
  const GraphRunner runner = SLUICE_TRY(GraphRunner::create(tapped, "reference", false));
  const std::vector<Values> values = SLUICE_TRY(runner.run(inputs));
  const auto is_number = [](double x) { return !(std::abs(x) >= kHuge); };
  const auto are_numbers = [&](ir::OperandId id) {
    const auto place = places.find(id);
    if (place != places.end()) return std::ranges::all_of(values[place->second].numbers, is_number);
    const ir::Constant* constant = id.is_valid() ? main.find_constant(id) : nullptr;
    const auto numbers = constant != nullptr ? ir::float_values(*constant) : std::nullopt;
    return !numbers || std::ranges::none_of(*numbers, [](double x) { return !std::isfinite(x); });
  };
  return std::ranges::any_of(made, [&](const auto& operation) {
    const ir::Operation& sum = main.operation(operation.first);
    return !ops::find_schema(sum.domain, sum.kind)->has(ops::kElementwise) &&
           !std::ranges::all_of(values[operation.second].numbers, is_number) &&
           std::ranges::all_of(sum.inputs, are_numbers);
  });
}

std::set<std::string> passes_that_rewrite(const ir::Graph& graph) {
  std::set<std::string> names;
  compile::CompileOptions options;
  options.observe = [&](std::string_view pass, const ir::Graph&) {
    names.emplace(pass);
    return ok_status();
  };
  const auto ignored = compile::compile(graph, registry(), options);
  return names;
}

bool Comparison::is_near(double number, std::size_t at, double share) const {
  const double want = exact.numbers[at];
  if (may_overflow && !(std::abs(want) < kHuge)) return !(std::abs(number) < kHuge / 10);
  if (std::isnan(want) || std::isnan(number)) return std::isnan(want) && std::isnan(number);
  double limit = slack.steps;
  if (ir::is_floating_point(exact.element)) {
    const Allowed allowed = allowed_of(exact.element, slack);
    limit = allowed.relative * std::abs(want) + allowed.absolute * largest_of_row(exact, at);
  } else if (share < 1) {
    limit = 0;
  }
  return number == want || std::abs(number - want) <= share * limit;
}

bool Comparison::is_sure_of_row(std::size_t at) const {
  const Row row = row_of(exact, at);
  for (std::size_t i = row.begin; i < row.end; ++i) {
    for (const Values* twin : twins) {
      if (!is_near(twin->numbers[i], i, 0.5)) return false;
    }
  }
  return true;
}

std::string Comparison::find_difference(const Values& actual, const Values* other) const {
  if (actual.element != exact.element || actual.dims != exact.dims ||
      actual.numbers.size() != exact.numbers.size()) {
    return fmt::format("{} of {} elements in place of {} of {}",
                       ir::element_type_name(actual.element), actual.numbers.size(),
                       ir::element_type_name(exact.element), exact.numbers.size());
  }
  for (std::size_t i = 0; i < exact.numbers.size(); ++i) {
    if (is_near(actual.numbers[i], i, 1)) continue;
    if (other != nullptr && !is_near(other->numbers[i], i, 1)) continue;
    if (!is_sure_of_row(i)) continue;
    return fmt::format("element {} is {} in place of {}", i, actual.numbers[i], exact.numbers[i]);
  }
  return "";
}

}  // namespace sluice::golden
