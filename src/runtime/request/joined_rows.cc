#include "runtime/request/joined_rows.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "exec/facts/row_proof.h"
#include "exec/loaded_model.h"

namespace sluice::runtime {
namespace {

using Copies = std::vector<std::shared_ptr<std::byte>>;

bool has_whole_bytes(const ir::Type& type) {
  // Rows of 4-bit elements may share a byte, and strings have no row size.
  return type.element() != ir::ElementType::kString &&
         type.element() != ir::ElementType::kUndefined && ir::element_bits(type.element()) >= 8;
}

/// Null unless the tensor has rows.
const ir::Dim* leading_dim(const ir::Type& type) {
  const ir::Shape* shape = type.is_tensor() ? type.shape() : nullptr;
  if (shape == nullptr || shape->empty() || !has_whole_bytes(type)) return nullptr;
  return &shape->front();
}

terms::TensorSpec with_any_rows(const terms::TensorSpec& spec) {
  terms::TensorSpec result = spec;
  ir::Shape shape = *spec.type.shape();
  shape.front() = ir::Dim::symbol("batch");
  result.type = spec.type.with_shape(shape);
  return result;
}

/// Null without memory.
std::shared_ptr<std::byte> allocate(std::int64_t size_bytes) {
  // The alignment that every plug-in takes without a copy.
  constexpr std::align_val_t kAlignment{64};
  auto* memory = static_cast<std::byte*>(
      ::operator new(static_cast<std::size_t>(size_bytes), kAlignment, std::nothrow));
  if (memory == nullptr) return nullptr;
  return {memory, [](std::byte* bytes) { ::operator delete(bytes, kAlignment); }};
}

std::byte* bytes_at(void* data, std::int64_t offset) {
  return static_cast<std::byte*>(data) + offset;
}

void copy_bytes(void* target, const void* source, std::int64_t size_bytes) {
  if (size_bytes > 0) std::memcpy(target, source, static_cast<std::size_t>(size_bytes));
}

/// `view` with `rows` of its rows, from row `first` on.
terms::TensorView slice(terms::TensorView view, std::int64_t first, std::int64_t rows) {
  const std::int64_t row_bytes = view.size_bytes / view.dims.front();
  view.data = bytes_at(view.data, first * row_bytes);
  view.size_bytes = rows * row_bytes;
  view.dims.front() = rows;
  return view;
}

/// The parts one behind the other in new memory, and zeros up to `num_rows`. False without memory.
bool gather(std::span<const terms::TensorView> parts, std::int64_t num_rows, Copies& copies,
            terms::TensorView& joined) {
  const std::int64_t row_bytes = parts.front().size_bytes / parts.front().dims.front();
  joined = parts.front();
  joined.dims.front() = num_rows;
  joined.size_bytes = num_rows * row_bytes;
  const auto& memory = copies.emplace_back(allocate(joined.size_bytes));
  if (memory == nullptr) return false;
  joined.data = memory.get();
  std::int64_t at = 0;
  for (const terms::TensorView& part : parts) {
    copy_bytes(bytes_at(joined.data, at), part.data, part.size_bytes);
    at += part.size_bytes;
  }
  // Zeros: results of padded rows are dropped, but their computation must not depend on what the
  // memory held before.
  std::fill(memory.get() + at, memory.get() + joined.size_bytes, std::byte{});
  return true;
}

Status too_small(std::size_t i, std::int64_t size_bytes, const terms::OutputMemory& memory,
                 const terms::Signature& signature) {
  return terms::runtime_error(RuntimeCode::kOutOfResources,
                              "output \"{}\" has {} bytes, the memory bound to it {}",
                              signature.outputs[i].name, size_bytes, memory.capacity_bytes);
}

terms::OutputMemory memory_for(const Request& request, std::size_t i) {
  return i < request.outputs.size() ? request.outputs[i] : terms::OutputMemory{};
}

}  // namespace

namespace {

/// The rule as far as the signature tells.
Result<JoinRule> rule_of(std::string_view model, const terms::Signature& signature,
                         const terms::BatchOptions& options) {
  if (signature.inputs.empty()) {
    return terms::runtime_error(RuntimeCode::kInvalid,
                                "{} cannot join requests: its model has no inputs", model);
  }
  const ir::Dim* rows = leading_dim(signature.inputs.front().type);
  JoinRule rule = {options.rows, options.max_delay_ns, rows != nullptr && rows->is_known(), {}};
  const auto check = [&](const terms::TensorSpec& spec, std::string_view what) -> Status {
    if (spec.has_default) {
      return terms::runtime_error(
          RuntimeCode::kInvalid,
          "{} cannot join requests: input \"{}\" has a default, which has rows of "
          "its own: compile the model with --overridable none, or leave out "
          "batch_rows",
          model, spec.name);
    }
    const ir::Dim* own = leading_dim(spec.type);
    if (rows != nullptr && own != nullptr && *own == *rows) return ok_status();
    if (spec.type.is_tensor() && !has_whole_bytes(spec.type)) {
      return terms::runtime_error(
          RuntimeCode::kInvalid,
          "{} cannot join requests: {} \"{}\" is {}, and rows of texts or of elements below a byte "
          "are not joined: leave out batch_rows",
          model, what, spec.name, spec.type.to_string());
    }
    return terms::runtime_error(
        RuntimeCode::kInvalid,
        "{} cannot join requests: {} \"{}\" is {}; the first dimension of all "
        "inputs and outputs must be the same, as in f32[N,10]: compile the model "
        "so, or leave out batch_rows",
        model, what, spec.name, spec.type.to_string());
  };
  for (const terms::TensorSpec& spec : signature.inputs) SLUICE_TRY(check(spec, "input"));
  for (const terms::TensorSpec& spec : signature.outputs) SLUICE_TRY(check(spec, "output"));
  // 0 rows with a fixed dimension means the number that the model was compiled for.
  if (rule.is_padded && rule.max_rows == 0) rule.max_rows = rows->value();
  if (rule.max_rows < 1) {
    return terms::runtime_error(RuntimeCode::kInvalid,
                                "{} takes any number of rows: say how many make a batch", model);
  }
  if (rule.is_padded && rule.max_rows != rows->value()) {
    return terms::runtime_error(RuntimeCode::kInvalid,
                                "{} was compiled for {} rows and cannot run batches of {}", model,
                                rows->value(), rule.max_rows);
  }
  // Requests of a padded model may have any number of rows, so the signature that checks them says
  // so.
  rule.signature = signature;
  if (rule.is_padded) {
    for (terms::TensorSpec& spec : rule.signature.inputs) spec = with_any_rows(spec);
    for (terms::TensorSpec& spec : rule.signature.outputs) spec = with_any_rows(spec);
  }
  return rule;
}

}  // namespace

Result<JoinRule> join_rule(std::string_view model, const package::Executable& executable,
                           const terms::BatchOptions& options) {
  SLUICE_TRY(check(options));
  JoinRule rule = SLUICE_TRY(rule_of(model, package::signature_of(executable.graph), options));
  if (rule.max_rows == 1) return rule;  // no request meets another
  const Status proof = exec::prove_rows(executable);
  if (proof.is_ok()) return rule;
  return terms::runtime_error(
      RuntimeCode::kInvalid, "{} cannot join requests of several callers: {}; leave out batch_rows",
      model, proof.message());
}

std::int64_t rows_of(const Request& request, const JoinRule& rule) {
  if (request.inputs.size() != rule.signature.inputs.size()) return 0;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const terms::TensorView& view = request.inputs[i];
    if (!exec::check_input(rule.signature.inputs[i], view).is_ok()) return 0;
    if (view.dims.front() != request.inputs.front().dims.front()) return 0;
  }
  const std::int64_t rows = request.inputs.front().dims.front();
  // 0: not joined. A padded model takes more rows in several passes (rows_from).
  return rows > rule.max_rows && !rule.is_padded ? 0 : rows;
}

