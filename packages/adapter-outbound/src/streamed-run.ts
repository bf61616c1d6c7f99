import {
  isJsonObject,
  type PartEvent,
  type RunOutcome,
  type RunRequest,
} from '@org/agent-messaging-core/runtime'
import { ENDED_EARLY } from './fault.js'
import { eventData } from './models/event-stream.js'
import { parsedJson } from './models/model-error.js'
import type { HttpStream } from './models/streamed-response.js'
import { answerIn, unreachedRun, unreadRun } from './run-outcome.js'

type RunReader = {
  readonly emit: RunRequest['emit']
  /** Limits the characters of one event. */
  readonly maxEventLength: number
  readonly signal: AbortSignal
}

/** Emits the chunks and parts in the events of an agent, up to its answer. Skips other events. */
export async function streamedRun(
  { body }: HttpStream,
  { emit, maxEventLength, signal }: RunReader,
): Promise<RunOutcome> {
  try {
    for await (const { event, data, isEnded } of eventData(body, maxEventLength)) {
      const json = parsedJson(data)
      // The stream was cut within the answer.
      if (event === 'answer' && json === undefined && !isEnded) break
      if (event === 'answer') return answerIn(json)
      const { text, part } = isJsonObject(json) ? json : {}
      if (event === 'chunk' && typeof text === 'string') emit(text)
      // The service checks the part, and reports one that is not valid.
      if (event === 'part') emit((isJsonObject(part) ? part : {}) as PartEvent)
    }
    return unreachedRun(ENDED_EARLY)
  } catch (thrown) {
    const unread = unreadRun(thrown, signal)
    if (unread) return unread
    throw thrown
  }
}
