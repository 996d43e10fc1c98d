// Trilu: one thread per element, which keeps it or writes 0.

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/integers.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Trilu", nullptr};

bool has_diagonal(const sluice_op& op) {
  return op.num_inputs > 1 && !plugin::is_absent(op.inputs[1].tensor);
}

Status check(const sluice_op& op) {
  if (Status status = check_moved(op, 1); !status.is_ok()) return status;
  if (has_diagonal(op)) {
    if (Status status = check_integers(op, 1); !status.is_ok()) return status;
    if (!agree(plugin::num_elements(op.inputs[1].tensor), 1)) return shapes_disagree(op);
  }
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const bool fits = x.size() >= 2 && agree(x, plugin::dims_of(op.outputs[0].tensor));
  return fits ? plugin::ok() : shapes_disagree(op);
}

Status write(const sluice_op& op, Source* source) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const std::string columns = std::to_string(x.back());
  const std::string rows = std::to_string(x[x.size() - 2]);
  Parameters parameters(op);
  const std::string data = parameters.add(0);
  std::string statements;
  const std::string diagonal =
      has_diagonal(op) ? read_integers(op, 1, &parameters, &statements) + "[0]" : "0";
  const bool is_upper = plugin::Attributes(op).get_int("upper", 1) != 0;
  const std::string type(type_name(op.outputs[0].tensor.element_type));
  statements += "  const long long above = (long long)(i % " + columns + ") - (long long)(i / " +
                columns + " % " + rows + ");\n  " + type + " v = {};\n  if (above " +
                (is_upper ? ">" : "<") + "= " + diagonal + ") v = " + data + "[i];\n";
  return write_kernel(op, std::move(parameters), {"v", statements}, source);
}

}  // namespace

const Family kTriluFamily = {kKinds, check, write};

}  // namespace sluice::cuda