bool has_same_rows(const Request& a, const Request& b) {
  return std::ranges::equal(
      a.inputs, b.inputs, [](const terms::TensorView& one, const terms::TensorView& other) {
        return one.element == other.element &&
               std::ranges::equal(std::span(one.dims).subspan(1), std::span(other.dims).subspan(1));
      });
}

std::optional<Request> joined_request(std::span<const Request* const> requests,
                                      const JoinRule& rule) {
  Request joined;
  std::int64_t num_rows = 0;
  joined.deadline_ns = requests.front()->deadline_ns;
  joined.priority = requests.front()->priority;
  for (const Request* request : requests) {
    num_rows += request->inputs.front().dims.front();
    // The run lasts until the latest of the deadlines and has the highest of the priorities.
    joined.deadline_ns = std::max(joined.deadline_ns, request->deadline_ns);
    const bool is_limited = request->max_run_ns != 0;
    const bool is_shorter = joined.max_run_ns == 0 || request->max_run_ns < joined.max_run_ns;
    if (is_limited && is_shorter) joined.max_run_ns = request->max_run_ns;
    joined.priority = std::max(joined.priority, request->priority);
    joined.wants_detail |= request->wants_detail;
  }
  if (rule.is_padded) num_rows = rule.max_rows;
  const auto copies = std::make_shared<Copies>();
  for (std::size_t i = 0; i < requests.front()->inputs.size(); ++i) {
    std::vector<terms::TensorView> parts;
    for (const Request* request : requests) parts.push_back(request->inputs[i]);
    if (!gather(parts, num_rows, *copies, joined.inputs.emplace_back())) return std::nullopt;
  }
  joined.memory_owner = copies;
  return joined;
}

