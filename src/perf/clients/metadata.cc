#include "perf/clients/metadata.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/json/json_reader.h"
#include "perf/clients/served_model.h"

namespace sluice::perf {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxTensors = 1024;
constexpr std::size_t kMaxRank = 64;  // as of a package's tensors

Result<std::string> text_of(const JsonValue& object, std::string_view field) {
  return SLUICE_TRY(object.field(field)).as_text();
}

Result<terms::TensorSpec> parse_tensor(const JsonValue& tensor) {
  const std::string name = SLUICE_TRY(text_of(tensor, "name"));
  const std::string datatype = SLUICE_TRY(text_of(tensor, "datatype"));
  std::vector<std::int64_t> shape;
  for (const JsonValue& dim : SLUICE_TRY(tensor.items_or_none("shape", kMaxRank))) {
    shape.push_back(SLUICE_TRY(dim.as_int(-1, std::numeric_limits<std::int64_t>::max())));
  }
  return spec_of(name, datatype, shape);
}

Result<std::vector<terms::TensorSpec>> parse_tensors(const JsonValue& model, const char* key) {
  const JsonValue list = SLUICE_TRY(model.field(key));
  std::vector<terms::TensorSpec> tensors;
  for (const JsonValue& tensor : SLUICE_TRY(list.as_items(kMaxTensors))) {
    tensors.push_back(SLUICE_TRY(parse_tensor(tensor)));
  }
  return tensors;
}

}  // namespace

Result<terms::Signature> parse_metadata(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return invalid_argument("{} bytes; at most {} are read", text.size(), kMaxBytes);
  }
  const nlohmann::json json = SLUICE_TRY(parse_json(text));
  const JsonValue model(json, "");
  terms::Signature signature;
  signature.inputs = SLUICE_TRY(parse_tensors(model, "inputs"));
  signature.outputs = SLUICE_TRY(parse_tensors(model, "outputs"));
  return signature;
}

}  // namespace sluice::perf
