import { RequestMalformedError, UnsupportedOperationError } from '@a2a-js/sdk/errors'
import type { Json, Message } from '@org/agent-messaging-core'
import { parseJsonText } from '@org/agent-messaging-core/runtime'
import { answerProblem } from '@org/agent-messaging-core/host'
import { isFinal, openInput, type MessageInput } from '@org/agent-messaging-core/storage'
import { a2aError } from './errors.js'
import type { Input } from './input.js'

/**
 * Returns the question that a message to the task answers. A repeated answer finds its question as
 * long as the task asks no other one.
 */
export function questionFor(task: Message, input: Input): MessageInput {
  const { inputId } = input
  if (inputId !== undefined) {
    const named = task.inputs?.find(({ id }) => id === inputId)
    if (!named) throw a2aError({ kind: 'input_not_found' })
    return named
  }
  const last = task.inputs?.at(-1)
  const open = openInput(task)
  if (open) return open
  if (last?.answer && isEqual(last.answer.value, valueOf(last, input))) return last
  throw new UnsupportedOperationError(
    isFinal(task.state)
      ? 'The task is final. Send the message without taskId to start a new task in its context'
      : 'The task asks nothing now. Send the message without taskId to queue a new task',
  )
}

const isEqual = (one: Json, other: Json): boolean => JSON.stringify(one) === JSON.stringify(other)

/**
 * Returns the data, or the text, or the JSON value that the text contains if the question does not
 * take the text.
 */
export function valueOf(question: MessageInput, { message: text, parts }: Input): Json {
  const [first, second] = parts
  if (first && (text !== '' || second || first.part.type !== 'data'))
    throw new RequestMalformedError('an answer must have texts, or one part with data')
  if (first?.part.type === 'data') return first.part.data
  if (answerProblem(question, text) === undefined) return text
  try {
    return parseJsonText(text)
  } catch {
    return text
  }
}
