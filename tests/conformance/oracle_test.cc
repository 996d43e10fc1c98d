// Operators that are more complex than element-wise ones: every plug-in against `reference`.
#include <functional>
#include <random>

#include "backend/extensions/variants.h"
#include "conformance/fixture.h"
#include "support/tolerance.h"

namespace sluice::conformance {
namespace {

using ir::ElementType;
using Dims = std::vector<std::int64_t>;
using Ints = std::vector<std::int64_t>;

ir::Type floats(Dims dims) { return tensor_type(ElementType::kF32, std::move(dims)); }

/// Numbers of either sign around 1 in size, the same for the same dims.
Tensor random_floats(const Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  std::mt19937 generator(static_cast<std::uint32_t>(count));
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = uniform(generator);
  return Tensor::of(ElementType::kF32, dims, values);
}

ir::Constant weights(const Dims& dims) {
  Tensor tensor = random_floats(dims);
  return {tensor.type, Bytes::own(std::move(tensor.bytes))};
}

/// An operator and the shapes of its inputs that are no constants.
struct Case {
  std::string name;
  OpMaker op;
  std::vector<Dims> inputs;
};

Case product(std::string name, Dims a, Dims b, Dims y, bool is_constant) {
  OpMaker op("MatMul");
  op.input(floats(a));
  if (is_constant) {
    return {std::move(name), op.constant(weights(b)).output(floats(y)), {a}};
  }
  return {std::move(name), op.input(floats(b)).output(floats(y)), {a, b}};
}

Case gemm(std::string name, Dims a, Dims b, Dims c, std::int64_t trans_a, std::int64_t trans_b) {
  OpMaker op("Gemm");
  op.input(floats(a)).constant(weights(b)).constant(weights(c)).output(floats({6, 20}));
  op.attribute("transA", trans_a).attribute("transB", trans_b);
  op.attribute("alpha", 0.5F).attribute("beta", 2.0F);
  return {std::move(name), op, {a}};
}

struct Window {
  Ints kernel;
  Ints strides = {1, 1};
  Ints pads = {0, 0, 0, 0};
  Ints dilations = {1, 1};
};

OpMaker windowed(const char* kind, int version, const Window& window) {
  OpMaker op(kind, version);
  op.attribute("auto_pad", std::string("NOTSET")).attribute("kernel_shape", window.kernel);
  op.attribute("strides", window.strides).attribute("pads", window.pads);
  return op;
}

Case conv(std::string name, Dims x, Dims w, Dims y, std::int64_t group, const Window& window) {
  OpMaker op = windowed("Conv", 11, window);
  op.attribute("group", group).attribute("dilations", window.dilations);
  op.input(floats(x)).constant(weights(w)).constant(weights({w[0]})).output(floats(y));
  return {std::move(name), op, {x}};
}

Case pool(std::string name, const char* kind, int version, Dims x, Dims y, const Window& window) {
  OpMaker op = windowed(kind, version, window);
  op.attribute("ceil_mode", std::int64_t{0});
  op.input(floats(x)).output(floats(y));
  return {std::move(name), op, {x}};
}

Case softmax(std::string name, Dims x, std::int64_t axis) {
  OpMaker op("Softmax");
  op.attribute("axis", axis).input(floats(x)).output(floats(x));
  return {std::move(name), op, {x}};
}

Case transpose(std::string name, Dims x, Ints perm) {
  Dims y;
  for (const std::int64_t axis : perm) y.push_back(x[static_cast<std::size_t>(axis)]);
  OpMaker op("Transpose");
  op.attribute("perm", perm).input(floats(x)).output(floats(y));
  return {std::move(name), op, {x}};
}

Case layer_norm(std::string name, Dims x, std::int64_t size) {
  OpMaker op("LayerNormalization", 17);
  op.attribute("axis", std::int64_t{-1}).attribute("epsilon", 1e-5F);
  op.attribute("stash_type", std::int64_t{1});
  op.input(floats(x)).constant(weights({size})).constant(weights({size})).output(floats(x));
  return {std::move(name), op, {x}};
}

std::vector<Case> all_cases() {
  return {
      product("matrix", {7, 33}, {33, 20}, {7, 20}, true),
      product("matrix of one row", {1, 64}, {64, 100}, {1, 100}, true),
      product("batches", {2, 3, 7, 5}, {2, 3, 5, 9}, {2, 3, 7, 9}, false),
      product("broadcast batches", {3, 7, 5}, {2, 1, 5, 9}, {2, 3, 7, 9}, false),
      product("vector", {33}, {33, 20}, {20}, false),
      gemm("plain", {6, 17}, {17, 20}, {20}, 0, 0),
      gemm("both transposed", {17, 6}, {20, 17}, {6, 1}, 1, 1),
      conv("1x1", {1, 20, 9, 9}, {33, 20, 1, 1}, {1, 33, 9, 9}, 1, {{1, 1}}),
      conv("3x3", {2, 3, 11, 13}, {16, 3, 3, 3}, {2, 16, 6, 7}, 1, {{3, 3}, {2, 2}, {1, 1, 1, 1}}),
      conv("dilated, uneven pads", {1, 4, 10, 10}, {8, 4, 3, 3}, {1, 8, 9, 7}, 1,
           {{3, 3}, {1, 1}, {2, 0, 1, 1}, {2, 2}}),
      conv("depthwise", {1, 24, 8, 8}, {24, 1, 3, 3}, {1, 24, 8, 8}, 24,
           {{3, 3}, {1, 1}, {1, 1, 1, 1}}),
      conv("groups", {1, 12, 8, 8}, {20, 3, 3, 3}, {1, 20, 6, 6}, 4, {{3, 3}}),
      pool("maximum", "MaxPool", 12, {1, 5, 9, 9}, {1, 5, 5, 5}, {{3, 3}, {2, 2}, {1, 1, 1, 1}}),
      pool("average", "AveragePool", 11, {1, 5, 9, 9}, {1, 5, 5, 5},
           {{3, 3}, {2, 2}, {1, 1, 1, 1}}),
      softmax("rows", {5, 37}, -1),
      softmax("columns", {3, 17, 4}, 1),
      transpose("matrix", {17, 35}, {1, 0}),
      transpose("heads", {2, 5, 4, 16}, {0, 2, 1, 3}),
      layer_norm("rows", {6, 37}, 37),
  };
}

class Oracle : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (plugin->name() == "reference") GTEST_SKIP() << "reference is the oracle itself";
    auto loaded = Backend::load(testing::build_path("lib/sluice/libsluice_backend_reference.so"));
    SLUICE_ASSERT_OK(loaded);
    reference = *loaded;
  }

