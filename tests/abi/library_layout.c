/* Prints the size of every struct of the public headers of libsluice: "NAME BYTES". */
#include <stdio.h>

#include "sluice/operators.h"
#include "sluice/request.h"
#include "sluice/session.h"
#include "sluice/sluice.h"
#include "sluice/statistics.h"

#define SIZE(name) printf("%s %zu\n", #name, sizeof(name))

int main(void) {
  SIZE(sluice_array);
  SIZE(sluice_code_count);
  SIZE(sluice_combine_options);
  SIZE(sluice_connect_options);
  SIZE(sluice_core);
  SIZE(sluice_device);
  SIZE(sluice_device_list);
  SIZE(sluice_exchanged_input);
  SIZE(sluice_fetch_options);
  SIZE(sluice_footprint);
  SIZE(sluice_function_options);
  SIZE(sluice_graph_options);
  SIZE(sluice_group);
  SIZE(sluice_group_list);
  SIZE(sluice_group_options);
  SIZE(sluice_health);
  SIZE(sluice_latency);
  SIZE(sluice_load_options);
  SIZE(sluice_loaded_model);
  SIZE(sluice_loaded_model_list);
  SIZE(sluice_model_statistics);
  SIZE(sluice_named_array);
  SIZE(sluice_open_options);
  SIZE(sluice_operator);
  SIZE(sluice_operator_call);
  SIZE(sluice_operator_types);
  SIZE(sluice_output_memory);
  SIZE(sluice_profile);
  SIZE(sluice_profile_options);
  SIZE(sluice_program_tensor);
  SIZE(sluice_queue_options);
  SIZE(sluice_reply_detail_info);
  SIZE(sluice_request_options);
  SIZE(sluice_run_options);
  SIZE(sluice_runtime_options);
  SIZE(sluice_session_options);
  SIZE(sluice_shared_memory);
  SIZE(sluice_span);
  SIZE(sluice_tensor_offer);
  SIZE(sluice_tensor_spec);
  SIZE(sluice_type);
  return 0;
}
