// A session: an executable with a source or sink bound to each of its tensors.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "exec/constants/replace_constants.h"
#include "exec/loaded_model.h"
#include "session/program.h"

namespace sluice::device {
class DeviceServiceTable;
}
namespace sluice::runtime {
class Pipeline;
}

namespace sluice::session {

/// Called when a program needs a tensor. Fills `target`, whose type, dimensions and size are given.
using DataProvider = std::function<Status(const terms::TensorView& target)>;
/// Called with a tensor of a program. `source` is valid during the call.
using DataConsumer = std::function<Status(const terms::TensorView& source)>;

/// A value, memory of the user that every run reads, or a callback.
using TensorSource = std::variant<ir::Constant, terms::TensorView, DataProvider>;
/// Memory of the user that every run writes, or a callback.
using TensorSink = std::variant<terms::OutputMemory, DataConsumer>;

/// Maps the .npy files of a folder as tensors; a file's name without the ending is the tensor's
/// name. Fails: kNotFound for a missing folder; as package::read_npy, with the name of the file.
Result<exec::ConstantsByName> map_npy_folder(const std::filesystem::path& folder);

struct SessionOptions {
  exec::LoadOptions load;
  /// Tensor data stored beside the executable, by tensor name.
  exec::ConstantsByName stored;
  /// Selects stored tensors to bind without `bind_source`.
  BindPredicate binds_stored = bind_all();
  /// Moves tensors to and from own-memory devices, shared fairly with other users of the table.
  /// Null: a table for this session alone.
  std::shared_ptr<device::DeviceServiceTable> devices;
};

/// Binds, runs programs, stops:
///
///     created --load--> loaded --stop--> stopped
///                       main, save: here only
///
/// Constants have their compiled values unless stored data or a source overrides them; a source by
/// name wins over stored data. Used by one thread at a time.
class Session {
 public:
  /// Fails: kInvalidArgument for stored data that fits no tensor, or has another type.
  static Result<std::unique_ptr<Session>> create(package::Executable executable, Clock& clock,
                                                 SessionOptions options = {});

  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::vector<ProgramTensor>& tensors() const { return tensors_; }

  /// Replaces the source of a constant or an input; of a constant only before `load`.
  /// Fails: kNotFound; kInvalidArgument for an output, or another type; kFailedPrecondition.
  Status bind_source(std::string_view name, TensorSource source);
  /// Binds an output, which `main` writes, or a constant, which `save` copies back.
  Status bind_sink(std::string_view name, TensorSink sink);

  /// Whether every tensor that `program` moves has a source or a sink.
  /// Fails: kFailedPrecondition; the message names the unbound tensors.
  Status verify(Program program) const;

  /// Runs the load program. Fails: as `verify`, replace_constants, LoadedModel::load, a provider.
  Status load(const backend::BackendRegistry& backends);
  /// Runs the main program once. Calls the provider of an input before the first segment that reads
  /// it, if the model's shapes are static and its inputs are read in the host's memory, else before
  /// the run; and consumers after the run.
  /// Fails: kFailedPrecondition before `load`; as `verify`; errors of the run and of callbacks.
  Status run_main();
  /// Passes the constants with a sink to their sinks: on own-memory devices, the values there.
  Status run_save();

  /// Frees the resources of `load`. The only call that is valid afterwards, without effect.
  void stop();

 private:
  Session(package::Executable executable, Clock& clock, SessionOptions options);
  Status bind_stored();
  const ProgramTensor* find(std::string_view name) const;
  Status require_loaded() const;
  Result<exec::ConstantsByName> gather_constants();
  terms::TensorView input_of(const ProgramTensor& tensor);
  Status provide(const ProgramTensor& tensor, const terms::TensorView& target);
  Result<Bytes> current_value(const ir::Constant& constant) const;

  package::Executable executable_;
  Clock& clock_;
  SessionOptions options_;
  std::vector<ProgramTensor> tensors_;
  std::map<std::string, TensorSource, std::less<>> sources_;
  std::map<std::string, TensorSink, std::less<>> sinks_;
  std::map<std::string, MutableBytes, std::less<>> provided_;  ///< memory that providers fill
  std::vector<std::size_t> first_segments_;                    ///< of inputs; set by `load`
  std::unique_ptr<runtime::Pipeline> pipeline_;                ///< from `load` to `stop`
  bool is_stopped_ = false;
};

}  // namespace sluice::session
