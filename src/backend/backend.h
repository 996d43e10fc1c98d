// A loaded plug-in: what it can do, asked through the C table of sluice/backend.h.
//
// Everything here and in kernel.h, group.h, command_list.h and memory.h is a thin owner of one C
// object. Errors carry the plug-in's name; values that a plug-in returns are validated, and
// exceptions that it throws become errors.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/op.h"
#include "base/result.h"
#include "base/system/dynlib.h"
#include "sluice/backend.h"

namespace sluice::backend {

/// Bytes that every tensor address is a multiple of.
inline constexpr std::int64_t kAlignment = SLUICE_ALIGNMENT;

struct DeviceInfo {
  std::string kind;              ///< "cpu", "gpu", "sim"
  std::string name;              ///< for people
  bool has_host_memory = false;  ///< kernels read and write ordinary host memory
  bool has_own_memory = false;   ///< tensors are best copied into DeviceMemory
  bool is_simulated = false;     ///< a model of hardware: used when asked for, never chosen
  int num_cores = 0;
  std::int64_t memory_bytes = 0;  ///< 0 if unknown
  std::string bus_address;        ///< "0000:3b:00.0"; "" where there is none
};

/// A connection of two devices of one backend, the same in both directions.
struct Link {
  int device_a = 0;  ///< the smaller index
  int device_b = 0;
  std::int64_t bytes_per_s = 0;  ///< in each direction
  std::int64_t latency_ns = 0;
};

struct OpSupport {
  bool is_supported = false;
  std::string reason;          ///< why not
  double cost_ns = 0;          ///< rough; 0 if unknown
  bool is_generic = false;     ///< a generic kernel runs it, much slower than one of its own
  bool native_halves = false;  ///< 16-bit floats cost it no more than 32-bit ones
  ir::Layout preferred_layout = ir::Layout::kRowMajor;
};

/// The form that a backend brings a constant into ahead of time.
struct Packing {
  std::int64_t size_bytes = 0;
  std::string format;  ///< equal text = interchangeable bytes
};

using Options = std::vector<std::pair<std::string, std::string>>;

/// Immutable; safe across threads. Objects created from it keep it alive.
class Backend {
 public:
  /// Opens a plug-in file, shakes hands and creates its backend.
  /// Fails: kNotFound            the file cannot be opened
  ///        kFailedPrecondition  it is no plug-in, has another ABI major, another name than its
  ///        file,
  ///                             or an incomplete table
  ///        any                  what its `create` answers
  static Result<std::shared_ptr<const Backend>> load(const std::filesystem::path& path,
                                                     const Options& options = {});
  /// As above for a plug-in whose code is part of the process, which has no path.
  static Result<std::shared_ptr<const Backend>> create(const std::string& name,
                                                       sluice_backend_entry_fn entry);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::filesystem::path& path() const { return path_; }
  /// What packed constants depend on beyond name and version: "avx512".
  const std::string& packing_key() const { return packing_key_; }
  /// In order of device index; never empty.
  std::span<const DeviceInfo> devices() const { return devices_; }
  /// Whether command lists copy between memory of two of its devices.
  bool copies_between_devices() const { return api_->abi_minor >= 1; }
  /// Between devices, as the plug-in's extension "sluice.topology/1" tells; empty without it.
  std::span<const Link> links() const { return links_; }

  /// The table of an optional extension of the plug-in, which lives as long as this; null if there
  /// is no extension of that name. Its type is that of the header that the name belongs to, and its
  /// first field the `struct_size`: compare that before a later field is read.
  Result<const void*> find_extension(const char* name) const;

  /// As above; null also for a table that is shorter than `Table`, of a plug-in that was built
  /// against an older header.
  template <typename Table>
  Result<const Table*> find_table(const char* name) const {
    const auto* table = static_cast<const Table*>(SLUICE_TRY(find_extension(name)));
    return table != nullptr && table->struct_size >= sizeof(Table) ? table : nullptr;
  }

  /// Whether the backend has a kernel for `op`. Fails if the query itself fails.
  Result<OpSupport> query(const Op& op) const;

  /// How the constant `input` of `op` is packed; nullopt if kernels use it unpacked.
  Result<std::optional<Packing>> query_packing(const Op& op, int input) const;
  /// Requires: `packed` has the size that `query_packing` returned.
  Status pack(const Op& op, int input, std::span<std::byte> packed) const;

  // For the owners of C objects in this folder.
  const sluice_backend_api& api() const { return *api_; }
  sluice_backend* handle() const { return handle_; }

 private:
  Backend(std::filesystem::path path, std::optional<DynamicLibrary> library,
          const sluice_backend_api* api);
  Status start(const Options& options);
  Status read_devices();
  Status read_links();

  std::filesystem::path path_;
  std::optional<DynamicLibrary> library_;  ///< none: code of the process
  const sluice_backend_api* api_;
  sluice_backend* handle_ = nullptr;
  std::string name_;
  std::string version_;
  std::string packing_key_;
  std::vector<DeviceInfo> devices_;
  std::vector<Link> links_;
};

}  // namespace sluice::backend
