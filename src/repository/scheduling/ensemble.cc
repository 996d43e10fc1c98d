#include "repository/scheduling/ensemble.h"

#include <limits>
#include <map>
#include <utility>

#include "base/utf8.h"
#include "repository/text_format/field.h"

namespace sluice::repository {
namespace {

using terms::DeclaredTensor;
using terms::EnsembleStep;
using terms::EnsembleTensor;

/// An entry of input_map or output_map.
Result<EnsembleTensor> read_entry(const TextField& from) {
  EnsembleTensor entry;
  entry.line = from.line;
  for (const TextField& field : from.fields) {
    if (field.name == "key") entry.name = SLUICE_TRY(text_of(field));
    if (field.name == "value") entry.tensor = SLUICE_TRY(text_of(field));
  }
  if (entry.name.empty()) return fail(from, Code::kInvalidArgument, "the key is missing");
  if (entry.tensor.empty()) return fail(from, Code::kInvalidArgument, "the value is missing");
  return entry;
}

Status add_entry(const TextField& from, std::vector<EnsembleTensor>& entries) {
  EnsembleTensor entry = SLUICE_TRY(read_entry(from));
  for (const EnsembleTensor& other : entries) {
    if (other.name != entry.name) continue;
    return fail(from, Code::kInvalidArgument, "line {} has the key \"{}\", too", other.line,
                shown(entry.name));
  }
  if (entries.size() == sandbox::kMaxGraphNodes) {
    return fail(from, Code::kInvalidArgument, "a step has at most {} entries of a map",
                sandbox::kMaxGraphNodes);
  }
  entries.push_back(std::move(entry));
  return ok_status();
}

Result<EnsembleStep> read_step(const TextField& from,
                               const std::function<void(const TextField&)>& ignore) {
  EnsembleStep step;
  step.line = from.line;
  for (const TextField& field : from.fields) {
    if (field.name == "model_name") {
      step.model = SLUICE_TRY(text_of(field));
    } else if (field.name == "model_version") {
      const auto version = SLUICE_TRY(int_of(field, -1, std::numeric_limits<std::int64_t>::max()));
      if (version > 0) step.version = version;  // -1, and the absent 0: the newest
    } else if (field.name == "input_map") {
      SLUICE_TRY(add_entry(field, step.inputs));
    } else if (field.name == "output_map") {
      SLUICE_TRY(add_entry(field, step.outputs));
    } else {
      ignore(field);
    }
  }
  if (step.model.empty() || !check_name(step.model, "model").is_ok()) {
    return fail(from, Code::kInvalidArgument, "model_name is \"{}\", which is no name of a model",
                shown(step.model));
  }
  if (step.outputs.empty()) {
    return fail(from, Code::kInvalidArgument, "model \"{}\" has no output_map", shown(step.model));
  }
  return step;
}

template <typename... Args>
Status fail_at(int line, fmt::format_string<Args...> format, Args&&... args) {
  return invalid_argument("line {}: {}", line, fmt::format(format, std::forward<Args>(args)...));
}

/// Follows the ensemble's tensors from who writes them to who reads them.
class Linker {
 public:
  explicit Linker(const terms::DeclaredModel& ensemble) : ensemble_(ensemble) {}

  Result<EnsembleGraph> link() {
    SLUICE_TRY(take_inputs());
    for (std::size_t i = 0; i < ensemble_.steps.size(); ++i) {
      const EnsembleStep& step = ensemble_.steps[i];
      nodes_.push_back(fmt::format("step {} (model \"{}\", config.pbtxt line {})", i + 1,
                                   shown(step.model), step.line));
      graph_.request.nodes.push_back({nodes_.back(), {}});
      for (const EnsembleTensor& output : step.outputs) SLUICE_TRY(take_writer(i, output));
    }
    for (std::size_t i = 0; i < ensemble_.steps.size(); ++i) {
      for (const EnsembleTensor& input : ensemble_.steps[i].inputs)
        SLUICE_TRY(take_reader(i, input));
    }
    SLUICE_TRY(take_outputs());
    for (std::size_t i = 0; i < ensemble_.inputs.size(); ++i) {
      if (!graph_.names.inputs[i].to.empty()) continue;
      const DeclaredTensor& input = ensemble_.inputs[i];
      return fail_at(input.line, "input: no step reads \"{}\"", shown(input.name));
    }
    SLUICE_TRY(sandbox::check_size(graph_.request));
    return std::move(graph_);
  }

