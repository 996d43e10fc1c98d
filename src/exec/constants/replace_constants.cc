#include "exec/constants/replace_constants.h"

#include <algorithm>
#include <vector>

#include "ops/inference.h"

namespace sluice::exec {
namespace {

// Models have thousands; the message should help with a misspelt name, not fill the screen.
constexpr int kMaxNamesListed = 20;

ir::OperandId find_constant(const ir::Subgraph& main, std::string_view name) {
  for (std::size_t i = 0; i < main.num_operands(); ++i) {
    const ir::OperandId id(i);
    if (main.find_constant(id) != nullptr && main.operand(id).name == name) return id;
  }
  return ir::OperandId();
}

std::string list_constants(const ir::Subgraph& main) {
  std::string names;
  int num_listed = 0;
  for (std::size_t i = 0; i < main.num_operands(); ++i) {
    const ir::OperandId id(i);
    if (main.find_constant(id) == nullptr || main.operand(id).name.empty()) continue;
    if (++num_listed > kMaxNamesListed) return names + " ...";
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", main.operand(id).name);
  }
  return names.empty() ? "none" : names;
}

/// Whether a shape function reads the constant: then types and plan depend on its value.
bool is_read_by_shapes(const ir::Subgraph& main, ir::OperandId constant) {
  for (const ir::OperationId id : main.order()) {
    const ir::Operation& operation = main.operation(id);
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    if (schema == nullptr) continue;
    for (std::size_t i = 0; i < operation.inputs.size() && i < schema->inputs.size(); ++i) {
      if (schema->inputs[i].is_shape_value && operation.inputs[i] == constant) return true;
    }
  }
  return false;
}

Status check_value(const ir::Subgraph& main, ir::OperandId id, const ir::Constant& value) {
  const std::string& name = main.operand(id).name;
  const ir::Type& type = main.find_constant(id)->type;
  if (!(value.type == type)) {
    return invalid_argument("constant \"{}\": got {}, model takes {}", name, value.type.to_string(),
                            type.to_string());
  }
  const auto size = ir::storage_bytes(type);
  // Strings have no fixed size, so they fail here.
  if (!size || static_cast<std::size_t>(*size) != value.data.size()) {
    return invalid_argument("constant \"{}\": {} takes {} bytes, got {}", name, type.to_string(),
                            size.value_or(-1), value.data.size());
  }
  if (is_read_by_shapes(main, id)) {
    return unimplemented("constant \"{}\": shapes were planned with it; compile the model anew",
                         name);
  }
  return ok_status();
}

bool reads(const ir::Subgraph& main, const package::PackedConstant& packed, ir::OperandId id) {
  if (packed.operation >= main.order().size()) return false;
  const ir::Operation& operation = main.operation(main.order()[packed.operation]);
  return packed.input < operation.inputs.size() && operation.inputs[packed.input] == id;
}

}  // namespace

Result<package::Executable> replace_constants(const package::Executable& executable,
                                              const ConstantsByName& values) {
  package::Executable replaced = executable;
  ir::Subgraph& main = replaced.graph.main();
  for (const auto& [name, value] : values) {
    const ir::OperandId id = find_constant(main, name);
    if (!id.is_valid()) {
      return make_error(Code::kNotFound, "the model has no constant \"{}\"; it has {}", name,
                        list_constants(main));
    }
    SLUICE_TRY(check_value(main, id, value));
    main.operand(id).constant->data = value.data;
    // What was packed from the old bytes goes; the loader packs the new ones.
    std::erase_if(replaced.packed, [&, constant = id](const package::PackedConstant& packed) {
      return reads(main, packed, constant);
    });
  }
  return replaced;
}

}  // namespace sluice::exec
