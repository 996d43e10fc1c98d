#include "compile/code/torch/network_text.h"

#include <fmt/ranges.h>

#include <cctype>
#include <map>
#include <set>

#include "compile/code/code_files.h"

namespace sluice::compile {
namespace {

/// A C++ string literal.
std::string literal_of(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      literal += std::string("\\") + c;
    } else if (byte < 0x20 || byte == 0x7f || c == '?') {  // "??" starts a trigraph
      literal += fmt::format("\\{:03o}", byte);
    } else {
      literal += c;
    }
  }
  return literal + "\"";
}

std::string place_text(const LaunchPlace& place) {
  switch (place.memory) {
    case LaunchMemory::kInput: return fmt::format("{{Memory::kInput, {}}}", place.at);
    case LaunchMemory::kOutput: return fmt::format("{{Memory::kOutput, {}}}", place.at);
    case LaunchMemory::kConstant: return fmt::format("{{Memory::kConstant, {}}}", place.at);
    case LaunchMemory::kWorkspace: break;
  }
  return fmt::format("{{Memory::kWorkspace, {}}}", place.at);
}

class Writer {
 public:
  Writer(const package::Executable& executable, const LaunchPlan& plan,
         const ConstantsFile& constants)
      : main_(executable.graph.main()), plan_(plan), constants_(constants) {}

  std::string write(const std::string& name) {
    const std::string tables = ends() + constants() + kernels() + calls() + copies();
    return fmt::format(
        "// The network \"{}\". Written by `sluice compile --emit torch-extension`.\n"
        "#include \"network.h\"\n\nnamespace sluice_extension {{\nnamespace {{\n\n{}{}\n"
        "}}  // namespace\n\n"
        "constinit const Network kNetwork = {{{}, {}, {}, {}, {}, {}, kKernels, kCalls, {}}};\n\n"
        "}}  // namespace sluice_extension\n",
        name, shapes_, tables, literal_of(name), main_.inputs.empty() ? "{}" : "kInputs",
        "kOutputs", plan_.constants.empty() ? "{}" : "kConstants", constants_.memory_bytes,
        plan_.workspace_bytes, plan_.copies.empty() ? "{}" : "kCopies");
  }

 private:
  /// A table of rows; nothing for none, because C++ has no arrays without elements.
  static std::string table(std::string_view type, std::string_view name,
                           const std::vector<std::string>& rows) {
    if (rows.empty()) return "";
    return fmt::format("constexpr {} {}[] = {{\n    {},\n}};\n\n", type, name,
                       fmt::join(rows, ",\n    "));
  }

  /// The name of an array with the dimensions, which it declares; "{}" for a scalar.
  std::string shape_name(const std::vector<std::int64_t>& dims) {
    if (dims.empty()) return "{}";
    const auto [found, is_new] = shape_names_.emplace(dims, "");
    if (is_new) {
      found->second = fmt::format("kShape{}", fmt::join(dims, "x"));
      shapes_ += fmt::format("constexpr std::int64_t {}[] = {{{}}};\n", found->second,
                             fmt::join(dims, ", "));
    }
    return found->second;
  }

  std::string type_text(ir::OperandId id) {
    const ir::Type& type = main_.operand(id).type;
    const std::int64_t bytes = ir::run_bytes(type).value_or(0);
    if (ir::element_bits(type.element()) < 8) {
      return fmt::format("{{{}, {}, {}}}", static_cast<int>(ir::ElementType::kU8),
                         shape_name({bytes}), bytes);
    }
    return fmt::format("{{{}, {}, {}}}", static_cast<int>(type.element()),
                       shape_name(type.static_dims().value_or(std::vector<std::int64_t>{})), bytes);
  }

  /// Inputs and outputs. Names of inputs are names of arguments in torch.
  std::string ends() {
    std::vector<std::string> inputs;
    std::set<std::string> names;
    for (const ir::OperandId id : main_.inputs) {
      std::string name = identifier_of(main_.operand(id).name);
      while (!names.insert(name).second) name += "_";
      inputs.push_back(
          fmt::format("{{\"{}\", {}, {}}}", name, type_text(id), plan_.defaults[inputs.size()]));
    }
    std::vector<std::string> outputs;
    for (const ir::OperandId id : main_.outputs) {
      outputs.push_back(
          fmt::format("{{{}, {}}}", literal_of(main_.operand(id).name), type_text(id)));
    }
    return table("Input", "kInputs", inputs) + table("Output", "kOutputs", outputs);
  }

  std::string constants() const {
    std::vector<std::string> rows;
    for (const ConstantsFile::Entry& entry : constants_.entries) {
      rows.push_back(fmt::format("{{{}, {}, {}, {}}}", literal_of(entry.name), entry.bytes,
                                 entry.file_offset, entry.memory_offset));
    }
    return table("Constant", "kConstants", rows);
  }

  std::string kernels() {
    std::string text;
    std::vector<std::string> rows;
    for (const LaunchPlan::Kernel& kernel : plan_.kernels) {
      std::vector<std::string> parameters;
      for (const auto& [is_output, operand] : kernel.parameters) {
        parameters.push_back(fmt::format("{{{}, {}}}", is_output, type_text(operand)));
      }
      std::vector<std::string> images;
      for (const auto& image : kernel.code->images) {
        images.push_back(fmt::format("{{{}, {}}}", literal_of(image.target),
                                     literal_of(image_file_name(kernel.name, image.target))));
      }
      const std::size_t number = rows.size();
      text += table("Parameter", fmt::format("kParameters{}", number), parameters);
      text += table("Image", fmt::format("kImages{}", number), images);
      const auto& [grid, block] = std::tie(kernel.code->grid, kernel.code->block);
      rows.push_back(fmt::format("{{{}, {}, {{{}}}, {{{}}}, {}, kParameters{}, kImages{}}}",
                                 literal_of(kernel.name), literal_of(kernel.code->function),
                                 fmt::join(grid, ", "), fmt::join(block, ", "),
                                 kernel.reports_indices, number, number));
    }
    return text + table("Kernel", "kKernels", rows);
  }

  std::string calls() const {
    std::string text;
    std::vector<std::string> rows;
    for (const LaunchPlan::Call& call : plan_.calls) {
      std::vector<std::string> arguments;
      for (const LaunchPlace& place : call.arguments) arguments.push_back(place_text(place));
      const std::string name = fmt::format("kArguments{}", rows.size());
      text += table("Place", name, arguments);
      rows.push_back(fmt::format("{{{}, {}, {}}}", call.kernel, literal_of(call.operation), name));
    }
    return text + table("Call", "kCalls", rows);
  }

  std::string copies() const {
    std::vector<std::string> rows;
    for (const LaunchPlan::Copy& copy : plan_.copies) {
      rows.push_back(
          fmt::format("{{{}, {}, {}}}", place_text(copy.from), place_text(copy.to), copy.bytes));
    }
    return table("Copy", "kCopies", rows);
  }

  const ir::Subgraph& main_;
  const LaunchPlan& plan_;
  const ConstantsFile& constants_;
  std::map<std::vector<std::int64_t>, std::string> shape_names_;
  std::string shapes_;
};

}  // namespace

std::string network_text(const std::string& name, const package::Executable& executable,
                         const LaunchPlan& plan, const ConstantsFile& constants) {
  return Writer(executable, plan, constants).write(name);
}

std::string identifier_of(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool is_kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    name += is_kept ? c : '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
    name.insert(0, "x");
  }
  return name;
}

}  // namespace sluice::compile
