#include "rpc/server/open_inference/infer_request.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/checked.h"
#include "base/no_memory.h"
#include "base/utf8.h"
#include "open_inference/datatypes.h"
#include "rpc/server/open_inference/typed_contents.h"
#include "terms/runtime_code.h"

namespace sluice::rpc::server {
namespace {

using inference::InferParameter;
using Parameters = google::protobuf::Map<std::string, InferParameter>;

constexpr std::size_t kMaxShownBytes = 200;  // of a name in a message

/// Clients send counts signed and unsigned. Absent: 0. Fails: kBadInput for what is no count.
Result<std::uint64_t> count_of(const Parameters& parameters, const char* name) {
  const auto it = parameters.find(name);
  if (it == parameters.end()) return std::uint64_t{0};
  const InferParameter& value = it->second;
  if (value.has_uint64_param()) return value.uint64_param();
  if (value.has_int64_param() && value.int64_param() >= 0) {
    return static_cast<std::uint64_t>(value.int64_param());
  }
  return terms::runtime_error(RuntimeCode::kBadInput,
                              "parameter \"{}\" is no whole number from 0 on", name);
}

/// Absent: false. Fails: kBadInput for another kind of value.
Result<bool> flag_of(const Parameters& parameters, std::string_view name) {
  const auto it = parameters.find(std::string(name));
  if (it == parameters.end()) return false;
  if (it->second.has_bool_param()) return it->second.bool_param();
  return terms::runtime_error(RuntimeCode::kBadInput, "parameter \"{}\" is no bool", name);
}

/// Other parameters are a model's own in other servers; no model here has any.
Result<std::optional<terms::SequencePart>> sequence_of(const Parameters& parameters) {
  const auto id = parameters.find("sequence_id");
  const bool is_text = id != parameters.end() && id->second.has_string_param();
  const std::uint64_t number = is_text ? 0 : SLUICE_TRY(count_of(parameters, "sequence_id"));
  const std::string_view text = is_text ? id->second.string_param() : std::string_view();
  const bool is_start = SLUICE_TRY(flag_of(parameters, "sequence_start"));
  const bool is_end = SLUICE_TRY(flag_of(parameters, "sequence_end"));
  return open_inference::to_sequence(number, text, is_start, is_end);
}

/// None: the tensor is in the message. Fails: as to_place.
Result<std::optional<open_inference::RegionPlace>> place_of(const Parameters& parameters) {
  const auto region = parameters.find("shared_memory_region");
  if (region == parameters.end()) return std::optional<open_inference::RegionPlace>();
  const auto offset = SLUICE_TRY(count_of(parameters, "shared_memory_offset"));
  const auto size_bytes = SLUICE_TRY(count_of(parameters, "shared_memory_byte_size"));
  // What no signed number holds becomes a negative one, which is refused.
  return std::optional(SLUICE_TRY(open_inference::to_place(region->second.string_param(),
                                                           static_cast<std::int64_t>(offset),
                                                           static_cast<std::int64_t>(size_bytes))));
}

/// How far the request's raw contents are read.
struct RawInputs {
  const google::protobuf::RepeatedPtrField<std::string>& all;
  int num_read = 0;
};

Result<std::string_view> bytes_of_input(const inference::ModelInferRequest::InferInputTensor& input,
                                        RawInputs& raw, std::deque<std::string>& contents) {
  if (!raw.all.empty()) {
    if (has_elements(input.contents())) {
      return terms::runtime_error(RuntimeCode::kBadInput,
                                  "it has contents, and the request has raw_input_contents");
    }
    if (raw.num_read == raw.all.size()) {
      return terms::runtime_error(RuntimeCode::kBadInput, "raw_input_contents has {} entries",
                                  raw.all.size());
    }
    return std::string_view(raw.all[raw.num_read++]);
  }
  const auto element = open_inference::find_datatype(input.datatype());
  if (!element) return std::string_view();  // to_runtime refuses the datatype
  contents.push_back(SLUICE_TRY(bytes_of(input.contents(), *element)));
  return std::string_view(contents.back());
}

Result<open_inference::InputTensor> read_input(
    const inference::ModelInferRequest::InferInputTensor& from, RawInputs& raw,
    std::deque<std::string>& contents) {
  open_inference::InputTensor input;
  input.name = from.name();
  input.datatype = from.datatype();
  input.shape.assign(from.shape().begin(), from.shape().end());
  input.place = SLUICE_TRY(place_of(from.parameters()));
  if (!input.place) {
    input.bytes = SLUICE_TRY(bytes_of_input(from, raw, contents));
  } else if (has_elements(from.contents())) {
    return terms::runtime_error(RuntimeCode::kBadInput, "it has contents, and is in shared memory");
  }
  return input;
}

Result<open_inference::WantedOutput> read_output(
    const inference::ModelInferRequest::InferRequestedOutputTensor& from) {
  const std::uint64_t classes = SLUICE_TRY(count_of(from.parameters(), "classification"));
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  open_inference::WantedOutput wanted;
  wanted.name = from.name();
  wanted.num_classes = static_cast<std::int64_t>(std::min(classes, kMost));
  wanted.place = SLUICE_TRY(place_of(from.parameters()));
  return wanted;
}

/// Above what a name of at most 256 bytes, a type and dimensions take.
constexpr std::int64_t kBytesBeside = 1024;

std::int64_t size_of(const std::vector<open_inference::OutputTensor>& outputs) {
  std::int64_t total = kBytesBeside;
  for (const auto& output : outputs) {
    total += kBytesBeside + static_cast<std::int64_t>(output.bytes.size());
  }
  return total;
}

void write_outputs(const std::vector<open_inference::OutputTensor>& outputs, std::int64_t version,
                   const inference::ModelInferRequest& request,
                   inference::ModelInferResponse& response) {
  response.set_model_name(request.model_name());
  response.set_model_version(std::to_string(version));
  response.set_id(request.id());
  for (const open_inference::OutputTensor& output : outputs) {
    auto& to = *response.add_outputs();
    to.set_name(std::string(output.name));
    to.set_datatype(std::string(output.datatype));
    to.mutable_shape()->Assign(output.shape.begin(), output.shape.end());
    response.add_raw_output_contents(output.bytes.data(), output.bytes.size());
    if (output.place == nullptr) continue;
    auto& parameters = *to.mutable_parameters();
    parameters["shared_memory_region"].set_string_param(std::string(output.place->region));
    parameters["shared_memory_byte_size"].set_int64_param(
        static_cast<std::int64_t>(output.num_placed));
    if (output.place->offset == 0) continue;
    parameters["shared_memory_offset"].set_int64_param(
        static_cast<std::int64_t>(output.place->offset));
  }
}

void write_wait(const open_inference::Wait& wait, inference::ModelInferResponse& response) {
  auto& parameters = *response.mutable_parameters();
  parameters[std::string(open_inference::kWaitedFor)].set_string_param(std::string(wait.why));
  for (const auto& [name, number] : wait.numbers()) {
    parameters[std::string(name)].set_int64_param(number);
  }
}

}  // namespace

Status read_request(const inference::ModelInferRequest& from, OpenInferCall& to) {
  to.plain.sequence = SLUICE_TRY(sequence_of(from.parameters()));
  to.plain.priority = SLUICE_TRY(count_of(from.parameters(), "priority"));
  to.plain.wants_wait = SLUICE_TRY(flag_of(from.parameters(), open_inference::kWaitParameter));
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  to.plain.timeout_us = static_cast<std::int64_t>(
      std::min(SLUICE_TRY(count_of(from.parameters(), "timeout")), kMost));
  RawInputs raw = {from.raw_input_contents()};
  for (const auto& input : from.inputs()) {
    to.plain.inputs.push_back(
        SLUICE_TRY(read_input(input, raw, to.contents)
                       .with_context("input " + shown(input.name(), kMaxShownBytes))));
  }
  if (raw.num_read != raw.all.size()) {
    return terms::runtime_error(RuntimeCode::kBadInput,
                                "raw_input_contents has {} entries for {} inputs", raw.all.size(),
                                from.inputs_size());
  }
  for (const auto& output : from.outputs()) {
    to.plain.outputs.push_back(SLUICE_TRY(
        read_output(output).with_context("output " + shown(output.name(), kMaxShownBytes))));
  }
  return ok_status();
}

Status write_response(const runtime::Reply& reply, const dispatch::ModelRef& model,
                      const inference::ModelInferRequest& request,
                      const open_inference::InferRequest& plain, std::int64_t limit_bytes,
                      ByteCharge& charge, inference::ModelInferResponse& to) {
  if (reply.code != RuntimeCode::kOk && reply.outputs.empty()) return reply.errors.to_status();
  const auto outputs =
      SLUICE_TRY(catch_no_memory([&] { return open_inference::outputs_of(reply, plain, model); }));
  const std::int64_t size_bytes = size_of(outputs);
  if (size_bytes > limit_bytes) {
    return terms::runtime_error(RuntimeCode::kOutOfResources,
                                "the answer has {} bytes, a message at most {}; raise "
                                "max_message_bytes, or ask for fewer outputs",
                                size_bytes, limit_bytes);
  }
  // Charged before the message is made: an answer beyond the budget costs no memory.
  SLUICE_TRY(charge.resize(size_bytes).with_context("answers wait to be read"));
  return catch_no_memory([&] {
    write_outputs(outputs, model.version(), request, to);
    if (plain.wants_wait) write_wait(open_inference::wait_of(reply), to);
    return ok_status();
  });
}

}  // namespace sluice::rpc::server
