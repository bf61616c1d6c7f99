import type { Message } from '@org/agent-messaging-core'
import { reply, type KitEnv } from '@org/agent-messaging-http-kit'
import type { Context } from 'hono'
import { err, ok, type Result } from 'neverthrow'
import { refuse, type Problem } from '../errors.js'
import { problem } from '../fields.js'
import { inputItemId } from '../ids.js'
import type { Deps } from '../options.js'
import { MOST_TURNS } from './place.js'

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/** Lists the message of a response, and before it the turns that the agent can read. */
export async function listInputItems(
  c: Context<KitEnv>,
  { service }: Deps,
  { message }: { readonly message: Message },
): Promise<Response> {
  const page = readPage(c)
  if (page.isErr()) return refuse(c, page.error)
  const { projectId, agentId: agent, id: messageId, state } = message
  const limit = { maxTurns: MOST_TURNS, maxLength: service.policy.limits.earlierTurnsLength }
  const found = await service.messages.history({ projectId, agent, messageId, ...limit })
  if (found.isErr()) return refuse(c, found.error)
  // The history ends with this message if it has an answer.
  const past = state.kind === 'responded' ? found.value.slice(0, -1) : found.value
  const texts = past.flatMap((turn): Spoken[] => [
    { role: 'user', text: turn.message },
    { role: 'assistant', text: turn.response },
  ])
  const newestFirst = [...texts, { role: 'user', text: message.message } as const]
    .toReversed()
    .map((spoken, place) => itemOf(inputItemId(message, place), spoken))
  const items = page.value.order === 'asc' ? newestFirst.toReversed() : newestFirst
  const start =
    page.value.after === undefined ? 0 : items.findIndex(({ id }) => id === page.value.after) + 1
  if (start === 0 && page.value.after !== undefined)
    return refuse(c, problem('after', 'must be the id of an item of this list'))
  const data = items.slice(start, start + page.value.limit)
  return reply(c, 200, {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + data.length < items.length,
  })
}

type Spoken = { readonly role: 'user' | 'assistant'; readonly text: string }

const itemOf = (id: string, { role, text }: Spoken) => ({
  type: 'message',
  id,
  status: 'completed',
  role,
  content: [
    role === 'user'
      ? { type: 'input_text', text }
      : { type: 'output_text', text, annotations: [], logprobs: [] },
  ],
})

type ItemPage = {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  readonly after: string | undefined
}

function readPage(c: Context<KitEnv>): Result<ItemPage, Problem> {
  const { limit: given = String(DEFAULT_LIMIT), order = 'desc', after } = c.req.query()
  const limit = /^\d{1,3}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > MAX_LIMIT)
    return err(problem('limit', `must be a number from 1 to ${MAX_LIMIT}`))
  if (order !== 'asc' && order !== 'desc') return err(problem('order', 'must be asc or desc'))
  return ok({ limit, order, after })
}
