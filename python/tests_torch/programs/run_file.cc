// Runs a traced file several times, in C++.
//
//   run_file MODEL.sluice CALLS < f32 values of all inputs, call after call
//
// Prints the elements of the outputs, one a line, and at the end to the error stream the bytes that
// runs have copied. States ("state.NAME") are 0 before the first call. The output "state.NAME.next"
// has the memory of the state, so that runs change it in place.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "sluice/sluice.hpp"

namespace {

/// f32 values at an address that runs read and write in place.
class Values {
 public:
  explicit Values(const sluice_tensor_spec& spec)
      : dims_(spec.dims, static_cast<std::size_t>(spec.rank)) {
    for (const std::int64_t dim : dims_) size_ *= static_cast<std::size_t>(dim);
    const std::size_t size_bytes = (size_ * sizeof(float) + 63) / 64 * 64;
    data_.reset(static_cast<float*>(std::aligned_alloc(64, size_bytes)));
    std::memset(data_.get(), 0, size_bytes);
  }
  std::span<float> all() { return {data_.get(), size_}; }
  std::span<const std::int64_t> dims() const { return dims_; }

 private:
  struct Free {
    void operator()(float* data) const { std::free(data); }
  };
  std::span<const std::int64_t> dims_;
  std::size_t size_ = 1;
  std::unique_ptr<float, Free> data_;
};

using Inputs = std::map<std::string, Values>;

int fail(const std::string& message) {
  std::fprintf(stderr, "run_file: %s\n", message.c_str());
  return 1;
}

bool is_state(const std::string& name) { return name.starts_with("state."); }

/// Makes runs read the inputs, and write the states' next values to the states.
std::optional<sluice::Error> bind(sluice::Context& context, const sluice::Model& model,
                                  Inputs& inputs) {
  for (std::size_t i = 0; i < model.num_inputs(); ++i) {
    const std::string name = model.input(i).name;
    Values& values = inputs.emplace(name, model.input(i)).first->second;
    const std::span<const float> given = values.all();
    if (auto error = context.set_input<float>(name, given, values.dims())) return error;
    if (!is_state(name)) continue;
    if (auto error = context.bind_output<float>(name + ".next", values.all())) return error;
  }
  return std::nullopt;
}

/// Reads the values that are no states. Returns false at the end of the input.
bool read_inputs(const sluice::Model& model, Inputs& inputs) {
  for (std::size_t i = 0; i < model.num_inputs(); ++i) {
    const std::string name = model.input(i).name;
    if (is_state(name)) continue;
    const std::span<float> to = inputs.at(name).all();
    if (std::fread(to.data(), sizeof(float), to.size(), stdin) != to.size()) return false;
  }
  return true;
}

std::optional<sluice::Error> print_outputs(sluice::Context& context, const sluice::Model& model) {
  for (std::size_t i = 0; i < model.num_outputs(); ++i) {
    if (is_state(model.output(i).name)) continue;
    const auto output = context.output<float>(model.output(i).name);
    if (!output) return output.error();
    for (const float value : output->values) std::printf("%.9g\n", value);
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fail("give a model and a number of calls");
  const auto model = sluice::Model::open(argv[1]);
  if (!model) return fail(model.error().message);
  auto context = model->create_context();
  if (!context) return fail(context.error().message);
  Inputs inputs;
  if (const auto error = bind(*context, *model, inputs)) return fail(error->message);
  for (int call = 0; call < std::atoi(argv[2]); ++call) {
    if (!read_inputs(*model, inputs)) return fail("too few values");
    if (const auto error = context->run()) return fail(error->message);
    if (const auto error = print_outputs(*context, *model)) return fail(error->message);
  }
  std::fprintf(stderr, "copied %lld bytes\n", static_cast<long long>(context->copied_bytes()));
}
