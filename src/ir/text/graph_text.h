// The text form of a graph: prints, and parses back to the same graph.
//
// The form is described in docs/formats/ir-text.md. Golden tests are written in it and `.sluice`
// files keep their graph in it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "ir/graph.h"

namespace sluice::ir {

/// Returns the number of a constant that is stored outside the text; nullopt prints the elements in
/// the text.
using ConstantNumber = std::function<std::optional<std::size_t>(const Constant&)>;

/// Deterministic. Operands get unique names: their own name if they have one, else "%<number>".
std::string print(const Graph& graph, const ConstantNumber& number = {});

/// "Conv", "sluice::Elementwise+Add+Relu": domain and kind, and the kinds of a fused body.
/// Requires: the body's id in range.
std::string kind_text(const Graph& graph, const Operation& operation);

/// Reads what `print` writes. `numbered[i]` holds the bytes of the constant that the text calls #i.
/// The result is well-formed as text but not verified as a graph.
/// Fails: kInvalidArgument with line and column, for a number that `numbered` lacks too.
Result<Graph> parse_graph(std::string_view text, std::span<const Bytes> numbered = {});

}  // namespace sluice::ir
