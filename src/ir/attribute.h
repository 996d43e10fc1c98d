// Attributes of operations.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/id.h"
#include "ir/type.h"

namespace sluice::ir {

struct SubgraphTag;
using SubgraphId = Id<SubgraphTag>;

/// A tensor known at compile time. `data` holds the elements packed in row-major order,
/// little-endian. Strings are `num_elements + 1` i64 offsets followed by the bytes they delimit.
/// Copying shares the bytes. A package may leave out the bytes of an operand's constant.
struct Constant {
  Type type;  ///< a static tensor type
  Bytes data;
};

/// Whether the bytes are elsewhere: in the form that a backend packed.
bool is_left_out(const Constant& constant);

/// A constant of small host values; `values.size()` must match the shape.
Constant make_i64_constant(const std::vector<std::int64_t>& values, Shape shape);
Constant make_f32_constant(const std::vector<float>& values, Shape shape);

/// Elements of an integer or bool constant as i64, of a float constant as doubles. Nullopt for
/// other types and for constants that are left out.
std::optional<std::vector<std::int64_t>> integer_values(const Constant& constant);
std::optional<std::vector<double>> float_values(const Constant& constant);

using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                               std::vector<float>, std::vector<std::string>, Constant, SubgraphId,
                               Type, std::vector<SubgraphId>, std::vector<Constant>>;

/// Name -> value, ordered by name so that printing is deterministic.
class Attributes {
 public:
  using Map = std::map<std::string, Attribute, std::less<>>;

  Attributes() = default;
  Attributes(std::initializer_list<Map::value_type> attributes) : map_(attributes) {}

  void set(std::string name, Attribute value) {
    map_.insert_or_assign(std::move(name), std::move(value));
  }
  void erase(std::string_view name);
  bool contains(std::string_view name) const { return map_.find(name) != map_.end(); }

  /// Null if absent or, with a T, of another kind. The pointer lives until the attribute changes.
  const Attribute* find(std::string_view name) const {
    const auto it = map_.find(name);
    return it == map_.end() ? nullptr : &it->second;
  }
  template <typename T>
  const T* find(std::string_view name) const {
    return std::get_if<T>(find(name));
  }
  template <typename T>
  T get_or(std::string_view name, T fallback) const {
    const T* value = find<T>(name);
    return value ? *value : std::move(fallback);
  }

  Map::const_iterator begin() const { return map_.begin(); }
  Map::const_iterator end() const { return map_.end(); }
  bool empty() const { return map_.empty(); }

 private:
  Map map_;
};

}  // namespace sluice::ir
