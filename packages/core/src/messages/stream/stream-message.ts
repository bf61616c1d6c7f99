import { ok, safeTry, type ResultAsync } from 'neverthrow'
import { fail } from '../../domain/fail.js'
import { isFinal } from '../../domain/message.js'
import { readPosition } from '../../domain/stream-position.js'
import type { AnswerStream } from './stream-seat.js'
import type { MessagesContext } from '../context.js'
import { getMessage, type GetMessageError } from '../read-messages.js'

export type StreamMessageInput = {
  readonly projectId: string
  /** The agent's id or name. */
  readonly agent: string
  readonly messageId: string
  /** The id of the last event that the caller has seen: the stream goes on behind it. */
  readonly lastEventId?: string | undefined
}
export type StreamMessageError = GetMessageError | { readonly kind: 'too_many_streams' }

/** Follows a message until it is final; undefined when the caller has seen all of it. The message does not notice who follows it. */
export const streamMessage =
  (d: MessagesContext) =>
  ({
    lastEventId = '',
    ...ref
  }: StreamMessageInput): ResultAsync<AnswerStream | undefined, StreamMessageError> =>
    safeTry(async function* () {
      const message = yield* getMessage(d)(ref)
      const after = readPosition(lastEventId)
      if (
        isFinal(message.state) &&
        after?.offset === message.state.kind &&
        after.attempt === message.attempt
      )
        return ok(undefined)
      const stream = d.answerStreams.open(message, after)
      return stream ? ok(stream) : fail('too_many_streams')
    })
