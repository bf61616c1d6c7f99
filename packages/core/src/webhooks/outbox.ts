import { freezeEvent, type EventPayload } from '../domain/event.js'
import type { TraceContext } from '../domain/trace.js'
import type { Platform } from '../platform.js'
import type { Outgoing } from '../ports/delivery-store.js'
import type { Admission, DeliverySender } from './delivery-sender.js'

/** With the delivery worker's own claim, which it wants to see again. */
type Admitted = Omit<Outgoing, 'claim'> & { readonly claim?: Admission }

/** An event ready to be committed; its deliveries are born claimed if the delivery worker has room for them. */
export function outgoingOf(
  d: Pick<Platform, 'clock' | 'ids'> & { readonly deliverySender: DeliverySender },
  payload: EventPayload,
  projectId: string,
  trace?: TraceContext,
): Admitted {
  const claim = d.deliverySender.admit()
  const event = freezeEvent(payload, d.ids.next(), projectId, d.clock.now())
  return {
    event: { ...event, ...(trace && { trace }) },
    nextDeliveryId: () => d.ids.next(),
    ...(claim && { claim }),
  }
}
