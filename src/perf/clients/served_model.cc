#include "perf/clients/served_model.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "ir/texts.h"
#include "open_inference/datatypes.h"
#include "open_inference/texts.h"

namespace sluice::perf {
namespace {

std::string bytes_of(const terms::TensorView& view) {
  if (view.element != ir::ElementType::kString) {
    return {static_cast<const char*>(view.data), static_cast<std::size_t>(view.size_bytes)};
  }
  const auto count = static_cast<std::size_t>(checked_product(view.dims).value_or(0));
  return open_inference::write_texts(
      ir::unpack_texts(static_cast<const std::byte*>(view.data), count));
}

}  // namespace

Result<terms::TensorSpec> spec_of(std::string_view name, std::string_view datatype,
                                  std::span<const std::int64_t> shape) {
  const auto element = open_inference::find_datatype(datatype);
  if (!element) {
    return invalid_argument("the server says that \"{}\" is of type \"{}\", which is no datatype",
                            name, datatype);
  }
  ir::Shape dims;
  for (const std::int64_t dim : shape) {
    dims.push_back(dim >= 0 ? ir::Dim(dim) : ir::Dim::symbol(fmt::format("d{}", dims.size())));
  }
  terms::TensorSpec spec;
  spec.name = std::string(name);
  spec.type = ir::Type::tensor(*element, std::move(dims));
  return spec;
}

Result<std::vector<WireTensor>> to_wire(const std::vector<terms::NamedTensor>& tensors) {
  std::vector<WireTensor> all;
  for (const terms::NamedTensor& tensor : tensors) {
    WireTensor wire;
    wire.name = tensor.name;
    wire.datatype = open_inference::datatype_name(tensor.view.element);
    if (wire.datatype.empty()) {
      return make_error(Code::kUnimplemented, "input \"{}\": the protocol has no {}", tensor.name,
                        ir::element_type_name(tensor.view.element));
    }
    wire.shape = tensor.view.dims;
    wire.bytes = bytes_of(tensor.view);
    all.push_back(std::move(wire));
  }
  return all;
}

}  // namespace sluice::perf
