#include "http/open_inference/whole_input.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/checked.h"
#include "http/open_inference/json_elements.h"
#include "open_inference/datatypes.h"
#include "open_inference/texts.h"

namespace sluice::http {
namespace {

/// The bytes are the only text of an input.
Status add_text(std::string_view bytes, const ir::Shape& shape, InferCall& call) {
  for (const ir::Dim& dim : shape) {
    if (dim.is_known() && dim.value() != 1) {
      return bad_input("bytes without JSON are one text, and the input has {} of them; send JSON",
                       dim.value());
    }
  }
  open_inference::InputTensor& input = call.plain.inputs.back();
  input.shape.assign(shape.size(), 1);
  call.contents.push_back(open_inference::write_texts(std::span(&bytes, 1)));
  input.bytes = call.contents.back();
  return ok_status();
}

}  // namespace

std::string_view aligned(std::string_view bytes, std::string_view datatype, InferCall& call) {
  const auto type = open_inference::find_datatype(datatype);
  const int bits = type ? ir::element_bits(*type) : 0;
  const auto size = static_cast<std::uintptr_t>(std::max(bits / 8, 1));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % size == 0) return bytes;
  call.contents.emplace_back(bytes);
  return call.contents.back();
}

Status add_whole_input(std::string_view bytes, const terms::TensorSpec& spec, InferCall& call) {
  const bool is_text = spec.type.element() == ir::ElementType::kString;
  const std::int64_t element = ir::element_bits(spec.type.element()) / 8;
  const ir::Shape* shape = element == 0 && !is_text ? nullptr : spec.type.shape();
  if (shape == nullptr) return bad_input("bytes alone do not say its shape; send JSON");
  open_inference::InputTensor& input = call.plain.inputs.emplace_back();
  input.name = spec.name;
  input.datatype = open_inference::datatype_name(spec.type.element());
  if (is_text) return add_text(bytes, *shape, call);
  std::int64_t known = element;
  std::int64_t* unknown = nullptr;
  input.shape.resize(shape->size(), -1);
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const ir::Dim& dim = (*shape)[i];
    if (dim.is_known()) {
      input.shape[i] = dim.value();
      known = checked_mul(known, dim.value()).value_or(0);
    } else if (std::exchange(unknown, &input.shape[i]) != nullptr) {
      return bad_input("two dimensions of the input are open; send JSON with its shape");
    }
  }
  if (unknown != nullptr && known > 0) {
    *unknown = static_cast<std::int64_t>(bytes.size()) / known;
  }
  input.bytes = aligned(bytes, input.datatype, call);
  return ok_status();
}

}  // namespace sluice::http
