import { safeTry, ok } from 'neverthrow'
import type { DeliveryBacklog } from '../ports/delivery-store.js'
import type { MessageBacklog } from '../ports/message-store.js'
import type { Needs } from './context.js'
import { chain } from '../pacing/chain.js'

/** The open work of a project or of all projects, for every process. */
export type Backlog = { readonly messages: MessageBacklog; readonly deliveries: DeliveryBacklog }

export const readBacklog =
  (d: Needs<'clock' | 'storage' | 'deliverySender'>) =>
  ({ projectId }: { readonly projectId?: string | undefined }) =>
    safeTry(async function* () {
      const now = d.clock.now()
      const messages = yield* chain(d.storage.messages.backlog(now, projectId))
      const deliveries = yield* chain(
        d.storage.deliveries.backlog(now, d.deliverySender.limited, projectId),
      )
      return ok({ messages, deliveries })
    })
