#include "text/jinja/library/globals.h"

#include <array>
#include <ctime>
#include <optional>

#include "text/jinja/library/function.h"
#include "text/jinja/values/print.h"

namespace sluice::text::jinja {
namespace {

class NamespaceMaker : public Object {
 public:
  explicit NamespaceMaker(Namespaces& namespaces) : namespaces_(namespaces) {}

  std::string_view kind() const override { return "function"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Call& call) override {
    // As in Python's dict(): fields of a dictionary first, then those by name, which win.
    std::vector<std::pair<std::string, Value>> fields;
    const Value given = SLUICE_TRY(call.value_or("fields", None{}));
    if (const auto* dict = given.dict()) {
      for (const auto& [key, value] : dict->entries) {
        if (key.text() != nullptr) fields.emplace_back(*key.text(), value);
      }
    } else if (!given.is_none()) {
      return call.error("takes a dict, or fields by name");
    }
    for (auto& field : call.named_rest()) fields.push_back(std::move(field));
    SLUICE_TRY(call.work.spend(Work::kElementUnits * (2 + 2 * fields.size())));
    SLUICE_TRY(call.finish());
    return Value(namespaces_.add(std::move(fields)));
  }

 private:
  Namespaces& namespaces_;
};

Result<Value> range(const Value& /*subject*/, Call& call) {
  // Checked while the list grows: the difference of two 64-bit bounds may have no place.
  constexpr std::int64_t kMaxCount = 100'000;  // as in Jinja's sandbox
  std::vector<std::int64_t> numbers;
  for (const Value& value : call.rest()) {
    if (!value.whole() || value.is_bool()) return call.error("takes whole numbers");
    numbers.push_back(*value.whole());
  }
  if (numbers.empty() || numbers.size() > 3) return call.error("takes one to three numbers");
  const std::int64_t start = numbers.size() > 1 ? numbers[0] : 0;
  const std::int64_t stop = numbers.size() > 1 ? numbers[1] : numbers[0];
  const std::int64_t step = numbers.size() > 2 ? numbers[2] : 1;
  if (step == 0) return call.error("the step is 0");
  std::vector<Value> items;
  for (std::int64_t at = start; step > 0 ? at < stop : at > stop;) {
    if (std::cmp_equal(items.size(), kMaxCount)) return call.error("gives 100000 numbers at most");
    items.emplace_back(at);
    // The next number is beyond every bound of 64 bits.
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return make_list(std::move(items), call.work);
}

Result<Value> dict(const Value& /*subject*/, Call& call) {
  std::vector<std::pair<Value, Value>> entries;
  const Value given = SLUICE_TRY(call.value_or("entries", None{}));
  if (given.dict() != nullptr) entries = given.dict()->entries;
  if (given.dict() == nullptr && !given.is_none()) return call.error("takes a dict");
  for (auto& [name, value] : call.named_rest()) entries.emplace_back(name, std::move(value));
  return make_dict(entries, call.work);
}

/// Templates refuse conversations this way, for example two user messages in a row. The caller gets
/// the template's text as an error of its input.
Result<Value> raise(const Value& /*subject*/, Call& call) {
  const Value message = SLUICE_TRY(call.value("message"));
  const std::string text = SLUICE_TRY(to_text(message, call.work));
  return invalid_argument("the template refuses the messages: {}", text);
}

Result<Value> format_time(const Value& seconds, Call& call) {
  const std::string format = SLUICE_TRY(call.text("format"));
  const std::time_t time = seconds.whole().value_or(0);
  std::tm parts{};
  localtime_r(&time, &parts);
  // strftime() returns 0 for an empty result and for one that does not fit, and cannot say which.
  std::array<char, 1024> buffer{};
  const std::size_t size = std::strftime(buffer.data(), buffer.size(), format.c_str(), &parts);
  if (size == 0 && !format.empty()) return call.error("the format is empty, or too long");
  return Value(std::string_view(buffer.data(), size));
}

constexpr NamedFunction kRange = {"range", range};
constexpr NamedFunction kDict = {"dict", dict};
constexpr NamedFunction kRaise = {"raise_exception", raise};
constexpr NamedFunction kTime = {"strftime_now", format_time};

}  // namespace

std::optional<Value> Namespace::field(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

Status Namespace::set(std::string_view name, Value value, Work& work) {
  SLUICE_TRY(work.spend(fields_.size()));
  for (auto& [key, old] : fields_) {
    if (key != name) continue;
    old = std::move(value);
    return ok_status();
  }
  SLUICE_TRY(work.spend(2 * Work::kElementUnits));
  fields_.emplace_back(name, std::move(value));
  return ok_status();
}

Namespaces::~Namespaces() {
  // A namespace can hold itself, directly or by a list; shared pointers alone would leak the
  // circle.
  for (const auto& one : all_) one->clear();
}

ObjectPtr Namespaces::add(std::vector<std::pair<std::string, Value>> fields) {
  return all_.emplace_back(std::make_shared<Namespace>(std::move(fields)));
}

std::vector<std::pair<std::string, Value>> make_globals(Namespaces& namespaces,
                                                        std::int64_t time_seconds) {
  std::vector<std::pair<std::string, Value>> globals;
  // Each gets the time as its subject: a rendering has one time, which the caller gives, so a test
  // can.
  for (const NamedFunction* named : {&kRange, &kDict, &kRaise, &kTime}) {
    globals.emplace_back(named->name,
                         ObjectPtr(std::make_shared<BoundFunction>(*named, Value(time_seconds))));
  }
  globals.emplace_back("namespace", ObjectPtr(std::make_shared<NamespaceMaker>(namespaces)));
  return globals;
}

}  // namespace sluice::text::jinja
