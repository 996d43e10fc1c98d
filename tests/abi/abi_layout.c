/* The C tables as C11, and where their fields lie on a 64-bit machine. What is written here never
 * changes within a major version; a minor one adds lines. */
#include <stddef.h>

#include "sluice/backend.h"
#include "sluice/events.h"
#include "sluice/input_alignment.h"
#include "sluice/sluice.h"
#include "sluice/step_times.h"
#include "sluice/topology.h"
#include "sluice/variants.h"
#include "sluice/virtual_time.h"

_Static_assert(sizeof(void*) == 8, "these offsets are of 64-bit machines");

#define AT(type, field, offset) \
  _Static_assert(offsetof(type, field) == (offset), #type "." #field " moved")

AT(sluice_tensor, data, 0);
AT(sluice_tensor, size_bytes, 8);
AT(sluice_tensor, element_type, 16);
AT(sluice_tensor, layout, 20);
AT(sluice_tensor, rank, 24);
AT(sluice_tensor, dims, 32);
_Static_assert(sizeof(sluice_tensor) == 40, "sluice_tensor is in arrays: its size is fixed");

AT(sluice_text, size_bytes, 8);
_Static_assert(sizeof(sluice_text) == 16, "sluice_text is an element of tensors");
AT(sluice_text_pool, allocate, 8);

AT(sluice_attribute, name, 0);
AT(sluice_attribute, kind, 8);
AT(sluice_attribute, count, 16);
AT(sluice_attribute, ints, 24);
AT(sluice_attribute, floats, 32);
AT(sluice_attribute, texts, 40);
AT(sluice_attribute, tensor, 48);
_Static_assert(sizeof(sluice_attribute) == 56, "sluice_attribute is in arrays");

AT(sluice_operand, is_constant, 40);
AT(sluice_operand, packed, 48);
AT(sluice_operand, packed_bytes, 56);
_Static_assert(sizeof(sluice_operand) == 64, "sluice_operand is in arrays");

AT(sluice_body_step, version, 8);
AT(sluice_body_step, inputs, 16);
AT(sluice_body_step, attributes, 32);
_Static_assert(sizeof(sluice_body_step) == 40, "sluice_body_step is in arrays");

AT(sluice_argument, texts, 4);
AT(sluice_argument, address, 8);
AT(sluice_argument, offset_bytes, 16);
AT(sluice_argument, actual_dims, 24);
_Static_assert(sizeof(sluice_argument) == 32, "sluice_argument is in arrays");

AT(sluice_op, version, 4);
AT(sluice_op, domain, 8);
AT(sluice_op, name, 24);
AT(sluice_op, num_inputs, 32);
AT(sluice_op, inputs, 48);
AT(sluice_op, body, 80);

AT(sluice_op_support, supported, 4);
AT(sluice_op_support, cost_ns, 8);
AT(sluice_op_support, preferred_layout, 16);
AT(sluice_op_support, is_generic, 20);
AT(sluice_packing, size_bytes, 8);
AT(sluice_packing, format, 16);
AT(sluice_device_info, kind, 8);
AT(sluice_device_info, name, 40);
AT(sluice_device_info, num_cores, 136);
AT(sluice_device_info, memory_bytes, 144);
AT(sluice_device_info, bus_address, 152);
AT(sluice_kernel_info, in_place_inputs, 4);

AT(sluice_backend_api, abi_major, 4);
AT(sluice_backend_api, abi_minor, 6);
AT(sluice_backend_api, name, 8);
AT(sluice_backend_api, packing_key, 24);
AT(sluice_backend_api, create, 32);
AT(sluice_backend_api, op_query, 64);
AT(sluice_backend_api, kernel_create, 88);
AT(sluice_backend_api, memory_allocate, 104);
AT(sluice_backend_api, group_create, 120);
AT(sluice_backend_api, stream_create, 136);
AT(sluice_backend_api, stream_wait, 152);
AT(sluice_backend_api, list_create, 160);
AT(sluice_backend_api, list_submit, 200);
AT(sluice_backend_api, find_extension, 208); /* the table of 1.0 ended here */
_Static_assert(sizeof(sluice_backend_api) == 216, "the table of 1.1");

AT(sluice_events, event_create, 8);
AT(sluice_events, stream_wait_event, 32);
_Static_assert(sizeof(sluice_events) == 40, "the table of sluice.events/1");

AT(sluice_virtual_time, now_ns, 8);
AT(sluice_virtual_time, reset_device, 64);
_Static_assert(sizeof(sluice_virtual_time) == 80, "the table of sluice.virtual_time/1");

AT(sluice_link, device_a, 4);
AT(sluice_link, bytes_per_s, 16);
AT(sluice_topology, describe_link, 16);
_Static_assert(sizeof(sluice_topology) == 24, "the table of sluice.topology/1");

AT(sluice_device_reset, reset, 8);
_Static_assert(sizeof(sluice_device_reset) == 16, "the table of sluice.device_reset/1");

/* sluice/step_times.h */
AT(sluice_step_time, duration_ns, 32);
_Static_assert(sizeof(sluice_step_time) == 40, "a step of sluice.step_times/1");
AT(sluice_step_times, observe, 8);
_Static_assert(sizeof(sluice_step_times) == 16, "the table of sluice.step_times/1");

/* sluice/input_alignment.h */
AT(sluice_input_alignment, alignment_bytes, 4);
_Static_assert(sizeof(sluice_input_alignment) == 8, "the table of sluice.input_alignment/1");

/* sluice/variants.h */
AT(sluice_variants, list, 8);
AT(sluice_variants, run_steadily, 16);
_Static_assert(sizeof(sluice_variants) == 24, "the table of sluice.variants/1");
