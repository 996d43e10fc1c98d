// Runs a traced file several times, in C++.
//
//   run_file MODEL.sluice CALLS < f32 values of all inputs, call after call
//
// Prints the elements of the outputs, one a line. States ("state.NAME") are 0 before the first
// call; the output "state.NAME.next" is the state of the next call.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/sluice.hpp"

namespace {

constexpr std::string_view kState = "state.";

std::vector<float> zeros(const sluice_tensor_spec& spec) {
  std::size_t size = 1;
  for (int i = 0; i < spec.rank; ++i) size *= static_cast<std::size_t>(spec.dims[i]);
  return std::vector<float>(size);
}

int fail(const std::string& message) {
  std::fprintf(stderr, "run_file: %s\n", message.c_str());
  return 1;
}

bool is_state(const std::string& name) { return name.starts_with(kState); }

/// Reads the values that are no states. Returns false at the end of the input.
bool read_inputs(std::map<std::string, std::vector<float>>& values, const sluice::Model& model) {
  for (std::size_t i = 0; i < model.num_inputs(); ++i) {
    const std::string name = model.input(i).name;
    if (is_state(name)) continue;
    std::vector<float>& to = values[name];
    if (std::fread(to.data(), sizeof(float), to.size(), stdin) != to.size()) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fail("give a model and a number of calls");
  const auto model = sluice::Model::open(argv[1]);
  if (!model) return fail(model.error().message);
  auto context = model->create_context();
  if (!context) return fail(context.error().message);
  std::map<std::string, std::vector<float>> values;
  for (std::size_t i = 0; i < model->num_inputs(); ++i) {
    values[model->input(i).name] = zeros(model->input(i));
  }
  for (int call = 0; call < std::atoi(argv[2]); ++call) {
    if (!read_inputs(values, *model)) return fail("too few values");
    for (std::size_t i = 0; i < model->num_inputs(); ++i) {
      const sluice_tensor_spec& spec = model->input(i);
      const std::span dims(spec.dims, static_cast<std::size_t>(spec.rank));
      const auto error =
          context->set_input<float>(spec.name, std::span<const float>(values[spec.name]), dims);
      if (error) return fail(error->message);
    }
    if (const auto error = context->run()) return fail(error->message);
    for (std::size_t i = 0; i < model->num_outputs(); ++i) {
      const std::string name = model->output(i).name;
      const auto output = context->output<float>(name);
      if (!output) return fail(output.error().message);
      if (is_state(name)) {
        const std::string input = name.substr(0, name.size() - std::string_view(".next").size());
        values[input].assign(output->values.begin(), output->values.end());
        continue;
      }
      for (const float value : output->values) std::printf("%.9g\n", value);
    }
  }
}
