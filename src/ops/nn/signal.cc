// Signals: DFT, STFT, MelWeightMatrix, window functions.
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"

namespace sluice::ops {
namespace {

using ir::Dim;
using ir::ElementType;

/// The one integer of an input; unknown if it is not known.
Dim scalar_or_unknown(InferenceContext& context, std::size_t index) {
  const Values* values = context.values(index);
  return values != nullptr && values->size() == 1 ? values->front() : context.unknown_dim();
}

Result<ElementType> output_datatype(const InferenceContext& context) {
  const std::int64_t number = context.int_attribute("output_datatype", 1);
  const auto element = ir::element_type_from_onnx(number);
  if (!element || !kNumbers.contains(*element)) {
    return context.error("output_datatype {} is not a numeric type", number);
  }
  return *element;
}

Status infer_dft(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  if (data == nullptr) return ok_status();
  const bool is_one_sided = context.int_attribute("onesided") != 0;
  const bool is_inverse = context.int_attribute("inverse") != 0;
  ir::Shape shape = *data;
  const bool has_parts =
      shape.size() >= 2 && (!shape.back().is_known() || shape.back().is(1) || shape.back().is(2));
  if (!has_parts) {
    return context.error("input {} must end in an axis of 1 or 2: real and imaginary parts",
                         ir::shape_to_string(shape));
  }
  // The inverse of half a spectrum is real; all other results are complex.
  shape.back() = is_one_sided && is_inverse ? 1 : 2;
  const auto axis_value = context.static_values(2);
  // An axis that is known only at the run may change any dimension but the last.
  if (context.has_input(2) && (!axis_value || axis_value->size() != 1)) {
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) shape[i] = context.unknown_dim();
  } else {
    const std::size_t axis =
        SLUICE_TRY(context.axis(axis_value ? axis_value->front() : -2, shape.size()));
    if (axis + 1 == shape.size()) {
      return context.error("the last axis holds real and imaginary parts");
    }
    Dim& length = shape[axis];
    // Half a spectrum stands for twice as many points, less its ends.
    if (is_one_sided && is_inverse) length = (length - 1) * 2;
    if (context.has_input(1)) length = scalar_or_unknown(context, 1);
    if (length.is_known() && length.value() < 1) {
      return context.error("the length of the transform is {}; it must be positive",
                           length.value());
    }
    if (is_one_sided && !is_inverse) length = floor_div(length, 2) + 1;
  }
  context.set_output(0, context.element(0), std::move(shape));
  return ok_status();
}

Status upgrade_dft(ir::Subgraph& subgraph, ir::Operation& operation) {
  if (operation.version == 17) {
    const std::int64_t axis = operation.attributes.get_or<std::int64_t>("axis", 1);
    operation.attributes.set("axis", axis);
    attribute_to_input(subgraph, operation, "axis", 2);
  }
  return upgrade_unchanged(subgraph, operation);
}

Status infer_stft(InferenceContext& context) {
  const ir::Shape* signal = context.shape(0);
  if (signal == nullptr) return ok_status();
  if (signal->size() != 3 && signal->size() != 2) {
    return context.error("signal must be [batch, length, 1 or 2]");
  }
  // The length is given twice in a well-formed model; the input wins over the window's size.
  Dim frame = context.unknown_dim();
  const ir::Shape* window = context.shape(2);
  if (context.has_input(3)) {
    frame = scalar_or_unknown(context, 3);
  } else if (window != nullptr && window->size() == 1) {
    frame = (*window)[0];
  }
  const Dim step = scalar_or_unknown(context, 1);
  if (step.is_known() && step.value() < 1) return context.error("frame_step must be positive");
  // A real signal's spectrum is its own mirror: half of it and the middle suffice.
  const Dim bins = context.int_attribute("onesided", 1) != 0 ? floor_div(frame, 2) + 1 : frame;
  context.set_output(0, context.element(0),
                     ir::Shape{(*signal)[0], floor_div((*signal)[1] - frame, step) + 1, bins, 2});
  return ok_status();
}

Status infer_mel_weight_matrix(InferenceContext& context) {
  const Dim bins = scalar_or_unknown(context, 0);
  const Dim length = scalar_or_unknown(context, 1);
  context.set_output(0, SLUICE_TRY(output_datatype(context)),
                     ir::Shape{floor_div(length, 2) + 1, bins});
  return ok_status();
}

Status infer_window(InferenceContext& context) {
  context.set_output(0, SLUICE_TRY(output_datatype(context)),
                     ir::Shape{scalar_or_unknown(context, 0)});
  return ok_status();
}

OperandSpec length_input(std::string_view name, TypeSet types, std::string_view variable = "",
                         bool is_optional = false) {
  return {.name = name,
          .types = types,
          .variable = variable,
          .is_optional = is_optional,
          .is_shape_value = true,
          .is_single = true};
}

OpSchema window(std::string_view name, std::string_view doc) {
  return {.name = name,
          .versions = {17},
          .doc = doc,
          .inputs = {length_input("size", kIndices)},
          .outputs = {{"output", kNumbers}},
          .attributes = {{"output_datatype", std::int64_t{1}}, {"periodic", std::int64_t{1}}},
          .infer = infer_window};
}

OpSchema mel_weight_matrix() {
  const auto edge = [](std::string_view name) {
    return OperandSpec{.name = name, .types = kFloats, .variable = "T2", .is_single = true};
  };
  return {
      .name = "MelWeightMatrix",
      .versions = {17},
      .doc = "weights that turn a linear spectrum into one on the mel scale",
      .inputs = {length_input("num_mel_bins", kIndices, "T1"),
                 length_input("dft_length", kIndices, "T1"),
                 {.name = "sample_rate", .types = kIndices, .variable = "T1", .is_single = true},
                 edge("lower_edge_hertz"),
                 edge("upper_edge_hertz")},
      .outputs = {{"output", kNumbers}},
      .attributes = {{"output_datatype", std::int64_t{1}}},
      .infer = infer_mel_weight_matrix};
}

}  // namespace

std::vector<OpSchema> signal_ops() {
  return {
      {.name = "DFT",
       .versions = {17, 20},
       .doc = "discrete Fourier transform along an axis",
       .inputs = {{"input", kFloats, "T1"},
                  length_input("dft_length", kIndices, "", true),
                  length_input("axis", kI64Only, "", true)},
       .outputs = {{"output", kFloats, "T1"}},
       .attributes = {{"inverse", std::int64_t{0}}, {"onesided", std::int64_t{0}}},
       .infer = infer_dft,
       .upgrade = upgrade_dft},
      {.name = "STFT",
       .versions = {17},
       .doc = "Fourier transforms of windows that move along a signal",
       .inputs = {{"signal", kFloats, "T1"},
                  length_input("frame_step", kIndices, "T2"),
                  {"window", kFloats, "T1", true},
                  length_input("frame_length", kIndices, "T2", true)},
       .outputs = {{"output", kFloats, "T1"}},
       .attributes = {{"onesided", std::int64_t{1}}},
       .infer = infer_stft},
      mel_weight_matrix(),
      window("BlackmanWindow", "0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)"),
      window("HannWindow", "0.5 - 0.5 cos(2 pi n / N)"),
      window("HammingWindow", "25/46 - 21/46 cos(2 pi n / N)"),
  };
}

}  // namespace sluice::ops
