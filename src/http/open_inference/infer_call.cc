#include "http/open_inference/infer_call.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/utf8.h"
#include "http/form.h"
#include "http/json_text.h"
#include "http/open_inference/json_elements.h"
#include "http/open_inference/parse_json.h"
#include "http/open_inference/whole_input.h"
#include "open_inference/datatypes.h"
#include "open_inference/model_description.h"
#include "terms/runtime_code.h"

namespace sluice::http {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

/// Depth of lists in lists: deeper than any tensor that is taken.
constexpr std::size_t kMaxDepth = 80;
/// Below that a coding saves less than a packet.
constexpr std::size_t kLeastCodedBytes = 1024;
/// Members of a request that a form may have as parts.
constexpr std::array<std::string_view, 3> kMembers = {"inputs", "outputs", "parameters"};
constexpr std::size_t kMaxMemberBytes = 1 << 20;

/// A null is as good as no member: clients of typed languages write those that they leave out so.
/// The last of several members with one name counts, as everywhere in the daemon.
std::optional<element> find(const object& from, std::string_view name) {
  std::optional<element> found;
  for (const auto& member : from) {
    if (member.key == name) found = member.value;
  }
  return found && !found->is_null() ? found : std::nullopt;
}

/// Absent: the fallback. Fails: kBadInput for another kind of value.
template <typename T>
Result<T> field_or(const object& from, const char* name, T fallback) {
  const auto found = find(from, name);
  if (!found) return fallback;
  T value{};
  if (!found->get(value)) return value;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const auto whole = whole_number(*found);
    if (whole && std::in_range<T>(*whole)) return static_cast<T>(*whole);
  }
  return bad_input("\"{}\" is of the wrong kind", name);
}

/// None, or an empty list: none.
Result<std::vector<object>> objects_of(const object& from, const char* name) {
  std::vector<object> objects;
  const auto found = find(from, name);
  if (!found) return objects;
  simdjson::dom::array items;
  if (found->get(items)) return bad_input("\"{}\" is no list", name);
  for (const element item : items) {
    object entry;
    if (item.get(entry)) return bad_input("\"{}\": an entry is no object", name);
    objects.push_back(entry);
  }
  return objects;
}

/// The "parameters" of a request, an input or an output, which may have none.
class Parameters {
 public:
  /// Fails: kBadInput where they are no object.
  static Result<Parameters> of(const object& from) {
    const auto found = find(from, "parameters");
    if (!found) return Parameters();
    Parameters parameters;
    if (found->get(parameters.all_.emplace())) return bad_input("\"parameters\" is no object");
    return parameters;
  }
  bool has(const char* name) const { return all_ && find(*all_, name); }
  /// Where the tensor's bytes are, if not in the request. Fails: as to_place.
  Result<std::optional<open_inference::RegionPlace>> place() const {
    if (!has("shared_memory_region")) return std::optional<open_inference::RegionPlace>();
    const auto region = SLUICE_TRY(get_or("shared_memory_region", std::string_view()));
    const auto offset = SLUICE_TRY(get_or("shared_memory_offset", std::int64_t{0}));
    const auto size = SLUICE_TRY(get_or("shared_memory_byte_size", std::int64_t{0}));
    return std::optional(SLUICE_TRY(open_inference::to_place(region, offset, size)));
  }
  /// Fails: kBadInput for an id that is neither a count nor a text.
  Result<std::optional<terms::SequencePart>> sequence() const {
    const auto id = all_ ? find(*all_, "sequence_id") : std::nullopt;
    std::uint64_t number = 0;
    std::string_view text;
    if (id && id->get(number) && id->get(text)) {
      const std::int64_t whole = whole_number(*id).value_or(-1);
      if (whole < 0) return bad_input("\"sequence_id\" is neither a number from 0 nor a text");
      number = static_cast<std::uint64_t>(whole);
    }
    const bool is_start = SLUICE_TRY(get_or("sequence_start", false));
    const bool is_end = SLUICE_TRY(get_or("sequence_end", false));
    return open_inference::to_sequence(number, text, is_start, is_end);
  }
  /// As field_or.
  template <typename T>
  Result<T> get_or(const char* name, T fallback) const {
    return all_ ? field_or(*all_, name, fallback) : Result<T>(fallback);
  }

