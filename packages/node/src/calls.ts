import type {
  AnswerStream,
  AuditEntry,
  MessageRun,
  MessagingService,
  Page,
  Sent,
  SessionSummary,
} from '@org/agent-messaging-core'
import {
  agentSettings,
  eventTypeSettings,
  apiKeySettings,
  recoverySettings,
  replaySettings,
  retrySettings,
  shownAgent,
  shownCreatedAgent,
  shownCreatedKey,
  shownCreatedWebhook,
  shownDelivery,
  shownDeliveryDetail,
  shownEvent,
  shownEvents,
  shownFailures,
  shownFoundMessage,
  shownKey,
  shownMessage,
  shownRecovery,
  shownSend,
  shownStats,
  shownListedEvent,
  shownStory,
  shownStreamEvent,
  shownUsage,
  shownWebhook,
  webhookSettings,
  withIso,
  type Settings,
  type ShownStreamEvent,
  type WebhookView,
} from '@org/agent-messaging-core/host'
import type { EventType, ListedEventType } from '@org/agent-messaging-core/storage'
import type { inTransaction } from '@org/agent-messaging-adapter-postgres'
import type { Fields } from './taken.js'

/** The fields that a call takes, and the shape of its value, or of each row of its list. */
type Shape<Input, Value> = {
  readonly fields: { readonly [K in keyof Given<Input>]-?: Fields[string] }
  readonly shown?: (value: Value, view: WebhookView) => unknown
}
type ShapeOf<Name, Call> = Call extends (input: infer Input) => Promise<infer Value>
  ? Shape<NonNullable<Input>, Name extends Listing ? RowOf<Value> : Value>
  : never
type Shapes = {
  readonly [G in keyof MessagingService]?: {
    readonly [K in keyof MessagingService[G]]?: ShapeOf<K, MessagingService[G][K]>
  }
}
/** The calls that answer page by page. */
export type Listing = 'list' | 'search'
export type RowOf<Value> = Value extends Page<infer Row> ? Row : never

/** What only a server gives: the project is bound. */
type Bound = 'projectId' | 'sentBy' | 'hook' | 'apiKey'
type Time = 'createdAfter' | 'createdBefore' | 'changedFrom' | 'expiresAt'
/** A client of `pg` with an open transaction, from any pool of the same database. */
export type Transaction = Parameters<typeof inTransaction>[0]
/** An input of the service as `messaging` takes it: without the project, times in ISO 8601. */
export type Given<Input> = Input extends object
  ? {
      [K in keyof Input as Exclude<K, Bound>]: K extends Time
        ? string | Exclude<Input[K], number>
        : K extends 'filter'
          ? Given<Input[K]>
          : K extends 'transaction'
            ? Transaction | Extract<Input[K], undefined>
            : Input[K]
    }
  : Input

/** A sign of life of a stream that is quiet. */
type Heartbeat = { readonly event: 'heartbeat' }
/** The answer, event by event. `return` ends the stream at once. */
export type MessageStream = AsyncIterableIterator<
  ShownStreamEvent | Heartbeat,
  undefined,
  undefined
>

const fieldsOf = <S extends Settings>(settings: S) =>
  Object.fromEntries(
    Object.entries(settings).map(([name, { format }]) => [
      name,
      format === 'date-time' ? 'instant' : true,
    ]),
  ) as { readonly [K in keyof S]: true | 'instant' }

const page = { limit: true, cursor: true } as const
const actor = { actor: true } as const
const access = { access: true } as const
const agent = { agent: true } as const
const message = { ...agent, messageId: true } as const
const waiting = { waitMs: true, abort: true } as const
const created = { createdAfter: 'instant', createdBefore: 'instant' } as const
const webhook = { webhookId: true, ...actor } as const
const delivery = { deliveryId: true, withoutHooks: true } as const
const recovery = { recoveryId: true } as const
const endUser = { endUserId: true, cursor: true } as const
const newMessage = {
  ...agent,
  sessionId: true,
  message: true,
  parts: true,
  responseSchema: true,
  metadata: true,
  earlierTurns: true,
  executionPrincipal: true,
  webhook: true,
  idempotencyKey: true,
  traceparent: true,
  tracestate: true,
} as const
const publisher = {
  idempotencyKey: true,
  traceparent: true,
  tracestate: true,
  abort: true,
  transaction: true,
} as const
const newEvent = {
  type: true,
  data: true,
  id: true,
  endUserId: true,
  agentId: true,
  sessionId: true,
  metadata: true,
} as const
const filters = {
  sessionId: true,
  status: true,
  state: true,
  progress: true,
  changedFrom: 'instant',
} as const

