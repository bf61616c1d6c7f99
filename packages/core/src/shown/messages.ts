import type { PartEvent } from '../domain/messages/part.js'
import type { Story } from '../domain/messages/story.js'
import { shownMessage, type ShownMessage } from '../domain/messages/shown-message.js'
import type { FoundMessage } from '../messages/read-messages.js'
import type { StreamEvent } from '../messages/stream/stream-cursor.js'
import { shownDelivery, type ShownDelivery } from './deliveries.js'

/** A message of a search, with the newest 100 deliveries of its events. */
export type ShownFoundMessage = ShownMessage & {
  readonly deliveries: readonly Pick<
    ShownDelivery,
    'id' | 'webhookId' | 'event' | 'status' | 'attemptCount'
  >[]
}

export const shownFoundMessage = ({ message, deliveries }: FoundMessage): ShownFoundMessage => ({
  ...shownMessage(message),
  deliveries: deliveries.map((delivery) => {
    const { id, webhookId, event, status, attemptCount } = shownDelivery(delivery)
    return { id, webhookId, event, status, attemptCount }
  }),
})

/** An event of a message's stream. The last event is `message` and contains the whole answer. */
export type ShownStreamEvent = {
  /** Give it as `lastEventId` to continue after this event. */
  readonly id: string
} & (
  | {
      /** A state with a new attempt makes the pieces of earlier attempts invalid. */
      readonly event: 'state'
      readonly state: ShownMessage['state']
      readonly attempt: number
    }
  | {
      readonly event: 'chunk'
      readonly attempt: number
      /** The UTF-16 units before this piece. A gap means that pieces were lost. */
      readonly offset: number
      readonly text: string
    }
  | {
      readonly event: 'part'
      readonly attempt: number
      /** The UTF-16 units of text before this part event. */
      readonly offset: number
      /** The part events of the attempt before it. A gap means that events were lost. */
      readonly index: number
      readonly part: PartEvent
    }
  | { readonly event: 'message'; readonly message: ShownMessage }
)

export function shownStreamEvent(
  streamed: Exclude<StreamEvent, { kind: 'heartbeat' }>,
): ShownStreamEvent {
  const { kind: event, id } = streamed
  switch (event) {
    case 'state':
      return { event, id, state: streamed.message.state.kind, attempt: streamed.message.attempt }
    case 'chunk':
      return { event, id, attempt: streamed.attempt, offset: streamed.offset, text: streamed.text }
    case 'part': {
      const { attempt, offset, index, part } = streamed
      return { event, id, attempt, offset, index, part }
    }
    case 'message':
      return { event, id, message: shownMessage(streamed.message) }
  }
}

/** The story of a message or of a delivery. */
export const shownStory = ({ story }: { readonly story: Story }): Story => story
