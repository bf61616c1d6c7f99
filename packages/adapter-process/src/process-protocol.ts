import { isStorableText, type RunRequest, type Turn } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'

/** What `RunRequest.remember` takes at most. */
const MAX_STATE_LENGTH = 16 * 1024
const MAX_TURNS = 1_000
const MAX_HISTORY_LENGTH = 1024 * 1024

const id = z.string('must be a string')
const text = z.string('must be a string')
const count = (most: number) =>
  z.int('must be a whole number').min(1, 'must be at least 1').max(most, `must be at most ${most}`)

/** Absent and `null` are the same: what a language writes for "nothing" is its own affair. */
const incoming = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('ready'),
    protocol: z.literal(1, 'must be 1'),
    history: z
      .object({ maxTurns: count(MAX_TURNS), maxLength: count(MAX_HISTORY_LENGTH) })
      .nullish(),
  }),
  z.object({ type: z.literal('chunk'), id, text }),
  z.object({
    type: z.literal('answer'),
    id,
    response: text,
    sessionState: text
      .max(MAX_STATE_LENGTH, `must have at most ${MAX_STATE_LENGTH} characters`)
      .refine(isStorableText, 'must not hold NUL or a lone surrogate')
      .nullish(),
  }),
  z.object({
    type: z.literal('error'),
    id,
    message: text,
    retryable: z.boolean('must be true or false').nullish(),
  }),
  z.object({ type: z.literal('pong') }),
])

/** What a program says to us. */
export type FromProgram = z.infer<typeof incoming>
export type Ready = Extract<FromProgram, { type: 'ready' }>
/** `of` is the type of a message that is known but not as it should be, and `id` the run that it names. */
export type Unusable = {
  readonly type: 'unusable'
  readonly why: string
  readonly of?: string
  readonly id?: string
}

const TYPES = new Set<unknown>(['ready', 'chunk', 'answer', 'error', 'pong'])

export function parseLine(line: string): FromProgram | Unusable {
  const value = objectIn(line)
  if (!value) return { type: 'unusable', why: 'no JSON object' }
  if (!TYPES.has(value['type']))
    return { type: 'unusable', why: 'no type of message that is known here' }
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

/** Only what may be an object is parsed: refusing a line costs far more with an exception, and programs may print much. */
function objectIn(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** What we say to a program, as a line. `id` is this run's alone; `messageId` is the same for each `attempt` at a message. */
export const runLine = (
  id: string,
  request: RunRequest,
  history: readonly Turn[] | undefined,
): string => {
  const {
    messageId,
    agentId,
    sessionId,
    message,
    metadata,
    executionPrincipal,
    attempt,
    sessionState,
  } = request
  const body = {
    messageId,
    agentId,
    sessionId,
    message,
    metadata,
    executionPrincipal,
    attempt,
    sessionState,
    history,
  }
  return toLine({ type: 'run', id, ...body })
}

export const cancelLine = (id: string): string => toLine({ type: 'cancel', id })
export const PING_LINE = '{"type":"ping"}\n'

const toLine = (message: object): string => `${JSON.stringify(message)}\n`
