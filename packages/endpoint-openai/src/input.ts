import { isJsonObject, type EarlierTurn } from '@org/agent-messaging-core/runtime'
import { RequestRefusal } from '@org/agent-messaging-http-kit'
import type { Problem } from './errors.js'
import { problem } from './fields.js'
import { isStepId } from './ids.js'

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
): Input {
  const before: Entry[] = first ? [{ role: 'instructions', text: first, at: 'instructions' }] : []
  if (typeof given === 'string')
    return inputOf([...before, { role: 'user', text: given, at: param }], param)
  if (!Array.isArray(given))
    throw new RequestRefusal(problem(param, 'must be a text or a list of messages'))
  const entries = before
  for (const [index, item] of given.entries()) {
    if (answers && isStep(item)) continue
    const entry = readEntry(item, `${param}[${index}]`, answers)
    // A stream that started again has two items for its answer.
    const { answerTo } = entry
    if (answerTo === undefined || entries.at(-1)?.answerTo !== answerTo) entries.push(entry)
  }
  return inputOf(entries, param)
}

/**
 * True for reasoning and a tool call of a response, or a reference to one. Clients send them back,
 * and agents do not read them.
 */
export function isStep(item: unknown): boolean {
  const { type, id } = isJsonObject(item) ? item : {}
  return type === 'item_reference' ? isStepId(id) : type === 'reasoning' || type === 'mcp_call'
}

function readEntry(item: unknown, at: string, answers?: Answers): Entry {
  if (!isJsonObject(item)) throw new RequestRefusal(problem(at, 'must be an object'))
  const { type = 'message', role, content, tool_calls: calls } = item
  if (type === 'item_reference' && answers) {
    const { id } = item
    const answer = typeof id === 'string' ? answers.get(id) : undefined
    if (!answer) throw new RequestRefusal(problem(`${at}.id`, 'must be the id of an item'))
    return { role: 'assistant', text: answer.text, at, answerTo: answer.messageId }
  }
  if (type !== 'message')
    throw new RequestRefusal(
      unsupported(`${at}.type`, `is not supported: ${shown(type)} is not a message`),
    )
  const known = typeof role === 'string' && Object.hasOwn(ROLES, role) ? ROLES[role] : undefined
  if (!known)
    throw new RequestRefusal(
      unsupported(`${at}.role`, 'must be user, assistant, system or developer'),
    )
  if (Array.isArray(calls) && calls.length > 0)
    throw new RequestRefusal(
      unsupported(`${at}.tool_calls`, 'is not supported: the agent has its own tools'),
    )
  return { role: known, text: textOf(content, `${at}.content`), at }
}

function textOf(content: unknown, at: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content))
    throw new RequestRefusal(problem(at, 'must be a text or a list of parts'))
  const texts: string[] = []
  for (const [index, part] of content.entries()) {
    const here = `${at}[${index}]`
    if (!isJsonObject(part)) throw new RequestRefusal(problem(here, 'must be an object'))
    const { type, text } = part
    if (!TEXT_PARTS.includes(type))
      throw new RequestRefusal(
        unsupported(`${here}.type`, `is not supported: an agent takes text, not ${shown(type)}`),
      )
    if (typeof text !== 'string')
      throw new RequestRefusal(problem(`${here}.text`, 'must be a text'))
    texts.push(text)
  }
  return texts.join('\n')
}

/** Divides the messages into turns. A turn is all texts of the user, then all of the answer. */
function inputOf(entries: readonly Entry[], param: string): Input {
  const spoken = entries.filter(({ role }) => role !== 'instructions')
  const [opening] = spoken
  if (spoken.at(-1)?.role !== 'user')
    throw new RequestRefusal(problem(param, 'must end with a message of the user'))
  if (opening?.role === 'assistant')
    throw new RequestRefusal(
      problem(`${opening.at}.role`, 'must be user: a conversation starts with the user'),
    )

  const turns: { message: string[]; response: string[] }[] = []
  for (const { role, text } of spoken) {
    const last = turns.at(-1)
    if (role === 'assistant') last?.response.push(text)
    else if (last?.response.length === 0) last.message.push(text)
    else turns.push({ message: [text], response: [] })
  }
  const instructions = entries.filter(({ role }) => role === 'instructions')
  const asked = turns.at(-1)?.message ?? []
  return {
    earlierTurns: turns.slice(0, -1).map(({ message, response }) => ({
      message: message.join(PARAGRAPH),
      response: response.join(PARAGRAPH),
    })),
    message: [...instructions.map(({ text }) => text), ...asked].join(PARAGRAPH),
  }
}

const unsupported = (param: string, message: string): Problem =>
  problem(param, message, 'unsupported_parameter')

const shown = (type: unknown): string => (typeof type === 'string' ? type.slice(0, 50) : 'this')
