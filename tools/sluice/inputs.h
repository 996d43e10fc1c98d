// Inputs as a command line gives them: name=x.npy, name=x.png, name=random, name=zeros.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exec/loaded_model.h"
#include "ir/attribute.h"

namespace sluice::tool {

/// What happens to inputs that the command line does not name.
enum class Missing { kRefuse, kRandom };

/// Where each input comes from, by name. A model of one input takes a source without `name=`.
/// Fails: kInvalidArgument for an unknown name, listing the model's inputs, or a missing one.
Result<std::map<std::string, std::string>> parse_inputs(const std::vector<std::string>& arguments,
                                                        const package::Signature& signature,
                                                        Missing missing);

/// One tensor per input. Random ones are seeded: normal floats, zeros and ones for integers.
/// Symbolic dimensions of generated inputs are what `dims` says for that input, else 1.
Result<std::vector<ir::Constant>> read_inputs(
    const std::map<std::string, std::string>& sources, const package::Signature& signature,
    const std::map<std::string, std::vector<std::int64_t>>& dims);

exec::TensorView view_of(const ir::Constant& constant);

/// Sets all inputs; `tensors` must outlive the runs.
Status set_inputs(exec::Context& context, const std::vector<ir::Constant>& tensors);

}  // namespace sluice::tool
