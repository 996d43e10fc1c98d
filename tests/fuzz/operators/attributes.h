#pragma once

#include <string>

#include "fuzz/operators/values.h"
#include "ir/attribute.h"

namespace sluice::fuzz {

/// The name of an attribute of any operator of the table, or one that only compilers set.
const std::string& random_attribute_name(Random& random);

/// A value of the kind that attributes of that name have in most operators, or of another kind.
ir::Attribute random_attribute(const std::string& name, Random& random);

/// Changes a value a little: one number, one word, the length of a list.
void mutate_attribute(ir::Attribute& attribute, Random& random);

}  // namespace sluice::fuzz
