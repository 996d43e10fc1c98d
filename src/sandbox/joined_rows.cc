#include "sandbox/joined_rows.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace sluice::sandbox {

using runtime::Reply;
using runtime::Request;
using runtime::runtime_error;
using runtime::RuntimeCode;

namespace {

/// Empty unless the first dimension is a symbol and elements have whole bytes.
std::string leading_symbol(const ir::Type& type) {
  const ir::Shape* shape = type.is_tensor() ? type.shape() : nullptr;
  const bool has_bytes = type.element() != ir::ElementType::kString &&
                         type.element() != ir::ElementType::kUndefined &&
                         ir::element_bits(type.element()) >= 8;
  if (shape == nullptr || shape->empty() || !has_bytes || shape->front().is_known()) return "";
  return shape->front().to_string();
}

/// Null without memory.
std::shared_ptr<std::byte> allocate(std::int64_t size_bytes) {
  constexpr std::align_val_t kAlignment{64};
  auto* memory = static_cast<std::byte*>(
      ::operator new(static_cast<std::size_t>(size_bytes), kAlignment, std::nothrow));
  if (memory == nullptr) return nullptr;
  return {memory, [](std::byte* bytes) { ::operator delete(bytes, kAlignment); }};
}

std::byte* bytes_at(void* data, std::int64_t offset) {
  return static_cast<std::byte*>(data) + offset;
}

}  // namespace

Status check_joinable(std::string_view function, const package::Signature& signature) {
  const std::string rows =
      signature.inputs.empty() ? "" : leading_symbol(signature.inputs.front().type);
  const auto check = [&](const package::TensorSpec& spec, std::string_view what) -> Status {
    if (spec.has_default) {
      return runtime_error(
          RuntimeCode::kInvalid,
          "function \"{}\" cannot join requests: input \"{}\" has a default, which has rows of its "
          "own: compile the model with --overridable none, or leave out batch_rows",
          function, spec.name);
    }
    if (!rows.empty() && leading_symbol(spec.type) == rows) return ok_status();
    return runtime_error(
        RuntimeCode::kInvalid,
        "function \"{}\" cannot join requests: {} \"{}\" is {}; the first dimension "
        "of all inputs and outputs must be the same symbol, as in f32[N,10]: "
        "compile the model so, or leave out batch_rows",
        function, what, spec.name, spec.type.to_string());
  };
  for (const package::TensorSpec& spec : signature.inputs) SLUICE_TRY(check(spec, "input"));
  for (const package::TensorSpec& spec : signature.outputs) SLUICE_TRY(check(spec, "output"));
  if (!signature.inputs.empty()) return ok_status();
  return runtime_error(RuntimeCode::kInvalid,
                       "function \"{}\" cannot join requests: its model has no inputs", function);
}

std::int64_t rows_of(const Request& request, const package::Signature& signature) {
  if (request.inputs.size() != signature.inputs.size()) return 0;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const exec::TensorView& view = request.inputs[i];
    if (!exec::check_input(signature.inputs[i], view).is_ok()) return 0;
    if (view.dims.front() != request.inputs.front().dims.front()) return 0;
  }
  return request.inputs.front().dims.front();
}

bool has_same_rows(const Request& a, const Request& b) {
  return std::ranges::equal(
      a.inputs, b.inputs, [](const exec::TensorView& one, const exec::TensorView& other) {
        return one.element == other.element &&
               std::ranges::equal(std::span(one.dims).subspan(1), std::span(other.dims).subspan(1));
      });
}

std::optional<Request> join(std::span<const Request* const> requests) {
  Request joined;
  const auto owner = std::make_shared<std::vector<std::shared_ptr<std::byte>>>();
  for (std::size_t i = 0; i < requests.front()->inputs.size(); ++i) {
    exec::TensorView view = requests.front()->inputs[i];
    view.dims.front() = 0;
    view.size_bytes = 0;
    for (const Request* request : requests) {
      view.dims.front() += request->inputs[i].dims.front();
      view.size_bytes += request->inputs[i].size_bytes;
    }
    const auto& memory = owner->emplace_back(allocate(view.size_bytes));
    if (memory == nullptr) return std::nullopt;
    view.data = memory.get();
    std::int64_t at = 0;
    for (const Request* request : requests) {
      const exec::TensorView& part = request->inputs[i];
      if (part.size_bytes > 0) {
        std::memcpy(bytes_at(view.data, at), part.data, static_cast<std::size_t>(part.size_bytes));
      }
      at += part.size_bytes;
    }
    joined.inputs.push_back(std::move(view));
  }
  joined.deadline_ns = requests.front()->deadline_ns;
  joined.priority = requests.front()->priority;
  for (const Request* request : requests) {
    joined.deadline_ns = std::max(joined.deadline_ns, request->deadline_ns);
    joined.priority = std::max(joined.priority, request->priority);
    joined.wants_detail |= request->wants_detail;
  }
  joined.memory_owner = owner;
  return joined;
}

bool has_rows(const Reply& reply, std::int64_t num_rows) {
  return !reply.outputs.empty() &&
         std::ranges::all_of(reply.outputs, [num_rows](const runtime::OutputTensor& output) {
           return !output.view.dims.empty() && output.view.dims.front() == num_rows;
         });
}

Reply part_of(const Reply& joined, std::int64_t num_rows, std::int64_t first_row,
              const Request& request, const package::Signature& signature) {
  Reply reply;
  reply.code = joined.code;
  if (request.wants_detail) reply.detail = joined.detail;
  const std::int64_t rows = request.inputs.front().dims.front();
  for (std::size_t i = 0; i < joined.outputs.size(); ++i) {
    runtime::OutputTensor output = joined.outputs[i];
    const std::int64_t row_bytes = output.view.size_bytes / num_rows;
    output.view.data = bytes_at(output.view.data, first_row * row_bytes);
    output.view.size_bytes = rows * row_bytes;
    output.view.dims.front() = rows;
    const auto memory = i < request.outputs.size() ? request.outputs[i] : runtime::OutputMemory{};
    if (memory.data != nullptr) {
      if (memory.capacity_bytes < output.view.size_bytes) {
        return runtime::failed_reply(runtime_error(
            RuntimeCode::kOutOfResources, "output \"{}\" has {} bytes, the memory bound to it {}",
            signature.outputs[i].name, output.view.size_bytes, memory.capacity_bytes));
      }
      if (output.view.size_bytes > 0) {
        std::memcpy(memory.data, output.view.data,
                    static_cast<std::size_t>(output.view.size_bytes));
      }
      output.view.data = memory.data;
      output.owner = nullptr;
    }
    reply.outputs.push_back(std::move(output));
  }
  return reply;
}

}  // namespace sluice::sandbox
