#include "telemetry/traffic_file.h"

#include <optional>
#include <type_traits>

namespace sluice::telemetry {
namespace {

template <typename Number>
void put(std::string& to, Number number) {
  auto left = static_cast<std::make_unsigned_t<Number>>(number);
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    to += static_cast<char>(left & 0xff);
    left = static_cast<std::make_unsigned_t<Number>>(static_cast<std::uint64_t>(left) >> 8);
  }
}

void put_text(std::string& to, std::string_view text) {
  put(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}

/// Takes values from the front. Nothing is read behind the end.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  template <typename Number>
  std::optional<Number> number() {
    const auto bytes = take(sizeof(Number));
    if (!bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = sizeof(Number); i-- > 0;) {
      value = value << 8 | static_cast<std::uint8_t>((*bytes)[i]);
    }
    return static_cast<Number>(value);
  }
  std::optional<std::string_view> text() {
    const auto size = number<std::uint32_t>();
    return size ? take(*size) : std::nullopt;
  }
  std::optional<std::string_view> take(std::size_t size) {
    if (size > rest_.size()) return std::nullopt;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<RecordedInput> read_input(Cursor& from) {
  RecordedInput input;
  const auto name = from.text();
  const auto element_type = from.number<std::int32_t>();
  const auto rank = from.number<std::uint32_t>();
  if (!name || !element_type || !rank || *rank > kMaxRecordedRank) return std::nullopt;
  input.name = *name;
  input.element_type = *element_type;
  for (std::uint32_t i = 0; i < *rank; ++i) {
    const auto dim = from.number<std::int64_t>();
    if (!dim) return std::nullopt;
    input.dims.push_back(*dim);
  }
  const auto bytes = from.text();
  if (!bytes) return std::nullopt;
  input.bytes = *bytes;
  return input;
}

std::optional<RecordedRequest> read_request(Cursor from) {
  RecordedRequest request;
  const auto arrival_ns = from.number<std::int64_t>();
  const auto priority = from.number<std::int32_t>();
  const auto model = from.text();
  const auto num_inputs = from.number<std::uint32_t>();
  if (!arrival_ns || *arrival_ns < 0 || !priority || !model || !num_inputs) return std::nullopt;
  if (*num_inputs > kMaxRecordedInputs) return std::nullopt;
  request.arrival_ns = *arrival_ns;
  request.priority = *priority;
  request.model = *model;
  for (std::uint32_t i = 0; i < *num_inputs; ++i) {
    auto input = read_input(from);
    if (!input) return std::nullopt;
    request.inputs.push_back(std::move(*input));
  }
  if (!from.is_at_end()) return std::nullopt;
  return request;
}

}  // namespace

std::string to_bytes(const RecordedRequest& request) {
  std::size_t expected_bytes = 4096;  // names, types and dimensions
  for (const RecordedInput& input : request.inputs) expected_bytes += input.bytes.size();
  std::string body;
  body.reserve(expected_bytes);
  put(body, std::uint32_t{0});  // its size, which is known last
  put(body, request.arrival_ns);
  put(body, request.priority);
  put_text(body, request.model);
  put(body, static_cast<std::uint32_t>(request.inputs.size()));
  for (const RecordedInput& input : request.inputs) {
    put_text(body, input.name);
    put(body, input.element_type);
    put(body, static_cast<std::uint32_t>(input.dims.size()));
    for (const std::int64_t dim : input.dims) put(body, dim);
    put_text(body, input.bytes);
  }
  std::string size;
  put(size, static_cast<std::uint32_t>(body.size() - sizeof(std::uint32_t)));
  return body.replace(0, size.size(), size);
}

Result<std::vector<RecordedRequest>> parse_traffic(std::string_view file) {
  if (!file.starts_with(kTrafficMagic)) {
    return invalid_argument("this is no recording of requests; `sluiced --record FILE` writes one");
  }
  Cursor from(file.substr(kTrafficMagic.size()));
  std::vector<RecordedRequest> requests;
  while (const auto body = from.text()) {
    auto request = read_request(Cursor(*body));
    if (!request)
      return invalid_argument("request {} of the recording is damaged", requests.size());
    requests.push_back(std::move(*request));
  }
  return requests;
}

}  // namespace sluice::telemetry
