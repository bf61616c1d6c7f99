import { isJsonObject, type EarlierTurn } from '@org/agent-messaging-core/runtime'
import { err, ok, type Result } from 'neverthrow'
import type { Problem } from './errors.js'
import { problem } from './fields.js'

/** `message` has the instructions, then the texts of the user after the last answer. */
export type Input = { readonly earlierTurns: readonly EarlierTurn[]; readonly message: string }

/** A stored answer, and its message. */
export type Answer = { readonly messageId: string; readonly text: string }
/** The answers that item references name, by the id of the item. */
export type Answers = ReadonlyMap<string, Answer>

type Role = 'user' | 'assistant' | 'instructions'
type Entry = {
  readonly role: Role
  readonly text: string
  readonly at: string
  readonly answerTo?: string
}

const ROLES: Readonly<Record<string, Role>> = {
  user: 'user',
  assistant: 'assistant',
  system: 'instructions',
  developer: 'instructions',
}
const TEXT_PARTS: readonly unknown[] = ['text', 'input_text', 'output_text']

/** Joins texts that become one text. */
const PARAGRAPH = '\n\n'

/**
 * Reads the messages of a request. `param` names the list. `first` are instructions that come
 * before the list. References to items are allowed with `answers`, which has all that they name.
 */
export function readInput(
  given: unknown,
  {
    param,
    first,
    answers,
  }: {
    readonly param: string
    readonly first?: string | undefined
    readonly answers?: Answers
  },
): Result<Input, Problem> {
  const before: Entry[] = first ? [{ role: 'instructions', text: first, at: 'instructions' }] : []
  if (typeof given === 'string')
    return inputOf([...before, { role: 'user', text: given, at: param }], param)
  if (!Array.isArray(given)) return err(problem(param, 'must be a text or a list of messages'))
  const entries = before
  for (const [index, item] of given.entries()) {
    const entry = readEntry(item, `${param}[${index}]`, answers)
    if (entry.isErr()) return err(entry.error)
    // A stream that started again has two items for its answer.
    const { answerTo } = entry.value
    if (answerTo === undefined || entries.at(-1)?.answerTo !== answerTo) entries.push(entry.value)
  }
  return inputOf(entries, param)
}

function readEntry(item: unknown, at: string, answers?: Answers): Result<Entry, Problem> {
  if (!isJsonObject(item)) return err(problem(at, 'must be an object'))
  const { type = 'message', role, content, tool_calls: calls } = item
  if (type === 'item_reference' && answers) {
    const { id } = item
    const answer = typeof id === 'string' ? answers.get(id) : undefined
    if (!answer) return err(problem(`${at}.id`, 'must be the id of an item'))
    return ok({ role: 'assistant', text: answer.text, at, answerTo: answer.messageId })
  }
  if (type !== 'message')
    return err(unsupported(`${at}.type`, `is not supported: ${shown(type)} is not a message`))
  const known = typeof role === 'string' && Object.hasOwn(ROLES, role) ? ROLES[role] : undefined
  if (!known) return err(unsupported(`${at}.role`, 'must be user, assistant, system or developer'))
  if (Array.isArray(calls) && calls.length > 0)
    return err(unsupported(`${at}.tool_calls`, 'is not supported: the agent has its own tools'))
  return textOf(content, `${at}.content`).map((text) => ({ role: known, text, at }))
}

function textOf(content: unknown, at: string): Result<string, Problem> {
  if (typeof content === 'string') return ok(content)
  if (!Array.isArray(content)) return err(problem(at, 'must be a text or a list of parts'))
  const texts: string[] = []
  for (const [index, part] of content.entries()) {
    const here = `${at}[${index}]`
    if (!isJsonObject(part)) return err(problem(here, 'must be an object'))
    const { type, text } = part
    if (!TEXT_PARTS.includes(type))
      return err(
        unsupported(`${here}.type`, `is not supported: an agent takes text, not ${shown(type)}`),
      )
    if (typeof text !== 'string') return err(problem(`${here}.text`, 'must be a text'))
    texts.push(text)
  }
  return ok(texts.join('\n'))
}

/** Divides the messages into turns. A turn is all texts of the user, then all of the answer. */
function inputOf(entries: readonly Entry[], param: string): Result<Input, Problem> {
  const spoken = entries.filter(({ role }) => role !== 'instructions')
  const [opening] = spoken
  if (spoken.at(-1)?.role !== 'user')
    return err(problem(param, 'must end with a message of the user'))
  if (opening?.role === 'assistant')
    return err(problem(`${opening.at}.role`, 'must be user: a conversation starts with the user'))

  const turns: { message: string[]; response: string[] }[] = []
  for (const { role, text } of spoken) {
    const last = turns.at(-1)
    if (role === 'assistant') last?.response.push(text)
    else if (last?.response.length === 0) last.message.push(text)
    else turns.push({ message: [text], response: [] })
  }
  const instructions = entries.filter(({ role }) => role === 'instructions')
  const asked = turns.at(-1)?.message ?? []
  return ok({
    earlierTurns: turns.slice(0, -1).map(({ message, response }) => ({
      message: message.join(PARAGRAPH),
      response: response.join(PARAGRAPH),
    })),
    message: [...instructions.map(({ text }) => text), ...asked].join(PARAGRAPH),
  })
}

const unsupported = (param: string, message: string): Problem =>
  problem(param, message, 'unsupported_parameter')

const shown = (type: unknown): string => (typeof type === 'string' ? type.slice(0, 50) : 'this')
