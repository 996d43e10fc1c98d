// Resize to the nearest element: one thread per element of the output.

#include <algorithm>
#include <array>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Resize", nullptr};

struct Choice {
  std::string_view name;
  std::string_view text;
};

/// Where output place `o` of `m` lies on an input axis of `n` elements, stretched by `scale`.
constexpr std::array<Choice, 4> kPlaces = {
    {{"half_pixel", "(o + 0.5f) / scale - 0.5f"},
     {"pytorch_half_pixel", "m > 1 ? (o + 0.5f) / scale - 0.5f : 0.0f"},
     {"asymmetric", "o / scale"},
     {"align_corners", "m > 1 ? o * (n - 1) / (m - 1) : 0.0f"}}};

/// Which element is nearest to place `p`.
constexpr std::array<Choice, 4> kRoundings = {{{"round_prefer_floor", "ceilf(p - 0.5f)"},
                                               {"round_prefer_ceil", "floorf(p + 0.5f)"},
                                               {"floor", "floorf(p)"},
                                               {"ceil", "ceilf(p)"}}};

/// Null if no choice has the name.
const Choice* find(const std::array<Choice, 4>& choices, std::string_view name) {
  const auto* const found =
      std::ranges::find_if(choices, [&](const Choice& choice) { return choice.name == name; });
  return found == choices.end() ? nullptr : found;
}

const Choice* place_of(const sluice_op& op) {
  return find(kPlaces,
              plugin::Attributes(op).get_text("coordinate_transformation_mode", "half_pixel"));
}
const Choice* rounding_of(const sluice_op& op) {
  return find(kRoundings, plugin::Attributes(op).get_text("nearest_mode", "round_prefer_floor"));
}

/// The scales are given: the output's sizes are rounded.
bool has_scales(const sluice_op& op) {
  return op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor) &&
         plugin::num_elements(op.inputs[2].tensor) > 0;
}

Status check(const sluice_op& op) {
  if (Status status = check_moved(op, 1); !status.is_ok()) return status;
  const plugin::Attributes attributes(op);
  if (attributes.get_text("mode", "nearest") != "nearest" || place_of(op) == nullptr ||
      rounding_of(op) == nullptr || op.version < 11 || !attributes.get_ints("axes").empty()) {
    return plugin::unimplemented(
        "Resize: no kernel but for the nearest element along all axes, since version 11");
  }
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const std::int64_t rank = op.inputs[0].tensor.rank;
  const bool scales_fit = !has_scales(op) || (op.inputs[2].tensor.element_type == plugin::kF32 &&
                                              plugin::num_elements(op.inputs[2].tensor) == rank);
  const bool has_room = std::ranges::find(x, 0) == x.end();
  return scales_fit && has_room && op.outputs[0].tensor.rank == rank ? plugin::ok()
                                                                     : shapes_disagree(op);
}

Status write(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  Parameters parameters(op);
  const std::string data = parameters.add(0);
  const std::string scales = has_scales(op) ? parameters.add(2) : "";
  std::string text = "  Index at = 0;\n";
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const std::string n = std::to_string(x[axis]);
    const std::string m = std::to_string(y[axis]);
    std::vector<std::int64_t> strides(y.size(), 0);
    strides[axis] = 1;
    text += fill(
        "{\n    const float n = $0.0f, m = $1.0f, o = float($2);\n    const float scale = $3;\n"
        "    (void)scale;\n    const float p = $4;\n    const float nearest = $5;\n"
        "    at = at * $0 + Index(fminf(fmaxf(nearest, 0.0f), n - 1.0f));\n  }\n",
        {n, m, strided_index("i", y, strides),
         scales.empty() ? "m / n" : scales + "[" + std::to_string(axis) + "]",
         std::string(place_of(op)->text), std::string(rounding_of(op)->text)});
  }
  return write_kernel(op, std::move(parameters),
                      {data + "[at]", text, 256, plugin::num_elements(x)}, source);
}

}  // namespace

const Family kResizeFamily = {kKinds, check, write};

}  // namespace sluice::cuda