std::optional<Request> rows_from(const Request& whole, std::int64_t first, const JoinRule& rule) {
  Request request;
  const auto copies = std::make_shared<Copies>();
  for (const terms::TensorView& input : whole.inputs) {
    const std::int64_t rows = std::min(rule.max_rows, input.dims.front() - first);
    const terms::TensorView part = slice(input, first, rows);
    terms::TensorView& view = request.inputs.emplace_back(part);
    // A whole pass is read where it lies; only the last one is copied, to be padded.
    if (rows == rule.max_rows) continue;
    if (!gather(std::span(&part, 1), rule.max_rows, *copies, view)) return std::nullopt;
  }
  request.memory_owner = copies;
  return request;
}

bool has_rows(const Reply& reply, std::int64_t num_rows) {
  return !reply.outputs.empty() &&
         std::ranges::all_of(reply.outputs, [num_rows](const terms::OutputTensor& output) {
           return !output.view.dims.empty() && output.view.dims.front() == num_rows;
         });
}

Reply part_of(const Reply& joined, std::int64_t first_row, std::int64_t rows,
              const Request& request, const terms::Signature& signature) {
  Reply reply;
  if (request.wants_detail) reply.detail = joined.detail;
  for (std::size_t i = 0; i < joined.outputs.size(); ++i) {
    terms::OutputTensor output = joined.outputs[i];
    output.view = slice(output.view, first_row, rows);
    if (const terms::OutputMemory memory = memory_for(request, i); memory.data != nullptr) {
      if (memory.capacity_bytes < output.view.size_bytes) {
        return failed_reply(too_small(i, output.view.size_bytes, memory, signature));
      }
      copy_bytes(memory.data, output.view.data, output.view.size_bytes);
      output.view.data = memory.data;
      // Bound memory belongs to the caller; otherwise the parts share the joined output.
      output.owner = nullptr;
    }
    reply.outputs.push_back(std::move(output));
  }
  return reply;
}

Status add_rows(const Reply& part, std::int64_t first, std::int64_t rows, const Request& request,
                const terms::Signature& signature, Reply& whole) {
  const bool is_first = whole.outputs.empty();
  if (is_first) whole.outputs.resize(part.outputs.size());
  for (std::size_t i = 0; i < part.outputs.size(); ++i) {
    const terms::TensorView& from = part.outputs[i].view;
    const std::int64_t num_rows = from.dims.front();
    const std::int64_t row_bytes = from.size_bytes / num_rows;
    terms::OutputTensor& to = whole.outputs[i];
    if (is_first) {
      to.view = from;
      to.view.dims.front() = rows;
      to.view.size_bytes = rows * row_bytes;
      const terms::OutputMemory memory = memory_for(request, i);
      to.view.data = memory.data;
      if (memory.data == nullptr) {
        auto own = allocate(to.view.size_bytes);
        to.view.data = own.get();
        to.owner = std::move(own);
      } else if (memory.capacity_bytes < to.view.size_bytes) {
        return too_small(i, to.view.size_bytes, memory, signature);
      }
      if (to.view.data == nullptr) {
        return terms::runtime_error(RuntimeCode::kOutOfResources,
                                    "no memory for output \"{}\" of {} bytes",
                                    signature.outputs[i].name, to.view.size_bytes);
      }
    }
    copy_bytes(bytes_at(to.view.data, first * row_bytes), from.data,
               std::min(num_rows, rows - first) * row_bytes);
  }
  return ok_status();
}

}  // namespace sluice::runtime
