// Which operations a library of NVIDIA computes, and what that takes on each device.
#pragma once

#include <map>
#include <mutex>

#include "plugin/libraries/convolution_call.h"
#include "plugin/libraries/library_call.h"
#include "plugin/libraries/options.h"
#include "plugin/libraries/product_call.h"

namespace sluice::cuda {

/// The libraries of one backend. They are opened when an operation first asks for one. Safe across
/// threads.
class Libraries {
 public:
  /// `driver` outlives the libraries and their calls.
  Libraries(const DriverTable& driver, LibraryOptions options)
      : driver_(driver), options_(std::move(options)) {}
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  /// Plans the operation as a call of a library. The call runs once on memory of its own, so that
  /// its code is loaded and its failures are known. `num_steps` is the number of the body's first
  /// steps that the call computes.
  /// Requires, as the functions below: the device's context is current.
  /// Fails: UNIMPLEMENTED  no library is used here, or none computes the operation
  ///        or as the library and the driver
  Status plan(CuDevice device, const sluice_op& op, int* num_steps,
              std::unique_ptr<const LibraryCall>* call);

  /// Makes what calls need of a stream and is not there yet.
  /// Fails: as the driver and cuDNN
  Status prepare(CuStream stream, const LibraryNeeds& needs, LibraryStream* made) const;
  /// Requires: the stream is idle.
  void release(LibraryStream* made) const;
  /// Ends the libraries on a device. Its calls and streams are gone.
  void close(CuDevice device);

 private:
  /// The libraries on one device; plans are made one after the other.
  struct Device {
    std::mutex mutex;
    LtDevice cublaslt;
    DnnDevice cudnn;
  };

  Device& device_of(CuDevice device);
  Status open_cublaslt_on(LtDevice* opened);
  Status open_cudnn_on(DnnDevice* opened);

  const DriverTable& driver_;
  const LibraryOptions options_;
  std::once_flag cublaslt_once_, cudnn_once_;
  Status cublaslt_status_, cudnn_status_;
  CublasLt cublaslt_;
  Cudnn cudnn_;
  std::mutex mutex_;
  std::map<CuDevice, Device> devices_;  // guarded by mutex_; a map never moves its elements
};

}  // namespace sluice::cuda
