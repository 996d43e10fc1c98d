#include "golden/variants.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "golden/golden_case.h"
#include "ir/text/graph_text.h"
#include "support/values.h"

namespace sluice::golden {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargest = std::numeric_limits<float>::max();

constexpr double kEdges[] = {0,     -0.0,   1,      -1,    2,     0.5,       1e-3,       1e-10,
                             1e-45, -1e-45, 2e-38,  1e10,  1e20,  -1e20,     kLargest,   -kLargest,
                             -1e4,  -1e9,   -65504, 1e-30, -1e30, kInfinity, -kInfinity, kNan};
constexpr double kByteEdges[] = {0, 1, 127, 128, 255, -1, -127, -128};
constexpr double kSmallIntegers[] = {-3, -2, -1, 0, 1, 2, 3};
constexpr double kFactors[] = {-1, 2, 1 + 1e-6, 1e-3, 1e6, 1 + 1e-3};

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}

  std::size_t below(std::size_t count) { return engine_() % count; }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  double normal() { return normal_(engine_); }
  template <std::size_t kCount>
  double pick(const double (&choices)[kCount]) {
    return choices[below(kCount)];
  }

 private:
  std::mt19937 engine_;
  std::normal_distribution<double> normal_;
};

bool is_byte(ir::ElementType element) {
  return element == ir::ElementType::kU8 || element == ir::ElementType::kI8;
}

bool is_coded(ir::ElementType element) {
  return ir::element_bits(element) >= 8 &&
         (ir::is_floating_point(element) || is_byte(element) || element == ir::ElementType::kI64 ||
          element == ir::ElementType::kI32 || element == ir::ElementType::kBool);
}

double in_range(ir::ElementType element, double value) {
  if (element == ir::ElementType::kU8) return std::clamp(value, 0.0, 255.0);
  return element == ir::ElementType::kI8 ? std::clamp(value, -128.0, 127.0) : value;
}

void set_values(ir::Operand& operand, const std::vector<double>& values, ir::Shape shape) {
  const ir::ElementType element = operand.type.element();
  std::vector<double> fitting;
  for (const double value : values) fitting.push_back(in_range(element, value));
  operand.type = ir::Type::tensor(element, std::move(shape));
  operand.constant = {operand.type, Bytes::own(testing::encode(element, fitting))};
}

std::vector<double> values_of(const ir::Operand& operand) {
  return testing::decode(operand.type.element(), operand.constant->data.view());
}

/// Weights of equal elements would hide which of them a rewrite moves.
void randomize_splats(ir::Graph& graph) {
  Random random(7);
  for (std::size_t s = 0; s < graph.num_subgraphs(); ++s) {
    ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      ir::Operand& operand = subgraph.operand(ir::OperandId(i));
      const bool is_weight = operand.constant && (ir::is_floating_point(operand.type.element()) ||
                                                  is_byte(operand.type.element()));
      if (!is_weight || ir::element_bits(operand.type.element()) < 8) continue;
      std::vector<double> values = values_of(operand);
      if (values.size() < 2 || std::ranges::count(values, values[0]) < std::ssize(values)) continue;
      const double first = values[0];
      const double spread = is_byte(operand.type.element()) ? 30 : 0.3;
      for (double& value : values) {
        const double noise = spread * random.normal();
        value = first > 0 ? first + std::abs(noise) : first + noise;
        if (is_byte(operand.type.element())) value = std::nearbyint(value);
      }
      set_values(operand, values, *operand.type.shape());
    }
  }
}

/// Symbols of one name become one number; small ones, which differ.
ir::Shape with_numbers(const ir::Shape& shape,
                       std::map<std::string, std::int64_t, std::less<>>* numbers) {
  ir::Shape result;
  for (const ir::Dim& dim : shape) {
    result.push_back(dim.substitute([&](std::string_view symbol) -> std::optional<ir::Dim> {
      const auto next = static_cast<std::int64_t>(numbers->size()) + 2;
      return ir::Dim(numbers->emplace(symbol, next).first->second);
    }));
  }
  return result;
}

