import {
  isStorableText,
  orMissing,
  type RunRequest,
  type Turn,
  parseJsonText,
} from '@org/agent-messaging-core/runtime'
import { z } from 'zod'

/** The limit of `RunRequest.remember`. */
const MAX_STATE_LENGTH = 16 * 1024
const MAX_TURNS = 1_000
const MAX_HISTORY_LENGTH = 1024 * 1024

/** The service checks the counts. */
const usage = z.unknown().optional()
const id = z.string(orMissing('must be a string'))
const text = z.string(orMissing('must be a string'))
const count = (most: number) =>
  z.int('must be a whole number').min(1, 'must be at least 1').max(most, `must be at most ${most}`)

/** Optional fields can be absent or `null`, because languages write "nothing" differently. */
const incoming = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('ready'),
    protocol: z.literal(1, 'must be 1'),
    history: z
      .object({ maxTurns: count(MAX_TURNS), maxLength: count(MAX_HISTORY_LENGTH) })
      .nullish(),
  }),
  z.object({ type: z.literal('chunk'), id, text }),
  // The service checks the part.
  z.object({
    type: z.literal('part'),
    id,
    part: z.looseObject({}, orMissing('must be an object')),
  }),
  z.object({
    type: z.literal('answer'),
    id,
    response: text,
    sessionState: text
      .max(MAX_STATE_LENGTH, `must have at most ${MAX_STATE_LENGTH} characters`)
      .refine(isStorableText, 'must not contain NUL or a lone surrogate')
      .nullish(),
    usage,
  }),
  // The service checks the question.
  z.looseObject({ type: z.literal('question'), id, question: text }),
  z.object({
    type: z.literal('error'),
    id,
    message: text,
    retryable: z.boolean('must be true or false').nullish(),
    usage,
  }),
  z.object({ type: z.literal('pong') }),
])

/** A message from a program. */
export type FromProgram = z.infer<typeof incoming>
export type Ready = Extract<FromProgram, { type: 'ready' }>
/** An invalid message. `of` is its type if known, and `id` the run that it names. */
export type Unusable = {
  readonly type: 'unusable'
  readonly why: string
  readonly of?: string
  readonly id?: string
}

const TYPES = new Set<unknown>(['ready', 'chunk', 'part', 'answer', 'question', 'error', 'pong'])

export function parseLine(line: string): FromProgram | Unusable {
  const value = objectIn(line)
  if (!value) return { type: 'unusable', why: 'not a JSON object' }
  if (!TYPES.has(value['type'])) return { type: 'unusable', why: 'unknown message type' }
  const parsed = incoming.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const why = issue ? `${issue.path.join('.')} ${issue.message}` : 'not valid'
  return {
    type: 'unusable',
    why,
    of: String(value['type']),
    ...(typeof value['id'] === 'string' && { id: value['id'] }),
  }
}

/** Parses only lines that can be objects, because parse errors are expensive. */
function objectIn(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return parseJsonText(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** Formats a run as a line. Each run has its own `id`. All attempts share the `messageId`. */
export function runLine(
  id: string,
  { messageId, agentId, sessionId, message, metadata, executionPrincipal, ...run }: RunRequest,
  history: readonly Turn[] | undefined,
): string {
  const { parts, responseSchema, attempt, inputs, sessionState, trace } = run
  const about = { messageId, agentId, sessionId, message, parts, metadata, executionPrincipal }
  const more = { responseSchema, attempt, inputs, sessionState, history, ...trace }
  return toLine({ type: 'run', id, ...about, ...more })
}

export const cancelLine = (id: string): string => toLine({ type: 'cancel', id })
export const PING_LINE = '{"type":"ping"}\n'

const toLine = (message: object) => `${JSON.stringify(message)}\n`
