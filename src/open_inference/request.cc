#include "open_inference/request.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/checked.h"
#include "ir/texts.h"
#include "open_inference/classification.h"
#include "open_inference/datatypes.h"
#include "open_inference/model_description.h"
#include "open_inference/texts.h"
#include "terms/runtime_code.h"

namespace sluice::open_inference {
namespace {

// The names are a client's and may be as long as a message.
constexpr std::size_t kMaxShownBytes = 200;

Status bad_input(std::string_view name, std::string_view why) {
  return terms::runtime_error(RuntimeCode::kBadInput, "input \"{}\": {}",
                              name.substr(0, kMaxShownBytes), why);
}

/// Strings in the runtime's form.
Status copy_texts(const InputTensor& from, terms::TensorView& view, Owners& owners) {
  const auto count = checked_product(view.dims).value_or(0);
  const auto texts = read_texts(from.bytes, count);
  if (!texts.is_ok()) return bad_input(from.name, texts.status().message());
  const auto packed = std::make_shared<const Bytes>(ir::pack_texts(*texts));
  // Read only, as every input.
  view.data =
      const_cast<std::byte*>(packed->data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  view.size_bytes = static_cast<std::int64_t>(packed->size());
  owners.push_back(packed);
  return ok_status();
}

/// A larger request would be computed in several runs, but clients expect the error.
Status check_rows(const InputTensor& input, const dispatch::ModelRef& model) {
  const std::int64_t most = model.declared().max_batch_size;
  if (most == 0 || input.shape.empty() || input.shape.front() <= most) return ok_status();
  return bad_input(input.name, fmt::format("inference request batch-size must be <= {}, got {}",
                                           most, input.shape.front()));
}

Result<terms::TensorView> view_of(const InputTensor& from, Owners& owners) {
  const auto element = find_datatype(from.datatype);
  if (!element) {
    return bad_input(from.name, fmt::format("\"{}\" is no datatype; the protocol has FP32, INT64, "
                                            "BYTES and so on",
                                            from.datatype.substr(0, kMaxShownBytes)));
  }
  terms::TensorView view;
  view.element = *element;
  view.dims = from.shape;
  view.size_bytes = static_cast<std::int64_t>(from.bytes.size());
  // Read only, as every input.
  view.data =
      const_cast<char*>(from.bytes.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  const Status sized = terms::check_size(view);
  if (!sized.is_ok()) return bad_input(from.name, sized.message());
  if (*element == ir::ElementType::kString) SLUICE_TRY(copy_texts(from, view, owners));
  return view;
}

Result<std::size_t> output_index(std::string_view name, const terms::Signature& signature) {
  const auto it = std::ranges::find(signature.outputs, name, &terms::TensorSpec::name);
  if (it != signature.outputs.end()) {
    return static_cast<std::size_t>(it - signature.outputs.begin());
  }
  return terms::runtime_error(RuntimeCode::kBadInput, "the model has no output \"{}\"",
                              name.substr(0, kMaxShownBytes));
}

/// Before anything is computed.
Status check_outputs(const InferRequest& from, const terms::Signature& signature) {
  std::vector<bool> is_wanted(signature.outputs.size());
  for (const WantedOutput& wanted : from.outputs) {
    const std::size_t index = SLUICE_TRY(output_index(wanted.name, signature));
    if (is_wanted[index]) {
      return terms::runtime_error(RuntimeCode::kBadInput, "output \"{}\" is asked for twice",
                                  wanted.name);
    }
    is_wanted[index] = true;
    if (wanted.num_classes < 0) {
      return terms::runtime_error(RuntimeCode::kBadInput, "output \"{}\": {} classes", wanted.name,
                                  wanted.num_classes);
    }
  }
  return ok_status();
}

OutputTensor texts_output(std::vector<std::int64_t> shape, std::string texts) {
  OutputTensor output;
  output.datatype = datatype_name(ir::ElementType::kString);
  output.shape = std::move(shape);
  output.texts = std::move(texts);
  return output;
}

/// Whether outputs have a row for each of a request: the configuration says so, or the model.
bool has_rows(const terms::TensorSpec& output, const dispatch::ModelRef& model) {
  return model.declared().max_batch_size > 0 || output.batch_axis == 0;
}

Result<OutputTensor> classes_of(const terms::TensorView& view, const terms::TensorSpec& spec,
                                std::int64_t num_classes, const dispatch::ModelRef& model) {
  Classes classes =
      SLUICE_TRY(classify(view, has_rows(spec, model), num_classes, labels_of(model, spec.name)));
  const std::vector<std::string_view> texts(classes.texts.begin(), classes.texts.end());
  return texts_output(std::move(classes.shape), write_texts(texts));
}

Result<OutputTensor> output_of(const terms::TensorView& view) {
  if (view.element == ir::ElementType::kString) {
    const auto count = static_cast<std::size_t>(checked_product(view.dims).value_or(0));
    const auto texts = ir::unpack_texts(static_cast<const std::byte*>(view.data), count);
    return texts_output(view.dims, write_texts(texts));
  }
  OutputTensor output;
  output.datatype = datatype_name(view.element);
  if (output.datatype.empty()) {
    return terms::runtime_error(RuntimeCode::kFailed,
                                "the Open Inference Protocol has no {}; use sluice.v1",
                                ir::element_type_name(view.element));
  }
  output.shape = view.dims;
  output.bytes = {static_cast<const char*>(view.data), static_cast<std::size_t>(view.size_bytes)};
  return output;
}

/// Does nothing for an output that belongs in the answer.
Status put_in_place(const WantedOutput& wanted, OutputTensor& output) {
  if (!wanted.place) return ok_status();
  const std::span bytes(output.bytes.data(), output.bytes.size());
  SLUICE_TRY(service::store(wanted.target, std::as_bytes(bytes), output.name));
  output.place = &*wanted.place;
  output.num_placed = output.bytes.size();
  output.bytes = {};
  return ok_status();
}

}  // namespace

std::int32_t priority_of(std::uint64_t priority) {
  constexpr std::uint64_t kLevels = 1000;
  if (priority == 0) return 0;
  return static_cast<std::int32_t>(kLevels - std::min(priority, kLevels));
}

std::int64_t deadline_of(std::int64_t timeout_us, std::int64_t deadline_ns, const Clock& clock) {
  if (timeout_us <= 0) return deadline_ns;
  const auto timeout_ns = checked_mul(timeout_us, 1000);
  const auto end_ns = timeout_ns ? checked_add(clock.now_ns(), *timeout_ns) : std::nullopt;
  return std::min(deadline_ns, end_ns.value_or(kNoDeadline));
}

Wait wait_of(const runtime::Reply& reply) {
  if (reply.is_kept) return {};
  const terms::ReplyDetail& detail = reply.detail;
  const std::string_view why = detail.num_ahead > 0 ? "requests"
                               : detail.is_joined   ? "rows"
                                                    : "cores";
  return {why, detail.num_ahead, detail.queue_ns, detail.copy_ns, detail.compute_ns};
}

std::optional<terms::SequencePart> to_sequence(std::uint64_t number, std::string_view text,
                                               bool is_start, bool is_end) {
  const bool has_id = number != 0 || !text.empty();
  if (!has_id && !is_start && !is_end) return std::nullopt;
  terms::SequencePart part;
  part.is_number = number != 0;
  part.number = number;
  // A model whose requests have no ids says what is missing.
  if (has_id) part.id = part.is_number ? std::to_string(number) : std::string(text);
  part.is_start = is_start;
  part.is_end = is_end;
  return part;
}

namespace {

/// An ensemble may have a model with sequences.
Status check_sequence(const terms::DeclaredModel& model, const terms::SequencePart& part) {
  if (model.sequences || !model.steps.empty()) return ok_status();
  const std::string_view flag = part.is_start ? "sequence_start" : "sequence_end";
  return terms::runtime_error(RuntimeCode::kInvalid,
                              "parameter \"{}\": the model keeps no sequences; its config.pbtxt "
                              "has no sequence_batching",
                              part.id.empty() ? flag : "sequence_id");
}

/// The priority of a request that names none, or none that the model has, is the model's own.
std::uint64_t level_of(std::uint64_t priority, const terms::DeclaredModel& model) {
  const bool is_known =
      model.num_priorities == 0 || std::cmp_less_equal(priority, model.num_priorities);
  return priority != 0 && is_known ? priority : static_cast<std::uint64_t>(model.default_priority);
}

}  // namespace

Result<runtime::Request> to_runtime(const InferRequest& from, const dispatch::ModelRef& model,
                                    std::int64_t deadline_ns, Owners& owners) {
  const terms::Signature& signature = model.signature();
  SLUICE_TRY(check_outputs(from, signature));
  std::vector<terms::NamedTensor> named;
  named.reserve(from.inputs.size());
  for (const InputTensor& input : from.inputs) {
    if (input.name.empty()) return bad_input("", "it has no name");
    if (input.name.size() > kMaxShownBytes) return bad_input(input.name, "no such input");
    SLUICE_TRY(check_rows(input, model));
    terms::TensorView view = SLUICE_TRY(view_of(input, owners));
    named.push_back({std::string(input.name), std::move(view)});
  }
  const auto places = SLUICE_TRY(terms::arrange_inputs(named, signature));
  runtime::Request request;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] >= 0) {
      request.inputs.push_back(std::move(named[static_cast<std::size_t>(places[i])].view));
    } else {
      request.inputs.push_back(*terms::default_of(signature.inputs[i]));
    }
  }
  if (from.sequence) {
    SLUICE_TRY(check_sequence(model.declared(), *from.sequence));
    request.sequence = std::make_shared<const terms::SequencePart>(*from.sequence);
  }
  request.priority = priority_of(level_of(from.priority, model.declared()));
  request.wants_detail = from.wants_wait;
  request.deadline_ns = deadline_of(from.timeout_us, deadline_ns, model.clock());
  return request;
}