const shownSent = ({ message: sent }: Sent) => shownSend(sent)
const changedMessage = { fields: { ...message, ...actor, ...access }, shown: shownMessage } as const
const changedAgent = { fields: { ...agent, ...actor }, shown: shownAgent } as const
const changedWebhook = { fields: webhook, shown: shownWebhook } as const
const changedDelivery = { fields: { ...delivery, ...actor }, shown: shownDelivery } as const

/** The calls of `messaging`. The service has more, which only a server needs. */
export const CALLS = {
  messages: {
    send: { fields: { ...newMessage, ...waiting, ...access }, shown: shownSent },
    enqueue: { fields: { ...newMessage, transaction: true }, shown: shownSent },
    get: { fields: { ...message, ...waiting, ...access }, shown: shownMessage },
    history: { fields: { ...message, ...access, maxTurns: true, maxLength: true } },
    story: {
      fields: { messageId: true, withReceivers: true, isForCustomer: true },
      shown: shownStory,
    },
    runs: { fields: message, shown: (runs: readonly MessageRun[]) => runs.map(withIso) },
    list: {
      fields: { ...agent, ...filters, ...page, ...access, order: true, parts: true },
      shown: shownMessage,
    },
    count: { fields: { ...agent, ...filters, ...access, most: true } },
    search: {
      fields: {
        ...page,
        ...created,
        ...access,
        agent: true,
        messageId: true,
        sessionId: true,
        endUserId: true,
        correlationId: true,
        status: true,
        state: true,
        text: true,
        parts: true,
        abort: true,
      },
      shown: shownFoundMessage,
    },
    stream: { fields: { ...message, ...access, lastEventId: true }, shown: shownStream },
    cancel: changedMessage,
    retry: changedMessage,
    retryFailed: {
      fields: { ...agent, ...actor, ...fieldsOf(retrySettings) },
      shown: shownRecovery,
    },
    setMetadata: { fields: { ...message, metadata: true }, shown: shownMessage },
  },
  inputs: {
    list: {
      fields: { ...page, ...access, agent: true, sessionId: true, endUserId: true },
      shown: shownMessage,
    },
    answer: {
      fields: {
        ...message,
        ...actor,
        ...access,
        inputId: true,
        value: true,
        executionPrincipal: true,
      },
      shown: shownMessage,
    },
    withdraw: { fields: { ...message, ...actor, inputId: true }, shown: shownMessage },
  },
  sessions: {
    list: {
      fields: { ...agent, ...page, ...access },
      shown: (session: SessionSummary) => withIso(session),
    },
    erase: { fields: { ...agent, ...actor, sessionId: true, force: true } },
  },
  agents: {
    create: {
      fields: { ...fieldsOf(agentSettings), ...actor, desiredState: true },
      shown: shownCreatedAgent,
    },
    update: {
      fields: { ...agent, ...actor, change: fieldsOf(agentSettings) },
      shown: shownCreatedAgent,
    },
    delete: { fields: { ...agent, ...actor, force: true } },
    start: changedAgent,
    stop: changedAgent,
    declare: { fields: { agents: true } },
    get: { fields: { ...agent, ...access }, shown: shownAgent },
    list: { fields: page, shown: shownAgent },
  },
  webhooks: {
    create: {
      fields: { ...fieldsOf(webhookSettings), ...actor, secret: true },
      shown: shownCreatedWebhook,
    },
    update: { fields: { ...webhook, change: fieldsOf(webhookSettings) }, shown: shownWebhook },
    enable: changedWebhook,
    disable: changedWebhook,
    delete: { fields: webhook },
    rotateSecret: {
      fields: { ...webhook, secret: true, graceMs: true },
      shown: shownCreatedWebhook,
    },
    finishRotation: changedWebhook,
    get: { fields: { webhookId: true }, shown: shownWebhook },
    list: { fields: page, shown: shownWebhook },
    sendTestEvent: { fields: { webhookId: true, event: true }, shown: shownDelivery },
  },
  deliveries: {
    get: { fields: delivery, shown: shownDeliveryDetail },
    story: { fields: delivery, shown: shownStory },
    list: {
      fields: {
        ...fieldsOf(recoverySettings),
        ...page,
        eventId: true,
        messageId: true,
        sessionId: true,
        withoutHooks: true,
      },
      shown: shownDelivery,
    },
    redeliver: changedDelivery,
    cancel: changedDelivery,
    skip: changedDelivery,
  },
  recoveries: {
    start: {
      fields: {
        ...actor,
        tryFirst: true,
        filter: fieldsOf(recoverySettings),
        events: fieldsOf(replaySettings),
      },
      shown: shownRecovery,
    },
    cancel: { fields: { ...recovery, ...actor }, shown: shownRecovery },
    continue: { fields: { ...recovery, ...actor }, shown: shownRecovery },
    get: { fields: recovery, shown: shownRecovery },
    list: { fields: page, shown: shownRecovery },
  },
  events: {
    publish: { fields: { ...publisher, ...newEvent } },
    publishBatch: { fields: { ...publisher, events: true } },
    get: { fields: { eventId: true }, shown: shownEvent },
    story: { fields: { eventId: true, withoutHooks: true }, shown: shownStory },
    list: {
      fields: { ...created, ...page, types: true, published: true, withoutHooks: true },
      shown: shownListedEvent,
    },
    read: { fields: { ...waiting, after: true, limit: true, parts: true }, shown: shownEvents },
  },
  eventTypes: {
    put: { fields: { ...fieldsOf(eventTypeSettings), ...actor, name: true }, shown: shownType },
    delete: { fields: { ...actor, name: true } },
    get: { fields: { name: true }, shown: shownType },
    list: { fields: {}, shown: (type: ListedEventType) => withIso(type) },
  },
  principals: {
    count: { fields: endUser },
    erase: { fields: { ...endUser, ...actor, force: true } },
  },
  keys: {
    create: {
      fields: { ...fieldsOf(apiKeySettings), ...actor, key: true },
      shown: shownCreatedKey,
    },
    list: { fields: page, shown: shownKey },
    revoke: { fields: { ...actor, keyId: true } },
  },
  sessionTokens: {
    create: { fields: { sessions: true, agents: true, endUserId: true, expiresInMs: true } },
  },
  auditLog: {
    list: {
      fields: { ...page, action: true, actorKind: true, targetId: true },
      shown: (entry: AuditEntry) => withIso(entry),
    },
  },
} as const satisfies Shapes