 private:
  std::optional<object> all_;
};

Result<std::vector<std::int64_t>> shape_of(const object& from) {
  const auto found = find(from, "shape");
  simdjson::dom::array items;
  if (!found || found->get(items)) return bad_input("it has no list \"shape\"");
  std::vector<std::int64_t> shape;
  for (const element item : items) {
    const auto dim = whole_number(item);
    if (!dim) return bad_input("\"shape\" has an entry that is no whole number");
    shape.push_back(*dim);
  }
  return shape;
}

/// The bytes of an input, from the front of `binary` or from its JSON.
Result<std::string_view> bytes_of(const object& from, const Parameters& parameters,
                                  std::string_view datatype, std::string_view& binary,
                                  InferCall& call) {
  const auto list = find(from, "data");
  if (!parameters.has("binary_data_size")) {
    const auto type = open_inference::find_datatype(datatype);
    if (!list) return bad_input("it has neither \"data\" nor \"binary_data_size\"");
    if (!type) return std::string_view();  // to_runtime refuses the datatype
    call.contents.push_back(SLUICE_TRY(read_elements(*list, *type)));
    return std::string_view(call.contents.back());
  }
  if (list) return bad_input("it has \"data\" and \"binary_data_size\"");
  const auto size = SLUICE_TRY(parameters.get_or("binary_data_size", std::uint64_t{0}));
  if (size > binary.size()) {
    return bad_input("\"binary_data_size\" is {}, and {} bytes are left", size, binary.size());
  }
  const std::string_view bytes = binary.substr(0, size);
  binary.remove_prefix(size);
  return aligned(bytes, datatype, call);
}

Status read_input(const object& from, std::string_view& binary, InferCall& call) {
  open_inference::InputTensor input;
  input.name = SLUICE_TRY(field_or(from, "name", std::string_view()));
  const auto read = [&]() -> Status {
    input.datatype = SLUICE_TRY(field_or(from, "datatype", std::string_view()));
    input.shape = SLUICE_TRY(shape_of(from));
    const auto parameters = SLUICE_TRY(Parameters::of(from));
    input.place = SLUICE_TRY(parameters.place());
    if (!input.place) {
      input.bytes = SLUICE_TRY(bytes_of(from, parameters, input.datatype, binary, call));
    } else if (find(from, "data") || parameters.has("binary_data_size")) {
      return bad_input("it has data, and is in shared memory");
    }
    return ok_status();
  };
  const Status status = read();
  if (!status.is_ok()) {
    return status.with_context(fmt::format("input {}", input.name.substr(0, 200)));
  }
  call.plain.inputs.push_back(std::move(input));
  return ok_status();
}

Status read_output(const object& from, InferCall& call) {
  open_inference::WantedOutput output;
  output.name = SLUICE_TRY(field_or(from, "name", std::string_view()));
  const auto parameters = SLUICE_TRY(Parameters::of(from));
  const bool is_binary = SLUICE_TRY(parameters.get_or("binary_data", call.wants_binary));
  output.num_classes = SLUICE_TRY(parameters.get_or("classification", std::int64_t{0}));
  output.place = SLUICE_TRY(parameters.place());
  call.plain.outputs.push_back(output);
  call.is_binary.push_back(is_binary);
  return ok_status();
}

Status read_parameters(const object& from, InferCall& call) {
  const auto parameters = SLUICE_TRY(Parameters::of(from));
  call.wants_binary = SLUICE_TRY(parameters.get_or("binary_data_output", false));
  call.plain.sequence = SLUICE_TRY(parameters.sequence());
  call.plain.priority = SLUICE_TRY(parameters.get_or("priority", std::uint64_t{0}));
  call.plain.wants_wait =
      SLUICE_TRY(parameters.get_or(open_inference::kWaitParameter.data(), false));
  call.plain.timeout_us = SLUICE_TRY(parameters.get_or("timeout", std::int64_t{0}));
  if (call.plain.timeout_us < 0) {
    return bad_input("a timeout of {} us is less than none", call.plain.timeout_us);
  }
  return ok_status();
}

