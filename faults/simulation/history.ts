import { unwrap } from '@org/agent-messaging-testing'
import type { DeliveryDetail, Message, Page, Policy } from '@org/agent-messaging-core'
import {
  COUNT_STEPS,
  type PageOf,
  type Storage,
  type Stored,
} from '@org/agent-messaging-core/storage'
import { attemptedFact } from '../checker/facts.js'
import type {
  Counted,
  FinalDelivery,
  FinalEvent,
  FinalMessage,
  FinalState,
  History,
  Replay,
} from '../checker/history.js'
import { publishedIn, type LoggedBody } from '../harness/new-events.js'
import type { Agents, Ran } from './agents.js'
import type { FaultLog } from './fault-log.js'
import type { Population } from './populate.js'
import { secretOf, type Receivers } from './receivers.js'
import type { StoreRecord } from './record.js'
import type { Clients } from './clients.js'

type Parts = Population & {
  readonly seed: number
  /** The time of day at the start. */
  readonly startedAt: number
  readonly policy: Policy
  readonly storage: Storage
  readonly record: StoreRecord
  readonly faults: FaultLog
  readonly clients: Clients
  readonly agents: Agents
  readonly receivers: Receivers
}

/** Returns the history of a simulation for the checker. */
export async function historyOf(parts: Parts): Promise<History> {
  const { seed, policy, faults, clients, agents, receivers, record } = parts
  const details = await detailsOf(parts)
  const idOf = new Map(record.webhooks.map(({ url, webhookId }) => [url, webhookId]))
  return {
    seed,
    rules: {
      delaysMs: policy.retry.delaysMs,
      deliveryTimeoutMs: policy.deliver.deadlineMs,
      deliveryLeaseMs: policy.deliver.leaseMs,
      runLeaseMs: policy.runLeaseMs,
    },
    requests: clients.requests,
    published: clients.published,
    erasures: clients.erasures,
    replays: await replaysOf(parts),
    received: receivers.received.map(({ url, ...request }) => ({
      ...request,
      webhookId: idOf.get(url) ?? url,
    })),
    runs: agents.runs.map((run) => ({ ...run, retries: retriesOf(record, run) })),
    faults: faults.all,
    final: await finalState(parts, details),
    ...(!parts.erases && { counted: await countedOf(parts, details) }),
  }
}

const retriesOf = ({ retriesAt }: StoreRecord, { token }: Ran): number => retriesAt.get(token) ?? 0

/** A recovery that has read all events is `sending` or `done`. */
async function replaysOf({ storage, projectId, clients }: Parts): Promise<Replay[]> {
  const stored = await readAll((page) => storage.recoveries.list(projectId, page))
  const done = new Set(
    stored.flatMap(({ id, state }) => (['sending', 'done'].includes(state.kind) ? id : [])),
  )
  return clients.replays.map(({ id, ...replay }) => ({ ...replay, isDone: done.has(id ?? '') }))
}

async function detailsOf({ storage, projectId }: Parts): Promise<DeliveryDetail[]> {
  const details: DeliveryDetail[] = []
  for (const { id } of await readAll((page) => storage.deliveries.list({ projectId }, page))) {
    const detail = unwrap(await storage.deliveries.get(projectId, id))
    if (detail) details.push(detail)
  }
  return details
}

async function countedOf(
  { storage, projectId, record }: Parts,
  details: readonly DeliveryDetail[],
): Promise<Counted> {
  const webhooks = new Map(details.map(({ delivery: { id, webhookId } }) => [id, webhookId]))
  const attempts = details.flatMap(({ delivery: { webhookId }, body, attempts: made }) =>
    made.map(({ startedAt, outcome }) => attemptedFact({ webhookId, startedAt, body, outcome })),
  )
  const rows = []
  for (const subject of ['project', 'agent', 'webhook'] as const)
    for (const { ms: stepMs } of COUNT_STEPS) {
      const query = { projectId, subject, stepMs, from: 0, to: Infinity }
      rows.push(...unwrap(await storage.counts.read(query)))
    }
  return { facts: [...attempts, ...record.factsOf((id) => webhooks.get(id) ?? id)], rows }
}