/** The counts of the project. */
export const COUNTS = {
  usage: { call: 'stats', fields: { from: 'day', to: 'day' }, step: '1d', shown: shownUsage },
  stats: {
    call: 'stats',
    fields: { from: 'instant', to: 'instant', step: true, by: true, id: true },
    step: '1h',
    shown: shownStats,
  },
  failures: {
    call: 'failures',
    fields: { from: 'instant' },
    step: undefined,
    shown: shownFailures,
  },
} as const satisfies Record<string, CountsShape<'stats'> | CountsShape<'failures'>>

type CountsShape<Call extends 'stats' | 'failures'> = {
  readonly call: Call
  readonly fields: Fields
  readonly shown: (counted: Awaited<ReturnType<MessagingService[Call]>>) => unknown
  readonly step: string | undefined
}

function shownType(type: EventType) {
  return withIso(type)
}

function shownStream(stream: AnswerStream | undefined): MessageStream | undefined {
  if (!stream) return undefined
  const shown: MessageStream = {
    async next() {
      const { done, value } = await stream.next()
      if (done) return { done, value: undefined }
      const event = value.kind
      return { done: false, value: event === 'heartbeat' ? { event } : shownStreamEvent(value) }
    },
    async return() {
      await stream.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => shown,
  }
  return shown
}
