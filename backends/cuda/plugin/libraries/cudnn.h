// cuDNN's functions as pointers, filled from the library where it is installed, and its
// descriptors.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "plugin/libraries/cudnn_types.h"
#include "plugin/libraries/library_file.h"

namespace sluice::cuda {

/// One pointer per row of SLUICE_CUDNN_ENTRIES, all set or all null. Safe across threads, as long
/// as each uses a handle of its own.
struct Cudnn {
#define SLUICE_CUDA_ROW(member, name, result, arguments) result(*member) arguments = nullptr;
  SLUICE_CUDNN_ENTRIES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
};

/// Opens the file that `named` or the variable SLUICE_CUDA_CUDNN names, or else the first of
/// libcudnn_graph.so.9 and libcudnn.so.9 that is found.
/// Fails: UNAVAILABLE  there is none, it lacks a function, or it is older than 9.0
Status open_cudnn(const std::string& named, Cudnn* table);

/// "cuDNN 9.19.0 (/usr/lib/libcudnn_graph.so.9)".
std::string name_of(const Cudnn& table);

/// The status of a call: the library's name and its words for the result.
Status check(const Cudnn& table, DnnStatus status, const char* what);

/// A descriptor. The first failure of its functions is kept, and ends what follows.
class DnnObject {
 public:
  DnnObject(const Cudnn& table, DnnKind kind) : table_(&table) {
    keep(table.descriptor_create(kind, &descriptor_), "making a descriptor");
  }
  DnnObject(DnnObject&& other) noexcept
      : table_(other.table_),
        descriptor_(std::exchange(other.descriptor_, nullptr)),
        status_(std::move(other.status_)) {}
  DnnObject& operator=(DnnObject&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(status_, other.status_);
    return *this;
  }
  ~DnnObject() {
    if (descriptor_ != nullptr) table_->descriptor_destroy(descriptor_);
  }

  template <typename T>
  DnnObject& set(DnnAttribute name, DnnAttributeType type, const T& value) {
    return set_all(name, type, std::span<const T>(&value, 1));
  }
  template <typename T>
  DnnObject& set_all(DnnAttribute name, DnnAttributeType type, std::span<const T> values) {
    if (!status_.is_ok()) return *this;
    keep(table_->descriptor_set(descriptor_, name, type, static_cast<std::int64_t>(values.size()),
                                values.data()),
         "setting an attribute");
    return *this;
  }
  DnnObject& set(DnnAttribute name, const DnnObject& other) {
    return set(name, DnnAttributeType::kDescriptor, other.descriptor_);
  }
  DnnObject& finalize(const char* what) {
    if (status_.is_ok()) keep(table_->descriptor_finalize(descriptor_), what);
    return *this;
  }

  const Status& status() const { return status_; }
  DnnDescriptor get() const { return descriptor_; }

 private:
  void keep(DnnStatus status, const char* what) {
    if (status_.is_ok()) status_ = check(*table_, status, what);
  }

  const Cudnn* table_;
  DnnDescriptor descriptor_ = nullptr;
  Status status_;
};

}  // namespace sluice::cuda
