// A compiled model: `compile` produces it, `.sluice` files store it and `exec` runs it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "ir/code/kernel_code.h"
#include "ir/graph.h"
#include "plan/arena_layout.h"
#include "terms/tensors/signature.h"

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

/// The compiled kernel of an operation.
struct OperationCode {
  std::string backend;
  std::uint32_t subgraph = 0;
  std::uint32_t operation = 0;  ///< position in the subgraph's order
  ir::KernelCode code;
};

/// The key of the metadata of a model that writes texts, one token after another.
inline constexpr const char* kGenerationFact = "sluice.generation";

/// A run of neighbouring operations of the main subgraph that is placed on cores of its own.
struct SegmentSpec {
  std::string name;
  std::uint32_t first_operation =
      0;                   ///< position in the main subgraph's order; it ends at the next
  std::int32_t cores = 1;  ///< 0: all that are free at the load; of the only segment

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
  /// By subgraph, then operation; at most one for an operation.
  std::vector<OperationCode> code;
  /// By first operation, the first at 0; operations of one segment have one backend. Empty: a
  /// segment per sequence of operations of one backend, of one core each; the only segment of a
  /// model with kGenerationFact takes all that are free.
  std::vector<SegmentSpec> segments;
  /// Files that travel with the model, by name, such as "tokenizer.json". No code of a runtime
  /// reads them; `verify` checks one before use. None is empty.
  std::map<std::string, Bytes> files;
  /// Checksums (XXH3-64) of what lies in a file, by address of its first byte.
  std::map<const std::byte*, std::uint64_t> checksums;

  /// Reads all of `data`, the bytes of a constant, packed constant or file, and compares its
  /// checksum. Succeeds without a check for data that was never in a file. Fails: kDataLoss naming
  /// `what`.
  Status verify(const Bytes& data, std::string_view what) const;

  /// The code for an operation of a subgraph that `backend` runs; null: none.
  const ir::KernelCode* find_code(ir::SubgraphId subgraph, std::size_t operation,
                                  std::string_view backend) const;
};

/// The segments of `executable`, with the default filled in: never empty unless it has no
/// operations.
/// Fails: kDataLoss for segments that do not start at 0, are out of order or past the end, want
///        less than one core (one segment: less than 0), or hold operations of two backends.
Result<std::vector<SegmentSpec>> segments_of(const Executable& executable);

terms::Signature signature_of(const ir::Graph& graph);

}  // namespace sluice::package
