// The one symbol that libsluice_client shows.
#include "client/remote_runtime.h"
#include "sluice/sluice.h"

extern "C" SLUICE_API const sluice::api::ClientTable* sluice_client_entry() {
  static const sluice::api::ClientTable table = {SLUICE_VERSION_TEXT, &sluice::client::connect};
  return &table;
}
