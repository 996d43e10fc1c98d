#include "operators/registered_operator.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "operators/custom_backend.h"
#include "operators/infer_types.h"
#include "ops/custom.h"
#include "terms/read_options.h"

namespace sluice::operators {
namespace {

constexpr std::size_t kMaxOperators = 4096;
constexpr std::size_t kLongestOperatorText = 255;
constexpr std::int32_t kMaxOperands = 1024;

struct RegisteredOperator {
  std::string domain;
  std::string name;
  sluice_operator op = {};
};

/// `mutex` guards the list; entries never change or move. It is held while an operator is added to
/// the table of `ops`, whose lock is inside. No function of the program is called under it.
struct OperatorList {
  std::shared_mutex mutex;
  // A deque, and nothing is ever removed: kernels keep references to its elements.
  std::deque<RegisteredOperator> all;
  std::vector<const sluice_operator*> shown;  // without those of modules
};

OperatorList& operator_list() {
  static auto* const kList = new OperatorList;  // threads may run kernels while the process exits
  return *kList;
}

Result<std::string> checked_text(const char* text, std::string_view field) {
  if (text == nullptr) return invalid_argument("{} is null", field);
  const std::string_view all(text, strnlen(text, kLongestOperatorText + 1));
  const bool is_word = std::ranges::all_of(all, [](char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' ||
           character == '.' || character == '-';
  });
  if (!all.empty() && all.size() <= kLongestOperatorText && is_word) return std::string(all);
  return invalid_argument("{} is \"{}\"; 1 to {} letters, digits, '_', '.' and '-' are allowed",
                          field, all.substr(0, kLongestOperatorText), kLongestOperatorText);
}

Status check_bounds(std::int32_t least, std::int32_t most, std::string_view what) {
  // -1 inputs: any number of them.
  const bool is_open = most == -1 && what == "inputs";
  if (least >= 0 && least <= kMaxOperands && most <= kMaxOperands && (is_open || most >= least)) {
    return ok_status();
  }
  return invalid_argument("min_{0} is {1} and max_{0} is {2}", what, least, most);
}

Status check_fields(const sluice_operator& op) {
  constexpr std::uint32_t kKnownFlags =
      SLUICE_OPERATOR_HAS_EFFECTS | SLUICE_OPERATOR_DATA_DEPENDENT;
  SLUICE_TRY(check_bounds(op.min_inputs, op.max_inputs, "inputs"));
  SLUICE_TRY(check_bounds(op.min_outputs, op.max_outputs, "outputs"));
  if (op.max_outputs < 1) return invalid_argument("max_outputs is {}", op.max_outputs);
  if (op.infer == nullptr && op.min_inputs < 1) {
    return invalid_argument("infer is null, and the operator may have no input to take types from");
  }
  if (op.run == nullptr) return invalid_argument("run is null");
  if (op.version < 0) return invalid_argument("version is {}", op.version);
  if ((op.flags & ~kKnownFlags) != 0) return invalid_argument("flags {:#x} are unknown", op.flags);
  return ok_status();
}

/// The struct with texts of the library's own. Fails: kInvalidArgument naming the field.
Result<RegisteredOperator> read_operator(const sluice_operator& given) {
  // Too short to hold even its own size.
  if (given.struct_size < sizeof(given.struct_size)) {
    return invalid_argument("struct_size is {}", given.struct_size);
  }
  RegisteredOperator entry;
  entry.op = terms::read_options(&given);
  entry.domain = SLUICE_TRY(checked_text(entry.op.domain, "domain"));
  entry.name = SLUICE_TRY(checked_text(entry.op.name, "name"));
  if (entry.domain == "sluice" || entry.domain == "ai.onnx") {
    return invalid_argument("domain is \"{}\", which has operators of Sluice alone", entry.domain);
  }
  SLUICE_TRY(check_fields(entry.op));
  // The kept struct has this library's size, whatever the program was compiled with.
  entry.op.struct_size = sizeof(entry.op);
  entry.op.version = std::max(entry.op.version, 1);
  return entry;
}

bool is_same(const sluice_operator& a, const sluice_operator& b) {
  return a.flags == b.flags && a.version == b.version && a.min_inputs == b.min_inputs &&
         a.max_inputs == b.max_inputs && a.min_outputs == b.min_outputs &&
         a.max_outputs == b.max_outputs && a.infer == b.infer && a.run == b.run &&
         a.user_data == b.user_data;
}

const sluice_operator* find_in(const OperatorList& list, std::string_view domain,
                               std::string_view name) {
  const auto found = std::ranges::find_if(list.all, [&](const RegisteredOperator& entry) {
    return entry.domain == domain && entry.name == name;
  });
  return found == list.all.end() ? nullptr : &found->op;
}

Status add_schema(const sluice_operator& op) {
  ops::CustomOperator custom;
  custom.domain = op.domain;
  custom.name = op.name;
  custom.version = op.version;
  custom.inputs = {op.min_inputs, op.max_inputs};
  custom.outputs = {op.min_outputs, op.max_outputs};
  if ((op.flags & SLUICE_OPERATOR_HAS_EFFECTS) != 0) custom.traits |= ops::kRandom;
  if ((op.flags & SLUICE_OPERATOR_DATA_DEPENDENT) != 0) custom.traits |= ops::kDataDependentShape;
  custom.infer = [&op](ops::InferenceContext& context) { return infer_types(op, context); };
  return ops::add_custom_operator(std::move(custom));
}

}  // namespace

Status register_operator(const sluice_operator& op, OperatorOrigin origin) {
  RegisteredOperator entry = SLUICE_TRY(read_operator(op));
  OperatorList& list = operator_list();
  const std::scoped_lock lock(list.mutex);
  const sluice_operator* known = find_in(list, entry.domain, entry.name);
  const bool may_repeat = origin == OperatorOrigin::kLibrary;
  if (may_repeat && known != nullptr && is_same(*known, entry.op)) return ok_status();
  if (list.all.size() >= kMaxOperators) {
    return make_error(Code::kResourceExhausted, "the process has {} operators already",
                      kMaxOperators);
  }
  SLUICE_TRY(add_custom_backend());
  RegisteredOperator& kept = list.all.emplace_back(std::move(entry));
  // Only now, in the element of the deque, which moves no more.
  kept.op.domain = kept.domain.c_str();
  kept.op.name = kept.name.c_str();
  Status added = add_schema(kept.op);
  // No other thread has seen the entry, as the lock is still held.
  if (!added.is_ok()) {
    list.all.pop_back();
  } else if (origin != OperatorOrigin::kModule) {
    list.shown.push_back(&kept.op);
  }
  return added;
}

std::size_t num_registered_operators() {
  OperatorList& list = operator_list();
  const std::shared_lock lock(list.mutex);
  return list.shown.size();
}

const sluice_operator* registered_operator(std::size_t index) {
  OperatorList& list = operator_list();
  const std::shared_lock lock(list.mutex);
  return index < list.shown.size() ? list.shown[index] : nullptr;
}

const sluice_operator* find_registered_operator(std::string_view domain, std::string_view name) {
  OperatorList& list = operator_list();
  const std::shared_lock lock(list.mutex);
  return find_in(list, domain, name);
}

}  // namespace sluice::operators
