// An executable bound to its data: where every tensor comes from and goes to.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "exec/replace_constants.h"
#include "runtime/data/inline_model.h"
#include "runtime/data/program.h"
#include "runtime/data/queue_manager.h"

namespace sluice::runtime {

/// Called when a program wants a tensor: fills `target`, whose type, dimensions and size say what.
using DataProvider = std::function<Status(const exec::TensorView& target)>;
/// Called when a program has a tensor: reads `source`, which is valid during the call.
using DataConsumer = std::function<Status(const exec::TensorView& source)>;

/// A value, memory of the user's that is read by every run, or a callback.
using TensorSource = std::variant<ir::Constant, exec::TensorView, DataProvider>;
/// Memory of the user's that every run writes, or a callback.
using TensorSink = std::variant<OutputMemory, DataConsumer>;

/// Bytes of a file that holds nothing else, as a tensor of `type`. Mapped, not read.
/// Fails: as map_file does; kInvalidArgument if the sizes differ.
Result<ir::Constant> map_raw_tensor(const std::filesystem::path& path, const ir::Type& type);

/// The tensors of a folder's .npy files, each named as its file without the ending. Mapped, not
/// read. Fails: kNotFound for no such folder; as package::read_npy, naming the file.
Result<exec::ConstantsByName> map_npy_folder(const std::filesystem::path& folder);

struct SessionOptions {
  exec::LoadOptions load;
  /// Requests in flight, through `model`.
  int depth = 1;
  /// Tensor data stored beside the executable, by tensor name.
  exec::ConstantsByName stored;
  /// Which of them are bound without `bind_source`.
  BindPredicate binds_stored = bind_all();
  /// What moves tensors to and from devices with memory of their own, fairly among all who use
  /// these; null makes some for the session alone.
  std::shared_ptr<device::DeviceServiceTable> devices;
};

/// Binds, runs programs, stops:
///
///     created --load--> loaded --stop--> stopped
///                       main, save, model: here only
///
/// Constants have the values compiled into the executable unless stored data or a source of the
/// user's overrides them; a source given by name wins over stored data. Used by one thread at a
/// time, but for `model`.
class Session {
 public:
  /// Fails: kInvalidArgument for stored data that fits no tensor, or has another type.
  static Result<std::unique_ptr<Session>> create(package::Executable executable, Clock& clock,
                                                 SessionOptions options = {});

  const std::vector<ProgramTensor>& tensors() const { return tensors_; }

  /// For a constant or an input, in place of what it has. Constants: before `load`.
  /// Fails: kNotFound; kInvalidArgument for an output, or another type; kFailedPrecondition.
  Status bind_source(std::string_view name, TensorSource source);
  /// For an output, which main writes; or a constant, which save brings back.
  Status bind_sink(std::string_view name, TensorSink sink);

  /// Whether every tensor that `program` moves has a source or a sink.
  /// Fails: kFailedPrecondition naming all that have none.
  Status verify(Program program) const;

  /// Runs the load program. Fails: as `verify`, replace_constants, LoadedModel::load, a provider.
  Status load(const backend::BackendRegistry& backends);
  /// Runs the main program once, calling providers before and consumers after it.
  /// Fails: kFailedPrecondition before `load`; as `verify`; what the run and callbacks report.
  Status run_main();
  /// Hands the constants that have a sink to it.
  Status run_save();

  /// To run requests instead of what is bound: by queues, or a ModelRunner. Null unless loaded.
  RequestSink* model() { return model_.get(); }
  /// Queues for all inputs and outputs. Fails: kFailedPrecondition unless loaded. Goes first.
  Result<std::unique_ptr<QueueManager>> create_queue_manager(const QueueOptions& options = {});

  /// Gives back what `load` took. Afterwards only this does nothing.
  void stop();

 private:
  Session(package::Executable executable, Clock& clock, SessionOptions options);
  Status bind_stored();
  const ProgramTensor* find(std::string_view name) const;
  Status require_loaded() const;
  Result<exec::ConstantsByName> gather_constants();
  Result<exec::TensorView> fetch_input(const ProgramTensor& tensor);

  package::Executable executable_;
  Clock& clock_;
  SessionOptions options_;
  std::vector<ProgramTensor> tensors_;
  std::map<std::string, TensorSource, std::less<>> sources_;
  std::map<std::string, TensorSink, std::less<>> sinks_;
  std::map<std::string, MutableBytes, std::less<>> provided_;  ///< memory that providers fill
  std::unique_ptr<InlineModel> model_;
  bool is_stopped_ = false;
};

}  // namespace sluice::runtime
