#include "perf/recording.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/file.h"
#include "ir/element_type.h"
#include "terms/tensors/tensor.h"

namespace sluice::perf {
namespace {

constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 36;

Result<terms::NamedTensor> tensor_of(telemetry::RecordedInput& input) {
  const auto element = ir::element_type_from_onnx(input.element_type);
  if (!element || *element == ir::ElementType::kString) {
    return invalid_argument("input \"{}\": only numbers are sent again", input.name);
  }
  terms::NamedTensor tensor;
  tensor.name = input.name;
  tensor.view.element = *element;
  tensor.view.dims = input.dims;
  tensor.view.data = input.bytes.data();
  tensor.view.size_bytes = std::ssize(input.bytes);
  SLUICE_TRY(terms::check_size(tensor.view).with_context(input.name));
  return tensor;
}

}  // namespace

Result<std::vector<telemetry::RecordedRequest>> read_recording(const std::string& path,
                                                               const std::string& model) {
  const std::string file = SLUICE_TRY(read_text_file(path, kMaxFileBytes));
  auto requests = SLUICE_TRY(telemetry::parse_traffic(file).with_context(path));
  std::set<std::string> names;
  for (const auto& request : requests) names.insert(request.model);
  std::erase_if(requests, [&](const auto& request) { return request.model != model; });
  if (requests.empty()) {
    return make_error(Code::kNotFound, "{} has no requests to \"{}\"; it has some to: {}", path,
                      model, fmt::join(names, ", "));
  }
  std::ranges::stable_sort(requests, {}, &telemetry::RecordedRequest::arrival_ns);
  const std::int64_t first_ns = requests.front().arrival_ns;
  for (auto& request : requests) request.arrival_ns -= first_ns;
  return requests;
}

Result<std::shared_ptr<const std::vector<std::int64_t>>> add_recorded(
    std::vector<telemetry::RecordedRequest>& requests, Target& target) {
  std::vector<std::int64_t> arrivals_ns;
  for (telemetry::RecordedRequest& request : requests) {
    std::vector<terms::NamedTensor> inputs;
    for (telemetry::RecordedInput& input : request.inputs) {
      auto tensor = tensor_of(input).with_context("the recording");
      inputs.push_back(SLUICE_TRY(std::move(tensor)));
    }
    SLUICE_TRY(target.add_request(inputs));
    arrivals_ns.push_back(request.arrival_ns);
  }
  return std::make_shared<const std::vector<std::int64_t>>(std::move(arrivals_ns));
}

}  // namespace sluice::perf
