#include "terms/graph.h"

#include <utility>

#include "terms/runtime_code.h"

namespace sluice::terms {
namespace {

// Texts in errors are a client's and may be long.
constexpr std::size_t kMaxShownBytes = 200;

Status no_form(std::string_view text, std::string_view form) {
  return runtime_error(RuntimeCode::kInvalid, "\"{}\" is not of the form {}",
                       text.substr(0, kMaxShownBytes), form);
}

}  // namespace

Result<GraphPort> GraphPort::parse(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot != std::string_view::npos && dot > 0 && dot + 1 < text.size()) {
    return GraphPort{std::string(text.substr(0, dot)), std::string(text.substr(dot + 1))};
  }
  return no_form(text, "FUNCTION.TENSOR");
}

Result<GraphEdge> GraphEdge::parse(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return no_form(text, "FUNCTION.OUTPUT=FUNCTION.INPUT");
  }
  GraphPort from = SLUICE_TRY(GraphPort::parse(text.substr(0, equals)));
  GraphPort to = SLUICE_TRY(GraphPort::parse(text.substr(equals + 1)));
  return GraphEdge{std::move(from), std::move(to)};
}

}  // namespace sluice::terms