/// The body is the only input.
Status read_raw(std::string_view body, const terms::Signature& signature, InferCall& call) {
  if (signature.inputs.size() != 1) {
    return bad_input("a body without JSON is for a model with one input");
  }
  call.wants_binary = true;
  return add_whole_input(body, signature.inputs.front(), call);
}

/// Requires: simdjson's padding behind the text, which may hold anything. The call keeps what the
/// object points into.
Result<object> read_object(std::string_view json, InferCall& call) {
  const auto parser = std::make_shared<simdjson::dom::parser>();  // owns the texts
  call.owners.push_back(parser);
  if (parser->allocate(json.size(), kMaxDepth)) return bad_input("the JSON is too large");
  object all;
  if (SLUICE_TRY(parse_json(*parser, json)).get(all)) {
    return bad_input("the body is no JSON object");
  }
  return all;
}

Status read_members(const object& all, std::string_view binary, InferCall& call) {
  call.id = std::string(SLUICE_TRY(field_or(all, "id", std::string_view())));
  SLUICE_TRY(read_parameters(all, call));
  for (const object& input : SLUICE_TRY(objects_of(all, "inputs"))) {
    SLUICE_TRY(read_input(input, binary, call));
  }
  if (!binary.empty()) {
    return bad_input("{} bytes behind the JSON belong to no input", binary.size());
  }
  for (const object& output : SLUICE_TRY(objects_of(all, "outputs"))) {
    SLUICE_TRY(read_output(output, call));
  }
  return ok_status();
}

/// Parts named as inputs of the model are these. The others are members of the request's JSON.
Status read_parts(std::string_view body, const terms::Signature& signature, InferCall& call) {
  std::string json = "{";
  std::size_t num_members = 0;
  const std::size_t most = signature.inputs.size() + kMembers.size();
  for (const FormPart& part : SLUICE_TRY(read_form(body, most))) {
    const auto spec = std::ranges::find(signature.inputs, part.name, &terms::TensorSpec::name);
    if (spec != signature.inputs.end()) {
      SLUICE_TRY(
          add_whole_input(part.bytes, *spec, call).with_context(fmt::format("part {}", part.name)));
      continue;
    }
    if (std::ranges::find(kMembers, part.name) == kMembers.end()) {
      return bad_input("part {}: the model has no such input, and a request has {} beside inputs",
                       part.name, fmt::join(kMembers, ", "));
    }
    if (part.bytes.size() > kMaxMemberBytes) {
      return bad_input("part {} has {} bytes, at most {} are read", part.name, part.bytes.size(),
                       kMaxMemberBytes);
    }
    json += fmt::format("{}\"{}\":{}", num_members++ == 0 ? "" : ",", part.name, part.bytes);
  }
  json += '}';
  const std::size_t size = json.size();
  json.append(simdjson::SIMDJSON_PADDING, ' ');
  const object all = SLUICE_TRY(read_object(std::string_view(json).substr(0, size), call));
  if (all.size() != num_members) return bad_input("a part of the form is more than one JSON value");
  return read_members(all, {}, call);
}

Status write_output(const open_inference::OutputTensor& output, bool is_binary, Reply& reply) {
  std::string& text = reply.text;
  fmt::format_to(std::back_inserter(text), "{{\"name\":{},\"datatype\":\"{}\",\"shape\":[{}],",
                 quoted_json(output.name), output.datatype, fmt::join(output.shape, ","));
  if (output.place != nullptr) {
    const open_inference::RegionPlace& place = *output.place;
    text += fmt::format(
        "\"parameters\":{{\"shared_memory_region\":{},\"shared_memory_offset\":{},"
        "\"shared_memory_byte_size\":{}}}}}",
        quoted_json(place.region), place.offset, output.num_placed);
    return ok_status();
  }
  if (is_binary) {
    fmt::format_to(std::back_inserter(text), "\"parameters\":{{\"binary_data_size\":{}}}}}",
                   output.bytes.size());
    reply.parts.push_back(output.bytes);
    reply.has_json_head = true;
    reply.type = kBinary;
    return ok_status();
  }
  text += "\"data\":[";
  SLUICE_TRY(write_elements(output, text));
  text += "]}";
  return ok_status();
}

