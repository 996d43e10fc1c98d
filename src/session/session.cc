#include "session/session.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "device/device_services.h"
#include "exec/constants/named_constants.h"
#include "package/npy.h"
#include "runtime/pipeline/pipeline.h"

namespace sluice::session {
namespace {

/// In reports of devices.
constexpr const char* kOwner = "a session's model";

constexpr std::size_t kSlot = 0;  // of the pipeline, which has one

terms::TensorView view_of(const ir::Type& type, const void* data, std::size_t size) {
  return {const_cast<void*>(data), static_cast<std::int64_t>(size), type.element(),  // NOLINT
          type.static_dims().value_or(std::vector<std::int64_t>{})};
}

std::string_view role_name(TensorRole role) {
  switch (role) {
    case TensorRole::kConstant: return "constant";
    case TensorRole::kInput: return "input";
    case TensorRole::kOutput: return "output";
  }
  return "tensor";
}

Status not_in_state(std::string_view wanted) {
  return make_error(Code::kFailedPrecondition, "the session is not {}", wanted);
}

Status give(const TensorSink& sink, const terms::TensorView& view, std::string_view name) {
  if (const auto* consumer = std::get_if<DataConsumer>(&sink)) {
    return (*consumer)(view).with_context(fmt::format("taking \"{}\"", name));
  }
  const auto& memory = std::get<terms::OutputMemory>(sink);
  // Checked per run: the size of an output may depend on the inputs.
  if (memory.capacity_bytes < view.size_bytes) {
    return make_error(Code::kResourceExhausted, "\"{}\" has {} bytes, the memory bound to it {}",
                      name, view.size_bytes, memory.capacity_bytes);
  }
  if (view.size_bytes > 0) {
    std::memcpy(memory.data, view.data, static_cast<std::size_t>(view.size_bytes));
  }
  return ok_status();
}

}  // namespace

Result<exec::ConstantsByName> map_npy_folder(const std::filesystem::path& folder) {
  // The iterator reports errors by value: a folder may go while it is read.
  std::error_code error;
  exec::ConstantsByName tensors;
  for (auto at = std::filesystem::directory_iterator(folder, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::filesystem::path& path = at->path();
    if (path.extension() != ".npy") continue;
    tensors.emplace(path.stem().string(), SLUICE_TRY(package::read_npy(path)));
  }
  if (error) return make_error(Code::kNotFound, "{}: {}", folder.string(), error.message());
  return tensors;
}

Session::Session(package::Executable executable, Clock& clock, SessionOptions options)
    : executable_(std::move(executable)),
      clock_(clock),
      options_(std::move(options)),
      tensors_(list_tensors(executable_)) {}

Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(package::Executable executable, Clock& clock,
                                                 SessionOptions options) {
  std::unique_ptr<Session> session(new Session(std::move(executable), clock, std::move(options)));
  SLUICE_TRY(session->bind_stored());
  return session;
}

Status Session::bind_stored() {
  for (const auto& [name, value] : options_.stored) {
    const ProgramTensor* tensor = find(name);
    if (tensor == nullptr) {
      return invalid_argument("stored tensor \"{}\": the model has none of this name", name);
    }
    // Stored data may hold more than the caller wants bound without being asked; the predicate
    // decides.
    if (!options_.binds_stored(*tensor)) continue;
    SLUICE_TRY(bind_source(name, value).with_context("stored tensor data"));
  }
  return ok_status();
}

const ProgramTensor* Session::find(std::string_view name) const {
  const auto it = std::ranges::find(tensors_, name, &ProgramTensor::name);
  return it == tensors_.end() ? nullptr : &*it;
}

Status Session::require_loaded() const { return pipeline_ ? ok_status() : not_in_state("loaded"); }

Status Session::bind_source(std::string_view name, TensorSource source) {
  const ProgramTensor* tensor = find(name);
  if (tensor == nullptr) {
    return make_error(Code::kNotFound, "the model has no tensor \"{}\"{}", name,
                      terms::fixed_input_hint(package::signature_of(executable_.graph), name));
  }
  if (tensor->role == TensorRole::kOutput) {
    return invalid_argument("\"{}\" is an output: it has a sink, no source", name);
  }
  const bool is_constant = tensor->role == TensorRole::kConstant;
  // Constants are moved once, by load(); inputs may be bound again at any time.
  if (is_constant && (pipeline_ || is_stopped_))
    return not_in_state("new: its constants are loaded");
  terms::TensorView view;
  if (const auto* value = std::get_if<ir::Constant>(&source)) {
    view = view_of(value->type, value->data.data(), value->data.size());
  } else if (const auto* given = std::get_if<terms::TensorView>(&source)) {
    view = *given;
  } else if (!tensor->type.is_static()) {
    return invalid_argument("\"{}\" is {}: a callback fills tensors of known shape only", name,
                            tensor->type.to_string());
  }
  // A provider has no bytes yet; its tensor has the declared shape, checked above.
  if (!std::holds_alternative<DataProvider>(source)) {
    SLUICE_TRY(exec::check_input({tensor->name, tensor->type, -1}, view));
  }
  sources_.insert_or_assign(tensor->name, std::move(source));
  return ok_status();
}

Status Session::bind_sink(std::string_view name, TensorSink sink) {
  const ProgramTensor* tensor = find(name);
  if (tensor == nullptr) return make_error(Code::kNotFound, "the model has no tensor \"{}\"", name);
  if (tensor->role == TensorRole::kInput) {
    return invalid_argument("\"{}\" is an input: it has a source, no sink", name);
  }
  sinks_.insert_or_assign(tensor->name, std::move(sink));
  return ok_status();
}

Status Session::verify(Program program) const {
  std::string missing;
  for (const ProgramTensor& tensor : tensors_) {
    // Constants have a compiled value without a source, and save moves only constants with a sink.
    if (program != Program::kMain || tensor.role == TensorRole::kConstant) continue;
    if (tensor.default_value != nullptr) continue;
    // All tensors that lack something are named at once, so that one look at the message suffices.
    const bool is_output = tensor.role == TensorRole::kOutput;
    if (is_output ? sinks_.contains(tensor.name) : sources_.contains(tensor.name)) continue;
    missing += fmt::format("{}{} \"{}\" of type {} has no {}", missing.empty() ? "" : "; ",
                           role_name(tensor.role), tensor.name, tensor.type.to_string(),
                           is_output ? "sink" : "source");
  }
  if (missing.empty()) return ok_status();
  return Status(Code::kFailedPrecondition, missing);
}

Result<exec::ConstantsByName> Session::gather_constants() {
  exec::ConstantsByName constants;
  for (const ProgramTensor& tensor : tensors_) {
    const auto it = sources_.find(tensor.name);
    if (tensor.role != TensorRole::kConstant || it == sources_.end()) continue;
    if (const auto* value = std::get_if<ir::Constant>(&it->second)) {
      constants.emplace(tensor.name, *value);
      continue;
    }
    const terms::TensorView view = input_of(tensor);
    SLUICE_TRY(provide(tensor, view));
    const auto* data = static_cast<const std::byte*>(view.data);
    constants.emplace(
        tensor.name,
        ir::Constant{
            tensor.type,
            // A copy: the caller's memory is its own again when load() returns.
            MutableBytes::copy_of({data, static_cast<std::size_t>(view.size_bytes)}).freeze()});
  }
  return constants;
}

/// The tensor of a source; the session owns memory that a provider will fill.
terms::TensorView Session::input_of(const ProgramTensor& tensor) {
  const auto found = sources_.find(tensor.name);
  if (found == sources_.end()) {
    const ir::Constant& value = *tensor.default_value;
    return view_of(value.type, value.data.data(), value.data.size());
  }
  const TensorSource& source = found->second;
  if (const auto* value = std::get_if<ir::Constant>(&source)) {
    return view_of(value->type, value->data.data(), value->data.size());
  }
  if (const auto* view = std::get_if<terms::TensorView>(&source)) return *view;
  auto it = provided_.find(tensor.name);
  if (it == provided_.end()) {
    const auto size = static_cast<std::size_t>(ir::storage_bytes(tensor.type).value_or(0));
    it = provided_.emplace(tensor.name, MutableBytes(size)).first;
  }
  const auto bytes = it->second.view();
  return view_of(tensor.type, bytes.data(), bytes.size());
}

/// Lets the provider of a tensor, if it has one, fill the tensor's memory.
Status Session::provide(const ProgramTensor& tensor, const terms::TensorView& target) {
  const auto found = sources_.find(tensor.name);
  if (found == sources_.end()) return ok_status();  // its default
  const auto* provider = std::get_if<DataProvider>(&found->second);
  if (provider == nullptr) return ok_status();
  return (*provider)(target).with_context(fmt::format("providing \"{}\"", tensor.name));
}

Status Session::load(const backend::BackendRegistry& backends) {
  if (pipeline_ || is_stopped_) return not_in_state("new: load comes once");
  SLUICE_TRY(verify(Program::kLoad));
  // After this the session has the constants that the devices get, so that current_value finds them
  // by address.
  executable_ = SLUICE_TRY(exec::replace_constants(executable_, SLUICE_TRY(gather_constants())));
  if (options_.devices == nullptr) {
    options_.devices = std::make_shared<device::DeviceServiceTable>(clock_);
  }
  options_.load.devices = options_.devices;
  options_.load.owner = kOwner;
  const auto loaded = SLUICE_TRY(exec::LoadedModel::load(executable_, backends, options_.load));
  first_segments_ = SLUICE_TRY(first_segments(executable_));
  pipeline_ = std::make_unique<runtime::Pipeline>(
      SLUICE_TRY(runtime::Pipeline::create(loaded, 1, *options_.devices, kOwner)));
  return ok_status();
}

Status Session::run_main() {
  SLUICE_TRY(require_loaded());
  SLUICE_TRY(verify(Program::kMain));
  runtime::Request request;
  std::vector<const ProgramTensor*> inputs;
  std::vector<std::pair<std::string, const TensorSink*>> sinks;
  for (const ProgramTensor& tensor : tensors_) {
    if (tensor.role == TensorRole::kInput) {
      request.inputs.push_back(input_of(tensor));
      inputs.push_back(&tensor);
    } else if (tensor.role == TensorRole::kOutput) {
      const TensorSink& sink = sinks_.find(tensor.name)->second;
      const auto* memory = std::get_if<terms::OutputMemory>(&sink);
      // Kernels write to bound memory directly; a consumer gets a view of the run's own memory.
      request.outputs.push_back(memory != nullptr ? *memory : terms::OutputMemory{});
      sinks.emplace_back(tensor.name, memory != nullptr ? nullptr : &sink);
    }
  }
  const auto provide_for = [&](std::size_t segment) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      // A provider is called as late as possible: when the first segment that reads its tensor is
      // about to start.
      if (first_segments_[i] == segment) SLUICE_TRY(provide(*inputs[i], request.inputs[i]));
    }
    return ok_status();
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const terms::TensorSpec& spec = pipeline_->model().signature().inputs[i];
    SLUICE_TRY(exec::check_input(spec, request.inputs[i]));
  }
  // Consumers see whole results or nothing: after a failure none of them is called.
  SLUICE_TRY(pipeline_->prepare(kSlot, request));
  SLUICE_TRY(pipeline_->run(kSlot, provide_for));
  const std::vector<terms::OutputTensor> outputs = SLUICE_TRY(pipeline_->take_outputs(kSlot));
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    const auto& [name, sink] = sinks[i];
    if (sink != nullptr) SLUICE_TRY(give(*sink, outputs[i].view, name));
  }
  return ok_status();
}

