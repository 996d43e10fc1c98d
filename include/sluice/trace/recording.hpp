// What stands behind the tensors of a trace: the trace under way on this thread, and how it ends
// where it cannot go on. Programs include `sluice/trace/trace.hpp`.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sluice/compile.hpp"
#include "sluice/trace/trace.h"

namespace sluice::trace {

/// A line of the program. As a default argument: the line of the call.
struct SourceLine {
  const char* file = "";
  int number = 0;

  static constexpr SourceLine current(const char* file = __builtin_FILE(),
                                      int number = __builtin_LINE()) {
    return {file, number};
  }
  /// "net.cc:12"
  std::string text() const {
    const std::string_view path = file;
    return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(number);
  }
};

/// Thrown where a trace cannot go on; sluice::trace::compile catches it and returns the error. The
/// traced function lets it pass.
struct Refusal {
  Error error;
};

[[noreturn]] inline void refuse(SourceLine line, const std::string& why,
                                Code code = Code::kInvalidArgument) {
  throw Refusal{{code, line.number == 0 ? why : line.text() + ": " + why}};
}

namespace detail {

/// The operations that a function has recorded. Used by the thread that made it.
class Recording {
 public:
  /// Makes it the current one of this thread, until it is destroyed.
  Recording() : number_(next_number()), outer_(current_) {
    std::vector<const sluice_operator*> operators(sluice_num_operators());
    for (std::size_t i = 0; i < operators.size(); ++i) operators[i] = sluice_operator_at(i);
    sluice_trace* handle = nullptr;
    check(sluice_trace_create(operators.data(), operators.size(), &handle), {});
    handle_.reset(handle);
    current_ = this;
  }
  ~Recording() { current_ = outer_; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  static Recording& current(SourceLine line) {
    if (current_ != nullptr) return *current_;
    refuse(line, "tensors of a trace are used outside of sluice::trace::compile",
           Code::kFailedPrecondition);
  }

  sluice_value input(const char* name, const char* type) {
    sluice_value value = SLUICE_VALUE_ABSENT;
    check(sluice_trace_input(handle_.get(), name, type, &value), {});
    return value;
  }
  sluice_value constant(const std::string& name, const sluice_array& array, SourceLine line) {
    sluice_value value = SLUICE_VALUE_ABSENT;
    check(sluice_trace_constant(handle_.get(), name.c_str(), &array, &value), line);
    return value;
  }
  void output(const std::string& name, sluice_value value) {
    check(sluice_trace_output(handle_.get(), name.c_str(), value), lines_[value]);
  }
  /// `operation.source` is set here.
  void record(sluice_trace_operation operation, std::vector<sluice_value>& outputs,
              SourceLine line) {
    const std::string source = line.text();
    operation.struct_size = sizeof(operation);
    operation.source = source.c_str();
    operation.num_outputs = static_cast<std::int32_t>(outputs.size());
    check(sluice_trace_record(handle_.get(), &operation, outputs.data()), line);
    for (const sluice_value output : outputs) lines_[output] = line;
  }

  const sluice_tensor_spec& describe(sluice_value value) const {
    return *sluice_trace_describe(handle_.get(), value);
  }
  /// The line that recorded a value.
  SourceLine line_of(sluice_value value) const {
    const auto found = lines_.find(value);
    return found == lines_.end() ? SourceLine() : found->second;
  }
  /// The value that stands for an object of the program, such as a parameter; absent at first.
  sluice_value& value_of(const void* object) {
    return objects_.try_emplace(object, SLUICE_VALUE_ABSENT).first->second;
  }
  std::uint64_t number() const { return number_; }
  const sluice_trace* handle() const { return handle_.get(); }

 private:
  static void check(sluice_code code, SourceLine line) {
    if (code != SLUICE_OK) refuse(line, sluice_compile_last_error(), Code(code));
  }
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> next = 1;
    return next++;
  }

  inline static thread_local Recording* current_ = nullptr;
  std::uint64_t number_;  // distinguishes values of different traces
  Recording* outer_;
  std::unique_ptr<sluice_trace, sluice::detail::Deleter<sluice_trace, sluice_trace_free>> handle_;
  std::unordered_map<sluice_value, SourceLine> lines_;
  std::unordered_map<const void*, sluice_value> objects_;
};

}  // namespace detail
}  // namespace sluice::trace