void write_wait(const open_inference::Wait& wait, std::string& text) {
  text += fmt::format(",\"parameters\":{{\"{}\":\"{}\"", open_inference::kWaitedFor, wait.why);
  for (const auto& [name, number] : wait.numbers()) text += fmt::format(",\"{}\":{}", name, number);
  text += '}';
}

}  // namespace

Status read_request(std::int64_t json_bytes, const terms::Signature& signature, InferCall& call) {
  const std::string_view body = call.body->bytes();
  if (json_bytes == 0) return read_raw(body, signature, call);
  if (json_bytes > static_cast<std::int64_t>(body.size())) {
    return bad_input("Inference-Header-Content-Length is {}, and the body has {} bytes", json_bytes,
                     body.size());
  }
  if (json_bytes < 0 && is_form(body)) return read_parts(body, signature, call);
  const std::size_t split = json_bytes < 0 ? body.size() : static_cast<std::size_t>(json_bytes);
  // The body has room for what the parser reads behind its end.
  const object all = SLUICE_TRY(read_object(body.substr(0, split), call));
  return read_members(all, body.substr(split), call);
}

namespace {

/// What an answer points into.
struct AnswerMemory {
  std::shared_ptr<InferCall> call;
  runtime::Reply reply;
  ByteCharge charge;
  std::vector<open_inference::OutputTensor> outputs;
};

}  // namespace

Result<Reply> write_reply(const dispatch::ModelRef& model, std::int64_t limit_bytes,
                          const std::shared_ptr<InferCall>& call) {
  const auto memory = std::make_shared<AnswerMemory>();
  memory->call = call;
  memory->reply = std::move(call->reply);
  memory->charge = std::move(call->charge);
  memory->outputs = SLUICE_TRY(open_inference::outputs_of(memory->reply, call->plain, model));
  const auto& outputs = memory->outputs;
  // A byte becomes at most "false," or an escape of six characters. Charged before the text is
  // made.
  constexpr std::int64_t kJsonFactor = 7;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool is_binary = call->plain.outputs.empty() ? call->wants_binary : call->is_binary[i];
    const auto size = static_cast<std::int64_t>(outputs[i].bytes.size());
    most += 1024 + (is_binary ? size : kJsonFactor * size);
  }
  if (most > limit_bytes) {
    return terms::runtime_error(RuntimeCode::kOutOfResources,
                                "the answer may have {} bytes, at most {} are sent; ask for binary "
                                "data or for fewer outputs, or raise max_message_bytes",
                                most, limit_bytes);
  }
  const bool is_coded = call->coding != Coding::kIdentity;  // then it is there twice for a while
  SLUICE_TRY(
      memory->charge.resize(is_coded ? 2 * most : most).with_context("answers wait to be read"));
  Reply reply;
  reply.text = fmt::format("{{\"model_name\":{},\"model_version\":\"{}\"", quoted_json(call->model),
                           call->version);
  if (!call->id.empty()) reply.text += fmt::format(",\"id\":{}", quoted_json(call->id));
  if (call->plain.wants_wait) write_wait(open_inference::wait_of(memory->reply), reply.text);
  reply.text += ",\"outputs\":[";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool is_binary = call->plain.outputs.empty() ? call->wants_binary : call->is_binary[i];
    if (i > 0) reply.text += ',';
    const open_inference::OutputTensor& output = outputs[i];
    const Status written = write_output(output, is_binary, reply);
    if (!written.is_ok()) return written.with_context(fmt::format("output {}", output.name));
  }
  reply.text += "]}";
  if (reply.size_bytes() >= kLeastCodedBytes) reply.coding = call->coding;
  reply.owner = memory;
  return reply;
}

}  // namespace sluice::http
