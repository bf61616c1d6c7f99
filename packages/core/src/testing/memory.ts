import type { Agent } from '../domain/agent.js'
import type { ApiKey } from '../domain/api-key.js'
import type { DeliveryAttempt, WebhookDelivery } from '../domain/delivery.js'
import type { WebhookEvent } from '../domain/event.js'
import type { Instant } from '../domain/instant.js'
import type { Message } from '../domain/message.js'
import type { Webhook } from '../domain/webhook.js'
import type { Project } from '../ports/credential-store.js'
import type { ResealedRows, ResealStep, Stored } from '../ports/stored.js'

/** What all handles on one memory storage share: the tables, by id. Rows are replaced or changed in one synchronous step. */
export type Memory = {
  readonly projects: Map<string, Project>
  readonly apiKeys: Map<string, { key: ApiKey; readonly digest: string }>
  readonly endedSignIns: Map<string, Instant>
  readonly settings: Map<string, string>
  readonly agents: Map<string, Agent>
  readonly owners: Map<string, { readonly owner: string; readonly until: Instant }>
  readonly webhooks: Map<string, Webhook>
  readonly sessions: Map<string, Session>
  readonly messages: Map<string, MessageRow>
  readonly idempotencyKeys: Map<string, MessageRow>
  readonly events: Map<string, WebhookEvent>
  readonly deliveries: Map<string, DeliveryRow>
  /** Grows over the whole storage, so that no test can mistake a token for an attempt number. */
  lastToken: number
  /** The webhook that the last claim ended with; the next one goes on behind it. */
  lastServedWebhook: string
}

/**
 * `open` is the queue of open messages, head first; `all` has those that are done too, each at its place. `dueAt`: when the head may be claimed;
 * while it is held, when that right ends. `state` is what its runtime keeps there.
 */
export type Session = {
  readonly agentId: string
  readonly sessionId: string
  readonly all: MessageRow[]
  readonly open: MessageRow[]
  dueAt: Instant
  state?: string
}

/** `token` is that of the newest claim, 0 before the first. */
export type MessageRow = { message: Message; token: number }
export type DeliveryRow = {
  delivery: WebhookDelivery
  token: number
  readonly attempts: DeliveryAttempt[]
}

export const newMemory = (): Memory => ({
  projects: new Map(),
  apiKeys: new Map(),
  endedSignIns: new Map(),
  settings: new Map(),
  agents: new Map(),
  owners: new Map(),
  webhooks: new Map(),
  sessions: new Map(),
  messages: new Map(),
  idempotencyKeys: new Map(),
  events: new Map(),
  deliveries: new Map(),
  lastToken: 0,
  lastServedWebhook: '',
})

/** A store's methods as they are before they become asynchronous: one that returns at once is atomic by that alone. */
export type Immediate<S> = {
  [M in keyof S]: S[M] extends (...args: infer A) => Stored<infer T> ? (...args: A) => T : never
}

/** The row if it is the project's; another project's answers as a missing one. */
export const ofProject = <T extends { readonly projectId: string }>(
  row: T | undefined,
  projectId: string,
): T | undefined => (row?.projectId === projectId ? row : undefined)

/** All rows of a table in one step. */
export function resealRows<Row extends { readonly id: string }>(
  rows: Map<string, Row>,
  { reseal }: ResealStep<Row>,
): ResealedRows {
  const all = [...rows.values()].map((row) => ({ row, to: reseal(row) }))
  const changed = all.flatMap(({ row, to }) => (to === undefined || to === row ? [] : to))
  for (const row of changed) rows.set(row.id, row)
  return { resealed: changed.length, unopened: all.filter(({ to }) => to === undefined).length }
}
