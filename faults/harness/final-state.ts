import type {
  FinalDelivery,
  FinalEvent,
  FinalMessage,
  FinalState,
  FinalWebhook,
} from '../checker/history.js'
import { all, json } from './api.js'
import { AGENTS } from './clients.js'
import { publishedIn, type LoggedBody } from './new-events.js'

type Message = {
  readonly messageId: string
  readonly sessionId: string
  readonly message: string
  readonly metadata?: { readonly key?: string }
  readonly state: string
  readonly response?: string
  readonly attempt: number
  readonly respondedAt?: string
  readonly error?: { readonly code: string }
}
type Delivery = Omit<FinalDelivery, 'deliveryId' | 'attempts' | 'place'> & {
  readonly id: string
  readonly attempts: readonly Attempt[]
}
type Attempt = {
  readonly attemptNumber: number
  readonly startedAt: string
  readonly durationMs: number
  readonly outcome: string
  readonly statusCode?: number
  readonly responseBody?: string
}

const CONCURRENCY = 8

/** Reads all messages, deliveries and published events from the API. */
export async function readFinalState(
  url: string,
  webhooks: readonly FinalWebhook[],
  purgedBefore?: number,
): Promise<FinalState> {
  const messages: FinalMessage[] = []
  for (const agent of AGENTS) {
    for (const { sessionId } of await all<{ sessionId: string }>(
      url,
      `/v1/agents/${agent}/sessions`,
    )) {
      const rows = await all<Message>(
        url,
        `/v1/agents/${agent}/messages?sessionId=${encodeURIComponent(sessionId)}&order=asc`,
      )
      messages.push(...rows.map((row) => messageOf(agent, row)))
    }
  }
  const ids = (await all<{ id: string }>(url, '/v1/deliveries')).map(({ id }) => id)
  // The API lists the newest first.
  const places = new Map(ids.toReversed().map((id, index) => [id, index + 1]))
  const deliveries = await mapConcurrently(ids, async (id) =>
    deliveryOf(await json<Delivery>(url, 'GET', `/v1/deliveries/${id}`), places.get(id) ?? 0),
  )
  const events = await readEvents(url)
  const state = { messages, webhooks, deliveries, events }
  return { ...state, ...(purgedBefore !== undefined && { purgedBefore }) }
}

type LogPage = {
  readonly data: readonly { readonly event: LoggedBody }[]
  readonly nextCursor: string
}

/** Returns the published events of the log. */
async function readEvents(url: string): Promise<FinalEvent[]> {
  const events: FinalEvent[] = []
  for (let after = ''; ;) {
    const route = `/v1/events?limit=100${after && `&after=${after}`}`
    const { data, nextCursor } = await json<LogPage>(url, 'GET', route)
    if (data.length === 0) return events
    events.push(...data.flatMap(({ event }) => publishedIn(event) ?? []))
    after = nextCursor
  }
}

const messageOf = (
  agent: string,
  {
    metadata,
    respondedAt,
    messageId,
    sessionId,
    message,
    state,
    response,
    attempt,
    error,
  }: Message,
): FinalMessage => ({
  messageId,
  agent,
  sessionId,
  message,
  state,
  attempt,
  ...(error && { errorCode: error.code }),
  ...(metadata?.key !== undefined && { key: metadata.key }),
  ...(response !== undefined && { response }),
  ...(respondedAt !== undefined && { endedAt: Date.parse(respondedAt) }),
})

const deliveryOf = (
  { id, webhookId, status, body, attempts }: Delivery,
  place: number,
): FinalDelivery => ({
  deliveryId: id,
  webhookId,
  status,
  body,
  place,
  attempts: attempts.map(({ startedAt, responseBody, ...attempt }) => ({
    ...attempt,
    startedAt: Date.parse(startedAt),
    ...(responseBody !== undefined && { receipt: responseBody }),
  })),
})

async function mapConcurrently<Item, Value>(
  items: readonly Item[],
  work: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++)
      values[index] = await work(items[index] as Item)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return values
}
