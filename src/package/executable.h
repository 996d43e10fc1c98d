// A compiled model: `compile` produces it, `.sluice` files store it and `exec` runs it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "ir/graph.h"
#include "plan/arena_layout.h"

namespace sluice::package {

/// A constant packed by a backend.
struct PackedConstant {
  std::string backend;
  std::string backend_version;
  std::string packing_key;
  std::uint32_t operation = 0;  ///< position in the subgraph's order
  std::uint32_t input = 0;
  std::string format;
  Bytes data;
  std::uint32_t subgraph = 0;
};

/// A run of neighbouring operations of the main subgraph that is placed on cores of its own.
struct SegmentSpec {
  std::string name;
  std::uint32_t first_operation =
      0;                   ///< position in the main subgraph's order; it ends at the next
  std::int32_t cores = 1;  ///< number of cores it was compiled for

  bool operator==(const SegmentSpec&) const = default;
};

/// Immutable once made. Constants and packed bytes may be slices of a mapped file: they are shared,
/// never copied. Safe to read from any thread.
struct Executable {
  ir::Graph graph;
  std::vector<std::string> backends;
  /// By subgraph, then position in its order: index of the backend that runs the operation, -1 for
  /// the executor. Empty for bodies of fused operations, which run with their operation.
  std::vector<std::vector<std::int16_t>> backend_of;
  /// Arena of the main subgraph; absent where shapes are only known at run time.
  std::optional<plan::ArenaLayout> plan;
  std::vector<PackedConstant> packed;
  /// By first operation, the first at 0; operations of one segment have one backend. Empty: a
  /// segment per sequence of operations of one backend, of one core each.
  std::vector<SegmentSpec> segments;
  /// Checksums (XXH3-64) of what lies in a file, by address of its first byte.
  std::map<const std::byte*, std::uint64_t> checksums;

  /// Reads all of `data`, the bytes of a constant or packed constant, and compares its checksum.
  /// Succeeds without a check for data that was never in a file.
  /// Fails: kDataLoss naming `what`.
  Status verify(const Bytes& data, std::string_view what) const;
};

/// The segments of `executable`, with the default filled in: never empty unless it has no
/// operations.
/// Fails: kDataLoss for segments that do not start at 0, are out of order or past the end, want
///        less than one core, or hold operations of two backends.
Result<std::vector<SegmentSpec>> segments_of(const Executable& executable);

/// One input or output of an executable.
struct TensorSpec {
  std::string name;
  ir::Type type;
  /// Axis along which requests may be joined: the leading dimension where it is a symbol; else -1.
  int batch_axis = -1;
  /// Whether a request may leave the input out.
  bool has_default = false;
  /// The value of an input that is left out; null in a client. Shared with the executable.
  std::shared_ptr<const ir::Constant> default_value = nullptr;
};

struct Signature {
  std::vector<TensorSpec> inputs;  ///< those with defaults last
  std::vector<TensorSpec> outputs;
  /// Whether the model was compiled with constants for initializers that its file lists as inputs.
  bool has_fixed_inputs = false;
};

Signature signature_of(const ir::Graph& graph);

/// What an error about a name that is no input adds: that `name` may be a fixed input, and the
/// option that makes it one of the model. Empty for a model without fixed inputs.
std::string fixed_input_hint(const Signature& signature, std::string_view name);

}  // namespace sluice::package