async function finalState(
  { storage, projectId, agentIds, webhookUrls, record, startedAt }: Parts,
  details: readonly DeliveryDetail[],
): Promise<FinalState> {
  const messages: FinalMessage[] = []
  for (const agentId of agentIds) {
    const sessions = await readAll((page) =>
      storage.messages.listSessions({ projectId, agentId }, page),
    )
    for (const { sessionId } of sessions) {
      const listed = await readAll((page) =>
        storage.messages.list({ projectId, agentId, sessionId, order: 'asc' }, page),
      )
      messages.push(...listed.map((message) => finalMessage(message, record, startedAt)))
    }
  }
  const deliveries = details.map((one) => finalDelivery(one, record, startedAt))
  const webhooks = record.webhooks.map(({ webhookId, url, isOrdered, events, kind }) => {
    const secret = secretOf(url.slice(url.lastIndexOf('/') + 1))
    const isTemporary = !webhookUrls.has(url)
    return {
      webhookId,
      events,
      secret,
      ...(kind !== undefined && { kind }),
      ...(isTemporary && { isTemporary }),
      ...(isOrdered && { isOrdered }),
    }
  })
  return { messages, webhooks, deliveries, events: await eventsOf(storage, projectId) }
}

/** Returns the published events of the log. */
async function eventsOf({ events }: Storage, projectId: string): Promise<FinalEvent[]> {
  const found: FinalEvent[] = []
  for (let after: number | undefined; ;) {
    const place = { projectId, limit: 100, ...(after !== undefined && { after }) }
    const page = unwrap(await events.list(place))
    if (page === 'expired' || page.events.length === 0) return found
    found.push(...page.events.flatMap(({ body }) => publishedIn(JSON.parse(body)) ?? []))
    after = page.next
  }
}

function finalMessage(
  { id: messageId, agentId: agent, state, ...message }: Message,
  record: StoreRecord,
  startedAt: number,
): FinalMessage {
  const key = record.keys.get(messageId)
  const endedAt = endOf(state)
  return {
    messageId,
    agent,
    sessionId: message.sessionId,
    message: message.message,
    state: state.kind,
    attempt: message.attempt,
    retries: record.retries.get(messageId) ?? 0,
    ...(key !== undefined && { key }),
    ...(state.kind === 'responded' && { response: state.response }),
    ...(state.kind === 'failed' && { errorCode: state.error.code }),
    ...(endedAt !== undefined && { endedAt: endedAt - startedAt }),
  }
}

function endOf(state: Message['state']): number | undefined {
  if (state.kind === 'responded') return state.respondedAt
  if (state.kind === 'failed') return state.failedAt
  return state.kind === 'cancelled' ? state.cancelledAt : undefined
}

function finalDelivery(
  { delivery, body, attempts }: DeliveryDetail,
  { redelivered, places }: StoreRecord,
  startedAt: number,
): FinalDelivery {
  const { id: deliveryId, webhookId, eventId, state, createdAt } = delivery
  const place = places.get(eventId)
  const event = JSON.parse(body) as LoggedBody
  return {
    deliveryId,
    webhookId,
    status: state.kind,
    body,
    ...(place !== undefined && { place }),
    // All other deliveries are made in the commit of the event, with its time.
    isReplayed: createdAt !== Date.parse(event.createdAt),
    redeliveredAt: redelivered
      .filter(({ of }) => of === deliveryId || of === webhookId)
      .map(({ at }) => at),
    attempts: attempts.map(({ attemptNumber, startedAt: at, durationMs, outcome }) => ({
      attemptNumber,
      startedAt: at - startedAt,
      durationMs,
      outcome: outcome.kind,
      ...('statusCode' in outcome && {
        statusCode: outcome.statusCode,
        receipt: outcome.responseBody,
      }),
    })),
  }
}

async function readAll<T>(list: (page: PageOf) => Stored<Page<T>>): Promise<T[]> {
  const rows: T[] = []
  let cursor: string | null = null
  do {
    const page: Page<T> = unwrap(await list({ limit: 100, ...(cursor !== null && { cursor }) }))
    rows.push(...page.data)
    cursor = page.nextCursor
  } while (cursor !== null)
  return rows
}
