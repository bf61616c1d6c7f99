import type {
  Agent,
  AuditEntry,
  ApiKey,
  WebhookDelivery,
  Instant,
  Message,
  Webhook,
  Project,
  Recovery,
} from '@org/agent-messaging-core'
import type { AnswerParts, EarlierTurn } from '@org/agent-messaging-core/runtime'
import type {
  Count,
  CountRow,
  Move,
  DeliveryAttempt,
  WebhookEvent,
  ListenStep,
  PastRun,
  PeoplePlace,
  EventType,
  PortalSession,
  PublishRequest,
  RecoveryTask,
  ResealedRows,
  ResealStep,
  Stored,
} from '@org/agent-messaging-core/storage'

/** The tables that all handles on one memory storage share. Rows are in maps by id. */
export type Memory = {
  readonly projects: Map<string, Project>
  readonly apiKeys: Map<string, { key: ApiKey; readonly digest: string }>
  readonly senders: Map<string, Instant>
  readonly settings: Map<string, string>
  readonly agents: Map<string, Agent>
  readonly owners: Map<string, { readonly owner: string; readonly until: Instant }>
  readonly webhooks: Map<string, Webhook>
  readonly sessions: Map<string, Session>
  readonly messages: Map<string, MessageRow>
  readonly idempotencyKeys: Map<string, MessageRow>
  /** By `keyOfEvent`. */
  readonly events: Map<string, WebhookEvent>
  /** By `keyOfEvent` of the key. */
  readonly publishRequests: Map<string, PublishRequest & { readonly createdAt: Instant }>
  /** The position of each event in the log, by the same key. */
  readonly eventPositions: Map<string, number>
  /** The last position that a purge deleted, by project. */
  readonly eventFloors: Map<string, number>
  readonly listeners: Map<string, ListenStep & { readonly cursor: string }>
  readonly deliveries: Map<string, DeliveryRow>
  readonly recoveries: Map<string, RecoveryRow>
  readonly auditLog: Map<string, AuditEntry>
  readonly portals: Map<string, { session: PortalSession; readonly digest: string }>
  /** By project, which is `INSTALLATION` for the types of all, and by name. */
  readonly eventTypes: Map<string, Map<string, EventType>>
  /** The counts of each commit that are not folded into rows yet. */
  readonly countEntries: Count[][]
  readonly countRows: CountRow[]
  peoplePlace: PeoplePlace
  /** By bucket, when it is full again. */
  readonly sendBuckets: Map<string, number>
  /** The jumps of the clock with which the times moved. */
  moves?: readonly Move[]
  lastEventPosition: number
  /** Grows over all claims, so that a test cannot confuse a token with an attempt number. */
  lastToken: number
  /** The id of the last webhook that a claim served. The next claim starts after it. */
  lastServedWebhook: string
}

export type Session = {
  readonly agentId: string
  readonly sessionId: string
  /** All messages by position. */
  readonly all: MessageRow[]
  /** The queue of open messages, head first. */
  readonly open: MessageRow[]
  /** When the head can be claimed. While the head is claimed, the end of its lease. */
  dueAt: Instant
  /** The state that the agent's runtime keeps in the session. */
  state?: string
}

/** `token` is the token of the newest claim, or 0. */
export type MessageRow = {
  /** The newest recovery that retried the message. */
  recovery?: string
  message: Message
  token: number
  readonly earlierTurns?: readonly EarlierTurn[]
  readonly pastRuns: PastRun[]
  parts?: AnswerParts
}
/** `leavers`: rows that left the recovery, by their end. */
export type RecoveryRow = {
  readonly task: RecoveryTask
  readonly lastPageAt: Instant
  readonly leavers: { kind: 'delivered' | 'exhausted' | 'cancelled'; finishedAt: Instant }[]
  readonly settled?: Recovery
}
export type DeliveryRow = {
  /** The newest recovery that made the delivery due, and the number of attempts before that. */
  recovery?: { readonly id: string; readonly attempts: number }
  delivery: WebhookDelivery
  readonly body: string
  token: number
  readonly attempts: DeliveryAttempt[]
}

/** Ids of published events are unique in their project. */
export const keyOfEvent = ({ projectId, id }: Pick<WebhookEvent, 'projectId' | 'id'>): string =>
  `${projectId} ${id}`

export const newMemory = (): Memory => ({
  projects: new Map(),
  apiKeys: new Map(),
  senders: new Map(),
  settings: new Map(),
  agents: new Map(),
  owners: new Map(),
  webhooks: new Map(),
  sessions: new Map(),
  messages: new Map(),
  idempotencyKeys: new Map(),
  events: new Map(),
  publishRequests: new Map(),
  eventPositions: new Map(),
  eventFloors: new Map(),
  listeners: new Map(),
  deliveries: new Map(),
  recoveries: new Map(),
  auditLog: new Map(),
  portals: new Map(),
  eventTypes: new Map(),
  countEntries: [],
  countRows: [],
  peoplePlace: { until: 0, after: '' },
  sendBuckets: new Map(),
  lastEventPosition: 0,
  lastToken: 0,
  lastServedWebhook: '',
})

/** The methods of a store without promises. A method that returns at once is atomic. */
export type Immediate<S> = {
  [M in keyof S]: S[M] extends (...args: infer A) => Stored<infer T> ? (...args: A) => T : never
}

/** Returns the row if it belongs to the project. */
export const ofProject = <T extends { readonly projectId: string }>(
  row: T | undefined,
  projectId: string,
): T | undefined => (row?.projectId === projectId ? row : undefined)

/** Reseals all rows of a table in one step. */
export function resealRows<Row extends { readonly id: string }>(
  rows: Map<string, Row>,
  { reseal }: ResealStep<Row>,
): ResealedRows {
  const all = [...rows.values()].filter(hasSecret).map((row) => ({ row, to: reseal(row) }))
  const changed = all.flatMap(({ row, to }) => (to === undefined || to === row ? [] : to))
  for (const row of changed) rows.set(row.id, row)
  return { resealed: changed.length, unopened: all.filter(({ to }) => to === undefined).length }
}

/** The receiver of hooks has none. */
const hasSecret = (row: object): boolean => !('secret' in row && row.secret === '')
