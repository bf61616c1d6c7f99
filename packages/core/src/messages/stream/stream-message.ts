import type { ByAccess } from '../../domain/access/access.js'
import { ok, safeTry } from 'neverthrow'
import { fail } from '../../domain/values/fail.js'
import { isFinal } from '../../domain/messages/message.js'
import { readPosition } from '../../domain/messages/stream-position.js'
import type { Needs } from '../context.js'
import { getMessage, type GetMessageError, type MessageReads } from '../read-messages.js'

export type StreamMessageInput = ByAccess & {
  readonly projectId: string
  /** The agent's id or name. */
  readonly agent: string
  /** The id of the message. */
  readonly messageId: string
  /** The id of the last event that the caller has seen. The stream continues behind it. */
  readonly lastEventId?: string | undefined
}
export type StreamMessageError = GetMessageError | { readonly kind: 'too_many_streams' }

export const streamMessage =
  (context: MessageReads & Needs<'answerStreams'>) =>
  ({ lastEventId = '', ...ref }: StreamMessageInput) =>
    safeTry(async function* () {
      const message = yield* getMessage(context)(ref)
      const { attempt, state } = message
      const after = readPosition(lastEventId)
      const hasSeenAll = after?.offset === state.kind && after.attempt === attempt
      if (isFinal(state) && hasSeenAll) return ok(undefined)
      const stream = context.answerStreams.open(message, after, ref.access)
      return stream ? ok(stream) : fail('too_many_streams')
    })
