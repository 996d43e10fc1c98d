// The tables of a torch extension as C++.
#pragma once

#include <string>

#include "compile/code/torch/constants_file.h"
#include "compile/code/torch/launch_plan.h"

namespace sluice::compile {

/// network.cc of the folder: the values of what assets/network.h.in declares. `constants` are those
/// of the plan, in its order.
std::string network_text(const std::string& name, const package::Executable& executable,
                         const LaunchPlan& plan, const ConstantsFile& constants);

/// A name as torch and C++ take it: other characters become "_".
std::string identifier_of(std::string_view text);

}  // namespace sluice::compile
