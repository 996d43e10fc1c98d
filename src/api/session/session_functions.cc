// The functions of sluice/session.h for sessions.
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "api/last_error.h"
#include "api/read_options.h"
#include "api/tensors.h"
#include "backend/registry.h"
#include "package/package.h"
#include "session/session.h"
#include "sluice/session.h"

namespace sluice::api {

// Members of sluice_session need linkage, because sluice_session itself has it.
struct TensorText {
  std::string name;
  std::string type;
  sluice_program_tensor tensor = {};
};

namespace {

using session::Program;

static_assert(static_cast<int>(Program::kLoad) == SLUICE_PROGRAM_LOAD);
static_assert(static_cast<int>(Program::kSave) == SLUICE_PROGRAM_SAVE);
static_assert(static_cast<int>(session::TensorRole::kConstant) == SLUICE_TENSOR_CONSTANT);
static_assert(static_cast<int>(session::TensorRole::kOutput) == SLUICE_TENSOR_OUTPUT);

/// Points into `text`, which must not move afterwards.
void describe(const session::ProgramTensor& tensor, TensorText& text) {
  text.name = tensor.name;
  text.type = tensor.type.to_string();
  text.tensor = {text.name.c_str(), text.type.c_str(), static_cast<std::int32_t>(tensor.role),
                 static_cast<std::int32_t>(tensor.program())};
}

Result<Program> program_of(std::int32_t number) {
  if (number >= SLUICE_PROGRAM_LOAD && number <= SLUICE_PROGRAM_SAVE) {
    return static_cast<Program>(number);
  }
  return invalid_argument("program is {}; expected 0 (load), 1 (main) or 2 (save)", number);
}

/// The status that a user's function returns; an exception that leaves it becomes one, too.
Status call_user(sluice_tensor_callback function, void* user_data, const terms::TensorView& view) {
  const sluice_array array = array_of(view);
  std::int32_t code = SLUICE_OK;
  try {
    // A function written in C++ may throw; no exception crosses the C interface.
    code = function(user_data, &array);
  } catch (...) {
    return internal_error("the function threw an exception");
  }
  if (code == SLUICE_OK) return ok_status();
  // A program may return any number; one that is no code becomes UNKNOWN, and the text has it.
  const bool is_known = code > 0 && code <= static_cast<std::int32_t>(Code::kUnauthenticated);
  return make_error(is_known ? static_cast<Code>(code) : Code::kUnknown,
                    "the function returned status {}", code);
}

session::BindPredicate predicate_of(const sluice_session_options& options) {
  if (options.binds_stored == nullptr) return session::bind_all();
  return [function = options.binds_stored,
          user_data = options.user_data](const session::ProgramTensor& tensor) {
    // Made anew for each question: the predicate may ask before the handle's own list exists.
    TensorText text;
    describe(tensor, text);
    return function(user_data, &text.tensor) != 0;
  };
}

}  // namespace
}  // namespace sluice::api

struct sluice_session {
  // Destroyed after the session, whose kernels are the plug-ins'.
  sluice::backend::BackendRegistry plugins;
  std::unique_ptr<sluice::session::Session> session;
  // A deque: the C structs point into their own element, which must not move as the list grows.
  std::deque<sluice::api::TensorText> tensors;
};

