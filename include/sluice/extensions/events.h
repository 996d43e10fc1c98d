/* The extension "sluice.events/1" of a plug-in: order between streams without a wait of the host.
 *
 * Conventions as in sluice/backend.h. One thread at a time uses an event and the streams that it
 * is recorded on or waited for. Streams may be of any groups of the backend. */
#ifndef SLUICE_EXTENSIONS_EVENTS_H_
#define SLUICE_EXTENSIONS_EVENTS_H_

#include "sluice/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_EVENTS "sluice.events/1"

typedef struct sluice_event sluice_event;

typedef struct sluice_events {
  uint32_t struct_size;
  sluice_code (*event_create)(sluice_backend* backend, sluice_event** event,
                              sluice_message* message);
  /* Waits of streams for the event's last recording stay. */
  void (*event_destroy)(sluice_event* event);
  /* The event happens when all work submitted to the stream so far is done, failed work included.
   * A later recording replaces this one for later waits. */
  sluice_code (*event_record)(sluice_event* event, sluice_stream* stream, sluice_message* message);
  /* Work submitted to the stream from now on starts after the event's last recording has happened.
   * No effect if the event was never recorded. */
  sluice_code (*stream_wait_event)(sluice_stream* stream, sluice_event* event,
                                   sluice_message* message);
} sluice_events;

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_EXTENSIONS_EVENTS_H_ */