/// A shape that broadcasts with that of some operand of the subgraph.
ir::Shape broadcastable_shape(const ir::Subgraph& subgraph, Random& random) {
  const ir::OperandId other(random.below(subgraph.num_operands()));
  const ir::Type& type = subgraph.operand(other).type;
  const auto dims = type.is_tensor() ? type.static_dims() : std::nullopt;
  if (!dims) return {};
  ir::Shape shape;
  for (std::size_t i = random.below(dims->size() + 1); i < dims->size(); ++i) {
    shape.emplace_back(random.chance(40) ? 1 : (*dims)[i]);
  }
  return shape;
}

class Changer {
 public:
  Changer(ir::Graph& graph, const std::set<std::string>& kept, std::uint32_t seed)
      : graph_(graph), kept_(kept), random_(seed) {}

  bool is_extreme() const { return is_extreme_; }

  std::string run() {
    std::vector<std::pair<ir::SubgraphId, ir::OperandId>> constants;
    for (std::size_t s = 0; s < graph_.num_subgraphs(); ++s) {
      const ir::Subgraph& subgraph = graph_.subgraph(ir::SubgraphId(s));
      for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
        const ir::Operand& operand = subgraph.operand(ir::OperandId(i));
        if (!operand.constant || !is_coded(operand.type.element()) ||
            kept_.contains(operand.name)) {
          continue;
        }
        constants.emplace_back(ir::SubgraphId(s), ir::OperandId(i));
      }
    }
    if (constants.empty()) return "";
    std::string text;
    for (int count = random_.chance(30) ? 2 : 1; count > 0; --count) {
      const auto [subgraph, id] = constants[random_.below(constants.size())];
      text += change(graph_.subgraph(subgraph), id) + " ";
    }
    return text;
  }

 private:
  std::string change(ir::Subgraph& subgraph, ir::OperandId id) {
    ir::Operand& operand = subgraph.operand(id);
    const ir::ElementType element = operand.type.element();
    std::vector<double> values = values_of(operand);
    ir::Shape shape = *operand.type.shape();
    std::string what;
    if (values.empty()) return "";
    if (ir::is_floating_point(element)) {
      what = random_.chance(15) ? reshape(subgraph, values, shape) : change_floats(values);
    } else {
      const double edge = element == ir::ElementType::kBool ? static_cast<double>(random_.below(2))
                          : is_byte(element)                ? random_.pick(kByteEdges)
                                                            : random_.pick(kSmallIntegers);
      what = put(values, edge);
    }
    for (const double value : values) {
      const double size = std::abs(value);
      is_extreme_ = is_extreme_ || !(size < 1e15) || (size > 0 && size < 1e-15);
    }
    set_values(operand, values, std::move(shape));
    return fmt::format("%{}: {};", operand.name, what);
  }

  std::string put(std::vector<double>& values, double value) {
    if (random_.chance(50)) {
      std::ranges::fill(values, value);
      return fmt::format("all {}", value);
    }
    const std::size_t at = random_.below(values.size());
    values[at] = value;
    return fmt::format("[{}] {}", at, value);
  }

  std::string change_floats(std::vector<double>& values) {
    if (random_.chance(15)) {
      const double factor = random_.pick(kFactors);
      for (double& value : values) value *= factor;
      return fmt::format("times {}", factor);
    }
    if (random_.chance(80)) return put(values, random_.pick(kEdges));
    for (double& value : values) {
      if (random_.chance(50)) value = random_.pick(kEdges);
    }
    return fmt::format("mixed, first {}", values[0]);
  }

  std::string reshape(const ir::Subgraph& subgraph, std::vector<double>& values, ir::Shape& shape) {
    if (values.size() > 1 && random_.chance(50)) {
      shape.insert(shape.begin(), ir::Dim(1));
      return "one more axis";
    }
    const double first = values[0];
    shape = random_.chance(40) ? ir::Shape(random_.below(6), ir::Dim(1))
                               : broadcastable_shape(subgraph, random_);
    values.assign(static_cast<std::size_t>(*ir::num_elements(shape)), first);
    if (random_.chance(50)) {
      for (double& value : values) value *= 1 + 0.3 * random_.normal();
    }
    return "shape " + ir::shape_to_string(shape);
  }

  ir::Graph& graph_;
  const std::set<std::string>& kept_;
  Random random_;
  bool is_extreme_ = false;
};