 private:
  /// Where a tensor of the ensemble comes from.
  struct Writer {
    int line = 0;
    std::size_t input = 0;  ///< of the ensemble, if there is no port
    std::optional<terms::GraphPort> port = {};
  };

  Status add(const std::string& tensor, Writer writer) {
    const int line = writer.line;
    const auto [it, is_new] = writers_.emplace(tensor, std::move(writer));
    if (is_new) return ok_status();
    return fail_at(line, "line {} gives the tensor \"{}\", too", it->second.line, shown(tensor));
  }

  Status take_inputs() {
    for (std::size_t i = 0; i < ensemble_.inputs.size(); ++i) {
      const DeclaredTensor& input = ensemble_.inputs[i];
      if (input.name.empty()) return fail_at(input.line, "input: the name is missing");
      SLUICE_TRY(add(input.name, {input.line, i, std::nullopt}));
      graph_.names.inputs.push_back({input.name, {}});
    }
    return ok_status();
  }

  Status take_writer(std::size_t step, const EnsembleTensor& output) {
    return add(output.tensor, {output.line, 0, terms::GraphPort{nodes_[step], output.name}});
  }

  Status take_reader(std::size_t step, const EnsembleTensor& input) {
    const auto writer = writers_.find(input.tensor);
    if (writer == writers_.end()) {
      return fail_at(input.line,
                     "input_map: \"{}\" is no input of the ensemble, and no step writes it",
                     shown(input.tensor));
    }
    terms::GraphPort to = {nodes_[step], input.name};
    if (writer->second.port) {
      graph_.request.edges.push_back({*writer->second.port, std::move(to)});
    } else {
      graph_.names.inputs[writer->second.input].to.push_back(std::move(to));
    }
    return ok_status();
  }

  Status take_outputs() {
    std::map<std::string, int> lines;
    for (const DeclaredTensor& output : ensemble_.outputs) {
      const auto writer = writers_.find(output.name);
      if (writer == writers_.end() || !writer->second.port) {
        return fail_at(output.line, "output: no step writes \"{}\"", shown(output.name));
      }
      const auto [it, is_new] = lines.emplace(output.name, output.line);
      if (!is_new) {
        return fail_at(output.line, "output: line {} has \"{}\", too", it->second,
                       shown(output.name));
      }
      graph_.names.outputs.push_back({output.name, *writer->second.port});
    }
    return ok_status();
  }

  const terms::DeclaredModel& ensemble_;
  std::vector<std::string> nodes_;
  std::map<std::string, Writer> writers_;  ///< by the ensemble's tensor
  EnsembleGraph graph_;
};

}  // namespace

Result<std::vector<EnsembleStep>> read_ensemble(
    const TextField& field, const std::function<void(const TextField&)>& ignore) {
  std::vector<EnsembleStep> steps;
  for (const TextField& one : field.fields) {
    if (one.name != "step") {
      ignore(one);
      continue;
    }
    if (steps.size() == sandbox::kMaxGraphNodes) {
      return fail(one, Code::kInvalidArgument, "an ensemble has at most {} steps",
                  sandbox::kMaxGraphNodes);
    }
    steps.push_back(SLUICE_TRY(read_step(one, ignore)));
  }
  if (steps.empty()) return fail(field, Code::kInvalidArgument, "there is no step");
  return steps;
}

Result<EnsembleGraph> graph_of(const terms::DeclaredModel& ensemble) {
  const int line = ensemble.steps.front().line;
  if (ensemble.inputs.empty()) return fail_at(line, "an ensemble declares its inputs");
  if (ensemble.outputs.empty()) return fail_at(line, "an ensemble declares its outputs");
  return Linker(ensemble).link();
}

}  // namespace sluice::repository
