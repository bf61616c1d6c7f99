import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { type KitEnv } from '@org/agent-messaging-http-kit'
import type { Context } from 'hono'
import { err, ok, type Result } from 'neverthrow'
import type { EndpointError } from '../errors.js'
import { problem } from '../fields.js'
import { parseItemId } from '../ids.js'
import type { Answer, Answers } from '../input.js'
import type { Deps } from '../options.js'
import { outputOf } from './body.js'
import { readNamed } from './stored.js'

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
