import { freezeEvent, type EventPayload } from '../domain/event.js'
import type { TraceContext } from '../domain/trace.js'
import type { Platform } from '../platform.js'
import type { Outgoing } from '../ports/delivery-store.js'
import type { Admission, DeliverySender } from './delivery-sender.js'

type Outbox = Pick<Platform, 'clock' | 'ids'> & { readonly deliverySender: DeliverySender }

/** The claim is the delivery sender's admission: `take` gets it back after the commit. */
type OutgoingEvent = Omit<Outgoing, 'claim'> & { readonly claim?: Admission }

/**
 * An event ready to commit. Its deliveries are born claimed if the delivery sender has room for
 * them.
 */
export function outgoingOf(
  { clock, ids, deliverySender }: Outbox,
  payload: EventPayload,
  projectId: string,
  trace?: TraceContext,
): OutgoingEvent {
  const claim = deliverySender.admit()
  const event = freezeEvent(payload, ids.next(), projectId, clock.now())
  return {
    event: { ...event, ...(trace && { trace }) },
    nextDeliveryId: () => ids.next(),
    ...(claim && { claim }),
  }
}