namespace sluice::api {
namespace {

Result<std::unique_ptr<sluice_session>> create_session(const char* path,
                                                       const sluice_session_options& options) {
  if (path == nullptr) return invalid_argument("the path is null");
  backend::Discovery discovery;
  if (options.backend_dir != nullptr) discovery.paths.emplace_back(options.backend_dir);
  session::SessionOptions wanted;
  wanted.load.num_threads = options.num_threads;
  if (options.has_seed != 0) wanted.load.random = exec::RandomSource::create(options.seed);
  if (options.stored_folder != nullptr) {
    wanted.stored = SLUICE_TRY(session::map_npy_folder(options.stored_folder));
  }
  wanted.binds_stored = predicate_of(options);
  auto created = std::make_unique<sluice_session>();
  created->plugins = backend::BackendRegistry::discover(discovery);
  created->session = SLUICE_TRY(session::Session::create(SLUICE_TRY(package::read_package(path)),
                                                         system_clock(), std::move(wanted)));
  // Only now: describe() stores pointers into elements of the handle's deque.
  for (const session::ProgramTensor& tensor : created->session->tensors()) {
    describe(tensor, created->tensors.emplace_back());
  }
  return created;
}

Status run(sluice_session& handle, std::int32_t number) {
  switch (SLUICE_TRY(program_of(number))) {
    case Program::kLoad: return handle.session->load(handle.plugins);
    case Program::kMain: return handle.session->run_main();
    case Program::kSave: return handle.session->run_save();
  }
  return internal_error("no such program");
}

}  // namespace
}  // namespace sluice::api

using sluice::Status;
using sluice::api::guard;
using sluice::api::null_argument;

int32_t sluice_session_create(const char* path, const sluice_session_options* options,
                              sluice_session** session) {
  return guard([&]() -> Status {
    if (session == nullptr) return null_argument("the session or an argument");
    *session = nullptr;
    const auto known = sluice::api::read_options(options);
    *session = SLUICE_TRY(sluice::api::create_session(path, known)).release();
    return sluice::ok_status();
  });
}

void sluice_session_free(sluice_session* session) { delete session; }

size_t sluice_session_num_tensors(const sluice_session* session) {
  return session == nullptr ? 0 : session->tensors.size();
}

const sluice_program_tensor* sluice_session_tensor(const sluice_session* session, size_t index) {
  if (session == nullptr || index >= session->tensors.size()) return nullptr;
  return &session->tensors[index].tensor;
}

int32_t sluice_session_bind_source(sluice_session* session, const char* name,
                                   const sluice_array* array) {
  return guard([&]() -> Status {
    if (session == nullptr || name == nullptr || array == nullptr)
      return null_argument("the session or an argument");
    return session->session->bind_source(name, SLUICE_TRY(sluice::api::view_of(*array)));
  });
}

int32_t sluice_session_bind_provider(sluice_session* session, const char* name,
                                     sluice_tensor_callback provider, void* user_data) {
  return guard([&]() -> Status {
    if (session == nullptr || name == nullptr || provider == nullptr)
      return null_argument("the session or an argument");
    return session->session->bind_source(
        name, sluice::session::DataProvider([=](const sluice::terms::TensorView& target) {
          return sluice::api::call_user(provider, user_data, target);
        }));
  });
}

int32_t sluice_session_bind_sink(sluice_session* session, const char* name, void* data,
                                 int64_t capacity_bytes) {
  return guard([&]() -> Status {
    if (session == nullptr || name == nullptr || data == nullptr || capacity_bytes < 0) {
      return null_argument("the session or an argument");
    }
    return session->session->bind_sink(name, sluice::terms::OutputMemory{data, capacity_bytes});
  });
}

int32_t sluice_session_bind_consumer(sluice_session* session, const char* name,
                                     sluice_tensor_callback consumer, void* user_data) {
  return guard([&]() -> Status {
    if (session == nullptr || name == nullptr || consumer == nullptr)
      return null_argument("the session or an argument");
    return session->session->bind_sink(
        name, sluice::session::DataConsumer([=](const sluice::terms::TensorView& source) {
          return sluice::api::call_user(consumer, user_data, source);
        }));
  });
}

int32_t sluice_session_verify(const sluice_session* session, int32_t program) {
  return guard([&]() -> Status {
    if (session == nullptr) return null_argument("the session or an argument");
    return session->session->verify(SLUICE_TRY(sluice::api::program_of(program)));
  });
}

int32_t sluice_session_run(sluice_session* session, int32_t program) {
  return guard([&]() -> Status {
    if (session == nullptr) return null_argument("the session or an argument");
    return sluice::api::run(*session, program);
  });
}