void fill_floats(std::vector<double>& values, std::size_t row, bool is_mask, Random& random) {
  const double hidden[] = {-kInfinity, -kLargest, -1e9, -1e4, -5};
  const double hides = random.pick(hidden);
  bool hides_row = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % row == 0) hides_row = random.chance(25);
    const bool is_hidden = is_mask && (hides_row || random.chance(30));
    values[i] = is_hidden ? hides : is_mask ? 0 : random.normal();
  }
}

void fill_integers(std::vector<double>& values, ir::ElementType element, std::size_t row,
                   Random& random) {
  bool hides_row = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % row == 0) hides_row = random.chance(25);
    if (element == ir::ElementType::kBool) {
      values[i] = !hides_row && random.chance(70) ? 1 : 0;
    } else if (element == ir::ElementType::kU8) {
      values[i] = static_cast<double>(random.below(256));
    } else {
      values[i] = element == ir::ElementType::kI8 ? static_cast<double>(random.below(256)) - 128
                                                  : static_cast<double>(random.below(2));
    }
  }
}

}  // namespace

Result<ir::Graph> base_graph(const std::string& text) {
  ir::Graph graph = SLUICE_TRY(ir::parse_graph(text));
  randomize_splats(graph);
  std::map<std::string, std::int64_t, std::less<>> numbers;
  ir::Subgraph& main = graph.main();
  for (const ir::OperandId input : main.inputs) {
    ir::Type& type = main.operand(input).type;
    if (type.is_tensor() && type.shape() != nullptr) {
      type = type.with_shape(with_numbers(*type.shape(), &numbers));
    }
  }
  SLUICE_TRY(complete(graph));
  return graph;
}

Result<Variant> vary(const GoldenCase& golden, std::uint32_t seed) {
  Variant variant = {SLUICE_TRY(base_graph(golden.head)), "", false};
  Changer changer(variant.graph, golden.kept, seed);
  variant.changes = changer.run();
  variant.is_extreme = changer.is_extreme();
  SLUICE_TRY(complete(variant.graph));
  return variant;
}

std::vector<HostTensor> random_inputs(const ir::Subgraph& main, std::uint32_t seed) {
  Random random(seed);
  std::vector<HostTensor> inputs;
  for (const ir::OperandId id : main.inputs) {
    const ir::Operand& operand = main.operand(id);
    HostTensor input = {operand.type.element(), *operand.type.static_dims(), {}};
    std::vector<double> values(static_cast<std::size_t>(*ir::num_elements(*operand.type.shape())));
    const auto row = static_cast<std::size_t>(
        input.dims.empty() ? 1 : std::max<std::int64_t>(1, input.dims.back()));
    if (ir::is_floating_point(input.element)) {
      fill_floats(values, row, operand.name.starts_with("mask"), random);
    } else {
      fill_integers(values, input.element, row, random);
    }
    input.bytes = testing::encode(input.element, values);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::vector<HostTensor> disturbed(std::vector<HostTensor> inputs, std::uint32_t seed) {
  Random random(seed);
  for (HostTensor& input : inputs) {
    if (!ir::is_floating_point(input.element)) continue;
    constexpr double kStep = 1e-6;
    std::vector<double> values = testing::decode(input.element, input.bytes);
    for (double& value : values) value *= 1 + (random.chance(50) ? kStep : -kStep);
    input.bytes = testing::encode(input.element, values);
  }
  return inputs;
}

ir::Graph disturbed(ir::Graph graph, std::uint32_t seed) {
  Random random(seed);
  for (std::size_t s = 0; s < graph.num_subgraphs(); ++s) {
    ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      ir::Operand& operand = subgraph.operand(ir::OperandId(i));
      if (!operand.constant || operand.type.element() != ir::ElementType::kF32) continue;
      std::vector<double> values = values_of(operand);
      if (values.size() < 2) continue;
      constexpr double kStep = 1e-7;
      for (double& value : values) value *= 1 + (random.chance(50) ? kStep : -kStep);
      set_values(operand, values, *operand.type.shape());
    }
  }
  return graph;
}

}  // namespace sluice::golden
