// Inputs as a command line gives them: name=x.npy, all.npz, name=x.png, name=random, name=zeros.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exec/loaded_model.h"
#include "ir/attribute.h"
#include "sluice/cli/options.h"
#include "sluice/tensors/image.h"
#include "sluice/tensors/value.h"

namespace sluice::tool {

/// What happens to inputs that the command line does not name.
enum class Missing { kRefuse, kRandom };

/// The source of an input that has a default and is not given: no file has such a name.
inline constexpr const char* kDefaultSource = "";

/// The source of each input, by name. A model of one input without a default takes a source without
/// `name=`. An .npz file without `name=` is the source of all inputs that have no other. Fails:
/// kInvalidArgument for an unknown name, listing the model's inputs, or a missing one.
Result<std::map<std::string, std::string>> parse_inputs(const std::vector<std::string>& arguments,
                                                        const terms::Signature& signature,
                                                        Missing missing);

/// --resize, --mean and --std.
void add_image_options(Options& options, Preprocessing& preprocessing);

/// One value per input, from a .npy, .npz, .json, .png or .jpg file or generated. Random ones are
/// seeded: normal floats, zeros and ones for integers. Symbolic dimensions of generated inputs are
/// what `dims` says for that input or for the name of the dimension, else 1.
Result<std::vector<Value>> read_values(const std::map<std::string, std::string>& sources,
                                       const terms::Signature& signature,
                                       const std::map<std::string, std::vector<std::int64_t>>& dims,
                                       const Preprocessing& preprocessing);

/// The same for models whose inputs are all tensors. Fails also: kUnimplemented for a sequence.
Result<std::vector<ir::Constant>> read_inputs(
    const std::map<std::string, std::string>& sources, const terms::Signature& signature,
    const std::map<std::string, std::vector<std::int64_t>>& dims,
    const Preprocessing& preprocessing = {});

/// Sets all inputs; tensors of `values` must outlive the runs.
Status set_values(exec::Context& context, const terms::Signature& signature,
                  const std::vector<Value>& values);

/// Sets all inputs; `tensors` must outlive the runs.
Status set_inputs(exec::Context& context, const std::vector<ir::Constant>& tensors);

}  // namespace sluice::tool
