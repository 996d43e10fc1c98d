// The operator table: inputs, outputs and the shape function of each operator.
//
// Adding an operator is one `OpSchema` in its family's file, plus kernels in the backends. The
// attributes of an operation that passed `normalize` are complete (defaults filled in) and it is in
// the newest form this table knows, unless its old form means something that the new cannot say.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace sluice::ops {

class InferenceContext;

/// A set of element types.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(std::initializer_list<ir::ElementType> types) {
    for (const ir::ElementType type : types) bits_ |= bit(type);
  }
  constexpr bool contains(ir::ElementType type) const { return (bits_ & bit(type)) != 0; }
  constexpr TypeSet operator|(TypeSet other) const { return TypeSet(bits_ | other.bits_); }
  constexpr bool is_empty() const { return bits_ == 0; }
  /// The type of a set of one; nullopt for other sets.
  constexpr std::optional<ir::ElementType> only() const {
    if (!std::has_single_bit(bits_)) return std::nullopt;
    return static_cast<ir::ElementType>(std::countr_zero(bits_));
  }
  /// "f16, f32, f64".
  std::string to_string() const;

 private:
  constexpr explicit TypeSet(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::uint32_t bit(ir::ElementType type) {
    return std::uint32_t{1} << static_cast<std::uint32_t>(type);
  }
  std::uint32_t bits_ = 0;
};

inline constexpr TypeSet kFloats = {ir::ElementType::kF16, ir::ElementType::kBf16,
                                    ir::ElementType::kF32, ir::ElementType::kF64};
inline constexpr TypeSet kSignedInts = {ir::ElementType::kI8, ir::ElementType::kI16,
                                        ir::ElementType::kI32, ir::ElementType::kI64};
inline constexpr TypeSet kUnsignedInts = {ir::ElementType::kU8, ir::ElementType::kU16,
                                          ir::ElementType::kU32, ir::ElementType::kU64};
inline constexpr TypeSet kInts = kSignedInts | kUnsignedInts;
inline constexpr TypeSet kNumbers = kFloats | kInts;
inline constexpr TypeSet kBools = {ir::ElementType::kBool};
inline constexpr TypeSet kIndices = {ir::ElementType::kI32, ir::ElementType::kI64};
inline constexpr TypeSet kI64Only = {ir::ElementType::kI64};
inline constexpr TypeSet kStrings = {ir::ElementType::kString};
inline constexpr TypeSet kComplex = {ir::ElementType::kC64, ir::ElementType::kC128};
inline constexpr TypeSet kEightBitFloats = {ir::ElementType::kF8E4M3Fn,
                                            ir::ElementType::kF8E4M3Fnuz, ir::ElementType::kF8E5M2,
                                            ir::ElementType::kF8E5M2Fnuz, ir::ElementType::kF8E8M0};
inline constexpr TypeSet kFourBits = {ir::ElementType::kU4, ir::ElementType::kI4,
                                      ir::ElementType::kF4E2M1};
inline constexpr TypeSet kTwoBits = {ir::ElementType::kU2, ir::ElementType::kI2};
inline constexpr TypeSet kAllTensors =
    kNumbers | kBools | kStrings | kComplex | kEightBitFloats | kFourBits | kTwoBits;

/// An input or output of an operator.
struct OperandSpec {
  std::string_view name;
  TypeSet types;
  /// Operands with the same variable ("T") have the same element type; "" for none.
  std::string_view variable = "";
  bool is_optional = false;
  bool is_variadic = false;  ///< the last one only; one or more
  /// The shape function needs this input's integers, not only its type: Reshape's `shape`.
  bool is_shape_value = false;
  bool is_single = false;       ///< one element: a scalar, or what exporters write for one
  bool takes_any_type = false;  ///< sequences and optionals as well as tensors
  /// The state of random numbers: the compiler adds this last input, a file may not have it.
  bool is_random_state = false;
};

struct AttributeSpec {
  std::string_view name;
  std::optional<ir::Attribute> default_value;  ///< filled in by `normalize`; fixes the kind
  bool is_required = false;
};

enum Trait : std::uint32_t {
  kNoTraits = 0,
  /// Output element i depends on input elements i only, broadcast: may stand in a fused body.
  kElementwise = 1U << 0,
  /// The shape function gives the largest possible shape; the kernel tells the actual one.
  kDataDependentShape = 1U << 1,
  kRandom = 1U << 2,  ///< never folded, merged or dropped as a duplicate
  /// Runs subgraphs or handles sequences: a step of the executor, never of a backend.
  kControlFlow = 1U << 3,
  /// Output 0 has exactly input 0's elements in the same order: no kernel is needed.
  kView = 1U << 4,
  /// Its newest form, too, is rewritten by `upgrade`, into operators of domain "sluice".
  kLowered = 1U << 5,
  /// Registered by the program (ops/custom.h): its own kernel runs it.
  kCustom = 1U << 6,
  /// Its output is memory that the executor fills before each run of the subgraph.
  kRunState = 1U << 7,
};

/// Sets output types (and, where known, small integer values) from the inputs'. Before it runs,
/// outputs have the element types that the schema gives them, and unknown shapes.
using InferFn = Status (*)(InferenceContext& context);

/// Rewrites an operation written for schema version `operation.version` into the newest form: its
/// attributes, inputs (constants may be added to `subgraph`) and `version`. Leaves it, version
/// included, where the newest cannot say the same.
using UpgradeFn = Status (*)(ir::Subgraph& subgraph, ir::Operation& operation);

struct OpSchema {
  std::string_view domain = "";  ///< "" for ONNX's default domain
  std::string_view name;
  std::vector<int> versions;  ///< since-versions that this entry covers, ascending
  std::string_view doc;       ///< one line
  std::vector<OperandSpec> inputs;
  std::vector<OperandSpec> outputs;
  std::vector<AttributeSpec> attributes = {};
  InferFn infer = nullptr;
  std::uint32_t traits = kNoTraits;
  UpgradeFn upgrade = nullptr;

  bool has(Trait trait) const { return (traits & trait) != 0; }
  /// Whether its results are there without a kernel: a view, or memory of the executor.
  bool needs_no_kernel() const { return (traits & (kView | kRunState)) != 0; }
  int newest_version() const { return versions.back(); }
};

/// The schema of an operator name, of the table or of the program; null if it is unknown. Pointers
/// live as long as the program.
const OpSchema* find_schema(std::string_view domain, std::string_view name);

/// As above without the operators of the program.
const OpSchema* find_built_in_schema(std::string_view domain, std::string_view name);

/// The since-version that a model importing `opset` of the operator's domain means; nullopt if the
/// operator is newer than that.
std::optional<int> version_in_opset(const OpSchema& schema, int opset);

/// All schemas but those of the program, ordered by domain, then name.
std::span<const OpSchema* const> all_schemas();

/// The `upgrade` of operators whose newest form says everything that the older forms said, in the
/// same words: only the version changes.
Status upgrade_unchanged(ir::Subgraph& subgraph, ir::Operation& operation);

/// Brings a freshly imported operation into the form that the rest of Sluice expects: checks
/// attribute kinds and operand counts, upgrades, fills in default attributes.
/// Requires: `operation.version` is one of the schema's.
/// Fails:    kInvalidArgument naming the node and what is wrong with it.
Status normalize(const OpSchema& schema, ir::Subgraph& subgraph, ir::Operation& operation);

}  // namespace sluice::ops
