// Values of a template, which behave as Python's do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/jinja/values/work.h"

namespace sluice::text::jinja {

class Call;
class Object;
class Value;
struct List;
struct Dict;

/// What a name without a value, or a field that is absent, gives: an empty text that has no fields.
struct Undefined {
  std::shared_ptr<const std::string> name;  ///< for messages
};
struct None {};

using Text = std::shared_ptr<const std::string>;
using ListPtr = std::shared_ptr<const List>;
using DictPtr = std::shared_ptr<const Dict>;
using ObjectPtr = std::shared_ptr<Object>;

/// Immutable but for namespaces, so copies share what is large. Used by one thread.
class Value {
 public:
  using Variant =
      std::variant<Undefined, None, bool, std::int64_t, double, Text, ListPtr, DictPtr, ObjectPtr>;

  Value() = default;
  Value(None none) : variant_(none) {}                            // NOLINT
  Value(Undefined undefined) : variant_(std::move(undefined)) {}  // NOLINT
  Value(bool truth) : variant_(truth) {}                          // NOLINT
  Value(std::int64_t number) : variant_(number) {}                // NOLINT
  Value(double number) : variant_(number) {}                      // NOLINT
  Value(ListPtr list) : variant_(std::move(list)) {}              // NOLINT
  Value(DictPtr dict) : variant_(std::move(dict)) {}              // NOLINT
  Value(ObjectPtr object) : variant_(std::move(object)) {}        // NOLINT
  Value(std::string text)                                         // NOLINT
      : variant_(std::make_shared<const std::string>(std::move(text))) {}
  Value(std::string_view text) : Value(std::string(text)) {}  // NOLINT
  Value(const char* text) : Value(std::string(text)) {}       // NOLINT

  bool is_undefined() const { return std::holds_alternative<Undefined>(variant_); }
  bool is_none() const { return std::holds_alternative<None>(variant_); }
  bool is_bool() const { return std::holds_alternative<bool>(variant_); }
  bool is_float() const { return std::holds_alternative<double>(variant_); }

  /// Null, or nullopt, for a value of another kind.
  const std::string* text() const;
  const List* list() const;
  const Dict* dict() const;
  Object* object() const;
  /// The whole number; true and false count as 1 and 0.
  std::optional<std::int64_t> whole() const;
  std::optional<double> number() const;

  bool is_true() const;
  /// "str", "list", "dict object": for messages.
  std::string_view kind() const;
  const Variant& variant() const { return variant_; }

 private:
  Variant variant_;
};

/// How deep lists, dicts and objects lie within each other. Bounded, since values are freed and
/// compared by recursion.
int depth_of(const Value& value);
inline constexpr int kMaxValueDepth = 100;

struct List {
  std::vector<Value> items;
  bool is_tuple = false;
  int depth = 1;
};

struct Dict {
  /// In the order of insertion; keys differ.
  std::vector<std::pair<Value, Value>> entries;
  int depth = 1;

  const Value* find(std::string_view key) const;
};

/// Fails: kInvalidArgument if the value is undefined. `what`: how to call it where it has no name.
Status check_defined(const Value& value, std::string_view what = "the value");

/// Fails: kResourceExhausted for more work or depth than a template may take.
Result<Value> make_list(std::vector<Value> items, Work& work, bool is_tuple = false);
/// The last of equal keys counts. Fails: kInvalidArgument for a key that is a list or a dict.
Result<Value> make_dict(const std::vector<std::pair<Value, Value>>& entries, Work& work);

/// Something with fields or a call: `loop`, a namespace, a macro, a function, a method.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  virtual std::string_view kind() const = 0;
  /// nullopt: there is no such field.
  virtual std::optional<Value> field(std::string_view name) const;
  virtual bool is_callable() const { return false; }
  /// Fails: kInvalidArgument for what cannot be called, or has other arguments.
  virtual Result<Value> call(Call& call);
  virtual int depth() const { return 1; }
};

}  // namespace sluice::text::jinja
