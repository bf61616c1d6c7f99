import type { Message } from '@org/agent-messaging-core'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { type KitEnv } from '@org/agent-messaging-http-kit'
import type { Context } from 'hono'
import { err, ok, type Result } from 'neverthrow'
import type { EndpointError } from '../errors.js'
import { problem } from '../fields.js'
import { parseItemId, type MessageRef } from '../ids.js'
import type { Answer, Answers } from '../input.js'
import type { Deps } from '../options.js'
import { isDeleted, outputOf } from './body.js'

/** Each reference reads a message. */
const MOST_REFERENCES = 1_000

/** Reads the answers that the item references of an input name. Refuses a missing answer. */
export async function readReferences(
  c: Context<KitEnv>,
  d: Deps,
  input: unknown,
): Promise<Result<Answers, EndpointError>> {
  const answers = new Map<string, Answer>()
  for (const { id, param } of referencesIn(input)) {
    if (answers.has(id)) continue
    if (answers.size === MOST_REFERENCES)
      return err(problem('input', `must have at most ${MOST_REFERENCES} item references`))
    const answer = await readAnswer(c, d, { id, param })
    if (answer.isErr()) return err(answer.error)
    answers.set(id, answer.value)
  }
  return ok(answers)
}

type Reference = { readonly id: string; readonly param: string }

function referencesIn(input: unknown): Reference[] {
  if (!Array.isArray(input)) return []
  return input.flatMap((item, index) =>
    isJsonObject(item) && item['type'] === 'item_reference' && typeof item['id'] === 'string'
      ? [{ id: item['id'], param: `input[${index}].id` }]
      : [],
  )
}

async function readAnswer(
  c: Context<KitEnv>,
  d: Deps,
  { id, param }: Reference,
): Promise<Result<Answer, EndpointError>> {
  const missing = { kind: 'reference_not_found', param } as const
  const ref = parseItemId(id)
  if (!ref) return err(missing)
  const message = await readNamed(c, d, ref, param)
  return message.andThen((found) => {
    const text = outputOf(found)[0]?.content[0]?.text
    return text === undefined ? err(missing) : ok({ messageId: found.id, text })
  })
}

/** Reads the message of a response. One of another project, or deleted, counts as missing. */
export async function readStored(
  c: Context<KitEnv>,
  { service }: Deps,
  ref: MessageRef,
): Promise<Result<Message, EndpointError>> {
  const found = await service.messages.get({ projectId: c.get('projectId'), ...ref })
  if (found.isOk())
    return isDeleted(found.value) ? err({ kind: 'message_not_found' }) : ok(found.value)
  const { kind } = found.error
  const isMissing = kind === 'agent_not_found' || kind === 'message_not_found'
  return err(isMissing ? { kind: 'message_not_found' } : found.error)
}

/** Reads the message of a response that the field `param` of a request names. */
export const readNamed = async (
  c: Context<KitEnv>,
  d: Deps,
  ref: MessageRef,
  param: string,
): Promise<Result<Message, EndpointError>> =>
  (await readStored(c, d, ref)).mapErr((error) =>
    error.kind === 'message_not_found' ? { kind: 'reference_not_found', param } : error,
  )
