import { errorOf, type Message } from '@org/agent-messaging-core'
import type { EndpointError } from '../errors.js'
import { completionId } from '../ids.js'
import { questionOf } from '../question.js'
import { completionUsage } from '../usage.js'

/** The fields of a completion and of its chunks. `model` is the agent's name. */
export const headOf = ({ id, createdAt }: Message, model: string) => ({
  id: completionId(id),
  created: Math.floor(createdAt / 1_000),
  model,
})

export function completionBody(message: Message, model: string, answer: string) {
  const usage = completionUsage(message)
  return {
    ...headOf(message, model),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answer, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    ...(usage && { usage }),
  }
}

/** Returns the text of the answer, or the question that the agent waits for. */
export function answerOf(message: Message): string | undefined {
  const { state } = message
  if (state.kind === 'responded') return state.response
  const question = questionOf(message)
  return question && `${question.text}\n\n${question.how}`
}

/** Returns the error for a message without an answer: a completion has no other state. */
export function endOf({ state }: Message): EndpointError {
  const error = errorOf(state)
  return error ? { kind: 'run_failed', error } : { kind: 'no_answer_yet' }
}
