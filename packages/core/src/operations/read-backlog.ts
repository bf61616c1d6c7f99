import { safeTry, ok } from 'neverthrow'
import type { DeliveryBacklog } from '../ports/delivery-store.js'
import type { MessageBacklog } from '../ports/message-store.js'
import type { With } from './context.js'

/** The open work of all projects, for every process. */
export type Backlog = { readonly messages: MessageBacklog; readonly deliveries: DeliveryBacklog }

export const readBacklog = (d: With<'deliverySender'>) => () =>
  safeTry(async function* () {
    const now = d.clock.now()
    const messages = yield* d.storage.messages.backlog(now)
    const deliveries = yield* d.storage.deliveries.backlog(now, d.deliverySender.limited)
    return ok({ messages, deliveries })
  })
