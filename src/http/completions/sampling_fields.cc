#include "http/completions/sampling_fields.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

namespace sluice::http {
namespace {

using Json = Fields::Json;

constexpr std::size_t kMaxTextBytes = 1024;

/// A negative one counts from the end.
Result<std::optional<std::uint64_t>> read_seed(Fields& fields) {
  const Json seed = fields.take("seed");
  if (seed.is_null()) return std::optional<std::uint64_t>();
  if (!seed.is_number_integer()) {  // 5.0 is as good as 5
    const auto number = Fields::count_of(seed, "seed", -Fields::kMaxCount, Fields::kMaxCount);
    return std::optional(static_cast<std::uint64_t>(SLUICE_TRY(number)));
  }
  return std::optional(seed.is_number_unsigned()
                           ? seed.get<std::uint64_t>()
                           : static_cast<std::uint64_t>(seed.get<std::int64_t>()));
}

/// {"15043": -100}: ids as texts, since JSON's names are texts.
Result<std::vector<generate::LogitBias>> read_biases(Fields& fields) {
  const Json object = fields.take("logit_bias");
  std::vector<generate::LogitBias> biases;
  if (object.is_null()) return biases;
  if (!object.is_object()) return invalid_argument("logit_bias: expected an object");
  for (const auto& [name, value] : object.items()) {
    std::int64_t id = 0;
    const auto end = std::from_chars(name.data(), name.data() + name.size(), id);
    if (end.ec != std::errc() || end.ptr != name.data() + name.size() || !value.is_number()) {
      return invalid_argument("logit_bias: expected ids of tokens as texts, with numbers");
    }
    biases.push_back({id, static_cast<float>(value.get<double>())});
  }
  return biases;
}

}  // namespace

Result<generate::WantedSampling> read_sampling(Fields& fields) {
  generate::WantedSampling sampling;
  sampling.temperature = SLUICE_TRY(fields.number("temperature"));
  sampling.top_k = SLUICE_TRY(fields.count("top_k", -1));
  if (sampling.top_k == -1) sampling.top_k = 0;  // other servers' "all"
  sampling.top_p = SLUICE_TRY(fields.number("top_p"));
  sampling.min_p = SLUICE_TRY(fields.number("min_p"));
  sampling.repetition_penalty = SLUICE_TRY(fields.number("repetition_penalty"));
  sampling.presence_penalty = SLUICE_TRY(fields.number("presence_penalty"));
  sampling.frequency_penalty = SLUICE_TRY(fields.number("frequency_penalty"));
  sampling.logit_bias = SLUICE_TRY(read_biases(fields));
  sampling.seed = SLUICE_TRY(read_seed(fields));
  return sampling;
}

Result<std::vector<std::string>> read_texts(Fields& fields, const char* name, std::size_t most) {
  Json value = fields.take(name);
  std::vector<std::string> texts;
  if (value.is_null()) return texts;
  if (value.is_string()) value = Json::array({std::move(value)});
  if (!value.is_array()) return invalid_argument("{}: expected a text or a list of texts", name);
  if (value.size() > most) {
    return invalid_argument("{}: {} texts; at most {} are taken", name, value.size(), most);
  }
  for (const Json& one : value) {
    if (!one.is_string()) return invalid_argument("{}: expected texts", name);
    const auto& text = one.get_ref<const std::string&>();
    if (text.size() > kMaxTextBytes) {
      return invalid_argument("{}: a text of {} bytes; at most {} are taken", name, text.size(),
                              kMaxTextBytes);
    }
    texts.push_back(text);
  }
  return texts;
}

}  // namespace sluice::http