Result<std::vector<OutputTensor>> outputs_of(const runtime::Reply& reply, const InferRequest& from,
                                             const dispatch::ModelRef& model) {
  const terms::Signature& signature = model.signature();
  std::vector<OutputTensor> outputs;
  const auto add = [&](std::size_t index, std::int64_t num_classes) -> Status {
    const terms::TensorSpec& spec = signature.outputs[index];
    const terms::TensorView& view = reply.outputs[index].view;
    auto made = num_classes > 0 ? classes_of(view, spec, num_classes, model) : output_of(view);
    OutputTensor output = SLUICE_TRY(std::move(made).with_context(spec.name));
    output.name = spec.name;
    outputs.push_back(std::move(output));
    return ok_status();
  };
  for (const WantedOutput& wanted : from.outputs) {
    SLUICE_TRY(add(SLUICE_TRY(output_index(wanted.name, signature)), wanted.num_classes));
  }
  for (std::size_t i = 0; from.outputs.empty() && i < reply.outputs.size(); ++i) {
    SLUICE_TRY(add(i, 0));
  }
  // Once no output moves any more: short texts lie within their strings.
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].texts.empty()) outputs[i].bytes = outputs[i].texts;
    if (i < from.outputs.size()) SLUICE_TRY(put_in_place(from.outputs[i], outputs[i]));
  }
  return outputs;
}

}  // namespace sluice::open_inference
