#include "exec/value.h"

#include <cstring>
#include <span>
#include <utility>

#include "backend/texts.h"
#include "base/checked.h"
#include "exec/aligned_buffer.h"

namespace sluice::exec {
namespace {

using TensorPtr = std::shared_ptr<const Tensor>;

Result<TensorPtr> decode(const TensorPtr& tensor) {
  if (tensor->view.element != ir::ElementType::kString) return tensor;
  const auto* bytes = static_cast<const std::byte*>(tensor->view.data);
  const std::span<const std::byte> encoded(bytes,
                                           static_cast<std::size_t>(tensor->view.size_bytes));
  const auto texts =
      // `tensor` goes into the bytes as their owner, and the texts point into them.
      SLUICE_TRY(backend::decode_texts({type_of(tensor->view), Bytes(tensor, encoded)}));
  terms::TensorView view = tensor->view;
  view.data = const_cast<sluice_text*>(texts.data());  // NOLINT: it is copied
  view.size_bytes = static_cast<std::int64_t>(texts.size() * sizeof(sluice_text));
  return copy_tensor(view);
}

Result<TensorPtr> encode(const TensorPtr& tensor) {
  if (tensor->view.element != ir::ElementType::kString) return tensor;
  const std::span<const sluice_text> texts(
      static_cast<const sluice_text*>(tensor->view.data),
      static_cast<std::size_t>(tensor->view.size_bytes) / sizeof(sluice_text));
  const std::int64_t size = SLUICE_TRY(backend::encoded_bytes(texts));
  auto memory = std::make_shared<AlignedBuffer>();
  SLUICE_TRY(memory->reserve(size));
  backend::encode_texts(texts,
                        {static_cast<std::byte*>(memory->data()), static_cast<std::size_t>(size)});
  auto encoded = std::make_shared<Tensor>(Tensor{tensor->view, memory});
  encoded->view.data = memory->data();
  encoded->view.size_bytes = size;
  return TensorPtr(std::move(encoded));
}

template <typename Convert>
Result<Value> convert(const Value& value, const Convert& function) {
  if (value.tensor) return Value{SLUICE_TRY(function(value.tensor)), nullptr};
  // Sequences of other elements are shared as they are, without a copy of the list.
  if (value.sequence == nullptr || value.sequence->element != ir::ElementType::kString) {
    return value;
  }
  auto converted = std::make_shared<Sequence>();
  converted->element = value.sequence->element;
  for (const TensorPtr& item : value.sequence->items) {
    converted->items.push_back(SLUICE_TRY(function(item)));
  }
  return Value{nullptr, std::move(converted)};
}

}  // namespace

Result<TensorPtr> copy_tensor(const terms::TensorView& view) {
  auto memory = std::make_shared<AlignedBuffer>();
  SLUICE_TRY(memory->reserve(view.size_bytes));
  if (view.size_bytes > 0) {
    std::memcpy(memory->data(), view.data, static_cast<std::size_t>(view.size_bytes));
  }
  auto copy = std::make_shared<Tensor>(Tensor{view, memory});
  copy->view.data = memory->data();
  return TensorPtr(std::move(copy));
}

std::string Value::describe() const {
  if (tensor) return type_of(tensor->view).to_string();
  if (sequence == nullptr) return "an empty optional";
  return fmt::format("seq({}) of {}", ir::element_type_name(sequence->element),
                     sequence->items.size());
}

Result<Value> decode_strings(const Value& value) { return convert(value, decode); }

Result<Value> encode_strings(const Value& value) { return convert(value, encode); }

}  // namespace sluice::exec
