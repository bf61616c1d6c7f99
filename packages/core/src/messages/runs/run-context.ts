import type { Platform } from '../../platform.js'
import type { DeliverySender } from '../../webhooks/delivery-sender.js'
import type { AnswerStreams } from '../stream/answer-streams.js'

/** Needed to run a message and to record its outcome. */
export type RunContext = Platform & {
  readonly deliverySender: DeliverySender
  readonly answerStreams: AnswerStreams
}
