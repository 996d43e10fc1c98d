#ifndef SLUICE_EXTENSIONS_EVENTS_H_
#define SLUICE_EXTENSIONS_EVENTS_H_
#include "sluice/backend.h"
#define SLUICE_EVENTS "sluice.events/1"
typedef struct sluice_event sluice_event;
typedef struct sluice_events {
  uint32_t struct_size;
  sluice_code (*event_create)(sluice_backend* backend, sluice_event** event,
                              sluice_message* message);
  void (*event_destroy)(sluice_event* event);
  sluice_code (*event_record)(sluice_event* event, sluice_stream* stream, sluice_message* message);
  sluice_code (*stream_wait_event)(sluice_stream* stream, sluice_event* event,
                                   sluice_message* message);
} sluice_events;
#endif