Status Session::run_save() {
  SLUICE_TRY(require_loaded());
  for (const exec::NamedConstant& constant : exec::named_constants(executable_.graph)) {
    const auto it = sinks_.find(constant.name);
    if (it == sinks_.end()) continue;
    const Bytes value = SLUICE_TRY(
        current_value(constant.value).with_context(fmt::format("saving \"{}\"", constant.name)));
    SLUICE_TRY(
        give(it->second, view_of(constant.value.type, value.data(), value.size()), constant.name));
  }
  return ok_status();
}

/// The value on the first device with a copy; without one, kernels read the value of the host.
Result<Bytes> Session::current_value(const ir::Constant& constant) const {
  if (ir::is_left_out(constant)) {
    return make_error(Code::kFailedPrecondition,
                      "the package, compiled with --packed-only, has only a packed form of it; "
                      "compile the model without");
  }
  const exec::LoadedModel& model = pipeline_->model();
  for (std::size_t segment = 0; segment < model.num_segments(); ++segment) {
    const backend::Group& group = *model.group_of(segment);
    const auto services = SLUICE_TRY(options_.devices->of(group.shared_backend(), group.device()));
    if (services == nullptr) continue;
    if (auto value = SLUICE_TRY(services->constants.read_back(constant.data))) return *value;
  }
  return constant.data;
}

void Session::stop() {
  pipeline_.reset();
  is_stopped_ = true;
}

}  // namespace sluice::session
