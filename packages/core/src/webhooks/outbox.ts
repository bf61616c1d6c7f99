import type { AnswerParts } from '../domain/messages/part.js'
import { freezeEvent, type EventPayload } from '../domain/webhooks/event.js'
import { bodyWithParts } from '../domain/webhooks/own-body.js'
import type { TraceContext } from '../domain/messages/trace.js'
import type { Platform } from '../platform.js'
import type { Outgoing } from '../ports/delivery-store.js'
import type { Admission, DeliverySender } from './delivery-sender.js'

type Outbox = Pick<Platform, 'clock' | 'ids' | 'publicUrl'> & {
  readonly deliverySender: DeliverySender
}

/** The claim is the delivery sender's admission: `take` gets it back after the commit. */
type OutgoingEvents = Omit<Outgoing, 'claim'> & { readonly claim?: Admission | undefined }

/**
 * Events ready to commit. Their deliveries are born claimed if the delivery sender has room for
 * them. `parts` are those of the answer that the events report.
 */
export function outgoingOf(
  { clock, ids, publicUrl, deliverySender }: Outbox,
  payloads: readonly EventPayload[],
  projectId: string,
  trace?: TraceContext,
  parts?: AnswerParts,
): OutgoingEvents {
  const claim = deliverySender.admit()
  const now = clock.now()
  const serviceUrl = publicUrl?.()
  const events = payloads.map((payload) => {
    const event = freezeEvent(payload, ids.next(), projectId, now, serviceUrl)
    const traced = trace ? { ...event, trace } : event
    const partsBody = parts && bodyWithParts(event, parts)
    return partsBody === undefined ? traced : { ...traced, partsBody }
  })
  return {
    events,
    nextDeliveryId: () => ids.next(),
    claim,
  }
}
