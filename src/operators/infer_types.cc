#include "operators/infer_types.h"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

#include "backend/op_storage.h"

namespace sluice::operators {
namespace {

/// Numbers of dimensions that are not known. They are far apart, so that a function that computes
/// with one arrives at no other: n + 1 and 2 * n are refused.
constexpr std::int64_t kFirstUnknown = std::numeric_limits<std::int64_t>::min() / 2;
constexpr std::int64_t kUnknownStride = std::int64_t{1} << 40;

std::int64_t number_of(std::size_t place) {
  return kFirstUnknown + static_cast<std::int64_t>(place) * kUnknownStride;
}

/// The types of an operation in C, and back.
class TypeExchange {
 public:
  explicit TypeExchange(ops::InferenceContext& context) : context_(context) {
    // References into these are kept: no element is added later.
    dims_.reserve(context.num_inputs() + context.num_outputs());
    for (std::size_t i = 0; i < context.num_inputs(); ++i) inputs_.push_back(read_input(i));
    for (std::size_t i = 0; i < context.num_outputs(); ++i) {
      dims_.emplace_back(SLUICE_OPERATOR_MAX_RANK);
      outputs_.push_back({0, -1, dims_.back().data()});
    }
  }

  Status call(const sluice_operator& op) {
    storage_.operation = context_.operation();
    const auto* attributes =
        SLUICE_TRY(backend::make_attributes(storage_, storage_.operation.attributes));
    const sluice_operator_types types = {sizeof(sluice_operator_types),
                                         static_cast<std::int32_t>(inputs_.size()),
                                         static_cast<std::int32_t>(outputs_.size()),
                                         static_cast<std::int32_t>(attributes->size()),
                                         inputs_.data(),
                                         outputs_.data(),
                                         attributes->data()};
    std::array<char, 512> text = {};
    sluice_message message = {text.data(), text.size() - 1};
    const sluice_code code = call_function(op, types, message);
    if (code == SLUICE_OK) return ok_status();
    const bool is_known = code > 0 && code <= static_cast<sluice_code>(Code::kUnauthenticated);
    return Status(is_known ? static_cast<Code>(code) : Code::kInternal,
                  text[0] == '\0' ? "its shape function failed without a message" : text.data())
        .with_context(context_.operation().describe());
  }

  Status write_outputs(bool is_data_dependent) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (!context_.has_output(i)) continue;
      SLUICE_TRY(write_output(i, is_data_dependent));
    }
    return ok_status();
  }

 private:
  static sluice_code call_function(const sluice_operator& op, const sluice_operator_types& types,
                                   sluice_message& message) {
    std::string thrown;
    try {
      return op.infer(op.user_data, &types, &message);
    } catch (const std::exception& error) {
      thrown = fmt::format("its shape function threw: {}", error.what());
    } catch (...) {
      thrown = "its shape function threw an object that is not a std::exception";
    }
    thrown.resize(std::min(thrown.size(), message.capacity));
    std::ranges::copy(thrown, message.text);
    return SLUICE_INTERNAL;
  }

  sluice_type read_input(std::size_t index) {
    const ir::Type& type = context_.input(index);
    std::vector<std::int64_t>& dims = dims_.emplace_back();
    if (!context_.has_input(index) || !type.is_tensor()) return {0, -1, dims.data()};
    sluice_type read = {static_cast<sluice_element_type>(type.element()), -1, nullptr};
    if (type.shape() != nullptr) {
      for (const ir::Dim& dim : *type.shape()) dims.push_back(number_for(dim));
      read.rank = static_cast<std::int32_t>(dims.size());
    }
    read.dims = dims.data();
    return read;
  }

  std::int64_t number_for(const ir::Dim& dim) {
    if (dim.is_known()) return dim.value();
    const auto place =
        static_cast<std::size_t>(std::ranges::find(unknown_, dim) - unknown_.begin());
    if (place == unknown_.size()) unknown_.push_back(dim);
    return number_of(place);
  }

  Result<ir::Dim> dim_for(std::int64_t number, std::size_t output) {
    if (number >= 0) return ir::Dim(number);
    if (number == SLUICE_DIM_UNKNOWN) return context_.unknown_dim();
    for (std::size_t place = 0; place < unknown_.size(); ++place) {
      if (number == number_of(place)) return unknown_[place];
    }
    return context_.error(
        "its shape function computes output {}'s dimension {} from one that is not known (below "
        "0); it may repeat such a dimension or return SLUICE_DIM_UNKNOWN",
        output, number);
  }

  Status write_output(std::size_t index, bool is_data_dependent) {
    const sluice_type& given = outputs_[index];
    const auto element = ir::element_type_from_onnx(given.element_type);
    if (!element || given.rank < -1 || given.rank > SLUICE_OPERATOR_MAX_RANK) {
      return context_.error(
          "its shape function gives output {} element type {} and rank {}; set a number of "
          "TensorProto.DataType and a rank up to {}",
          index, given.element_type, given.rank, SLUICE_OPERATOR_MAX_RANK);
    }
    if (given.rank < 0) {
      context_.set_output(index, *element, std::nullopt);
      return ok_status();
    }
    ir::Shape shape;
    const auto& dims = dims_[inputs_.size() + index];  // the function may have moved `given.dims`
    for (std::int32_t i = 0; i < given.rank; ++i) {
      const ir::Dim dim = SLUICE_TRY(dim_for(dims[static_cast<std::size_t>(i)], index));
      shape.push_back(is_data_dependent ? context_.data_dependent_dim(dim) : dim);
    }
    context_.set_output(index, *element, std::move(shape));
    return ok_status();
  }

  ops::InferenceContext& context_;
  backend::OpStorage storage_;
  std::vector<std::vector<std::int64_t>> dims_;  ///< of the inputs, then of the outputs
  std::vector<ir::Dim> unknown_;                 ///< by their numbers
  std::vector<sluice_type> inputs_;
  std::vector<sluice_type> outputs_;
};

}  // namespace

Status infer_types(const sluice_operator& op, ops::InferenceContext& context) {
  if (op.infer == nullptr) {
    for (std::size_t i = 0; i < context.num_outputs(); ++i) context.set_output(i, context.input(0));
    return ok_status();
  }
  TypeExchange types(context);
  SLUICE_TRY(types.call(op));
  return types.write_outputs((op.flags & SLUICE_OPERATOR_DATA_DEPENDENT) != 0);
}

}  // namespace sluice::operators