  /// Runs a case on both; counts it unless one of them lacks the operator.
  void compare(const Case& the_case, int& num_compared) {
    const auto op = the_case.op.make();
    SLUICE_ASSERT_OK(op);
    for (const auto& backend : {plugin, reference}) {
      const auto support = backend->query(*op);
      SLUICE_ASSERT_OK(support);
      if (!support->is_supported) return;
    }
    std::vector<Tensor> inputs;
    for (const Dims& dims : the_case.inputs) inputs.push_back(random_floats(dims));
    const auto actual = run_once(plugin, *op, inputs);
    const auto expected = run_once(reference, *op, inputs);
    SLUICE_ASSERT_OK(actual);
    SLUICE_ASSERT_OK(expected);
    const std::vector<double> values = (*actual)[0].values();
    const std::vector<double> exact = (*expected)[0].values();
    for (std::size_t i = 0; i < exact.size(); ++i) {
      ASSERT_TRUE(testing::is_close(values[i], exact[i], {1e-4, 1e-5}))
          << "[" << i << "] is " << values[i] << ", reference says " << exact[i];
    }
    ++num_compared;
  }

  std::shared_ptr<const Backend> reference;
};
SLUICE_INSTANTIATE_FOR_PLUGINS(Oracle);

TEST_P(Oracle, AgreesWithReference) {
  int num_compared = 0;
  for (const Case& the_case : all_cases()) {
    SCOPED_TRACE(the_case.op.kind() + ", " + the_case.name);
    compare(the_case, num_compared);
  }
  if (num_compared == 0) GTEST_SKIP() << "none of these operators is supported";
}

TEST_P(Oracle, EveryTacticAgreesWithReference) {
  int num_compared = 0;
  for (const Case& the_case : all_cases()) {
    const auto op = the_case.op.make();
    SLUICE_ASSERT_OK(op);
    for (const int num_cores : {1, 2}) {
      auto variants = backend::list_variants(*plugin, *op, num_cores);
      SLUICE_ASSERT_OK(variants);
      variants->push_back("nobody's");  // counts as none
      for (const std::string& variant : *variants) {
        SCOPED_TRACE(the_case.op.kind() + ", " + the_case.name + ", " + variant);
        Case varied = the_case;
        varied.op.attribute(std::string(backend::kVariantAttribute), variant);
        compare(varied, num_compared);
      }
    }
  }
  if (num_compared == 0) GTEST_SKIP() << "none of these operators is supported";
}

}  // namespace
}  // namespace sluice::conformance
