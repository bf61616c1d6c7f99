import type { Message } from '@org/agent-messaging-core'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { errorIn } from '@org/agent-messaging-core/host'
import { callerOf, RequestRefusal, type KitContext } from '@org/agent-messaging-http-kit'
import type { EndpointError } from '../errors.js'
import { problem } from '../fields.js'
import { parseItemId, type MessageRef } from '../ids.js'
import { isStep, type Answer, type Answers } from '../input.js'
import type { Deps } from '../options.js'
import { questionOf } from '../question.js'
import { isDeleted } from './body.js'

/** Each reference reads a message. */
const MOST_REFERENCES = 1_000

/** Reads the answers that the item references of an input name. Refuses a missing answer. */
export async function readReferences(c: KitContext, d: Deps, input: unknown): Promise<Answers> {
  const answers = new Map<string, Answer>()
  for (const { id, param } of referencesIn(input)) {
    if (answers.has(id)) continue
    if (answers.size === MOST_REFERENCES)
      throw new RequestRefusal(
        problem('input', `must have at most ${MOST_REFERENCES} item references`),
      )
    answers.set(id, await readAnswer(c, d, { id, param }))
  }
  return answers
}

type Reference = { readonly id: string; readonly param: string }

function referencesIn(input: unknown): Reference[] {
  if (!Array.isArray(input)) return []
  return input.flatMap((item, index) =>
    isJsonObject(item) &&
    item['type'] === 'item_reference' &&
    typeof item['id'] === 'string' &&
    !isStep(item)
      ? [{ id: item['id'], param: `input[${index}].id` }]
      : [],
  )
}

async function readAnswer(c: KitContext, d: Deps, { id, param }: Reference): Promise<Answer> {
  const missing = { kind: 'reference_not_found', param } as const
  const ref = parseItemId(id)
  if (!ref) throw new RequestRefusal(missing)
  const message = await readNamed(c, d, ref, param)
  const { state } = message
  const text = state.kind === 'responded' ? state.response : questionOf(message)?.text
  if (text === undefined) throw new RequestRefusal(missing)
  return { messageId: message.id, text }
}

/** Reads the message of a response. One of another project, or deleted, counts as missing. */
export async function readStored(
  c: KitContext,
  { service }: Deps,
  ref: MessageRef,
): Promise<Message> {
  const found = await service.messages.get({ ...callerOf(c), ...ref }).catch(errorIn)
  const isMissing =
    'kind' in found
      ? found.kind === 'agent_not_found' || found.kind === 'message_not_found'
      : isDeleted(found)
  if (isMissing) throw new RequestRefusal({ kind: 'message_not_found' })
  if ('kind' in found) throw new RequestRefusal(found)
  return found
}

/** Reads the message of a response that the field `param` of a request names. */
export const readNamed = async (
  c: KitContext,
  d: Deps,
  ref: MessageRef,
  param: string,
): Promise<Message> =>
  readStored(c, d, ref).catch((thrown) => {
    const error = errorIn(thrown)
    const isMissing = error.kind === 'message_not_found'
    throw new RequestRefusal<EndpointError>(
      isMissing ? { kind: 'reference_not_found', param } : error,
    )
  })
