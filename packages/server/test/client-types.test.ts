import { createClient } from '@org/agent-messaging-client'
import type {
  Agent,
  ApiKey,
  CreatedAgent,
  CreatedApiKey,
  CreatedWebhook,
  Delivery,
  DeliveryAttempt,
  DeliveryDetail,
  FoundMessage,
  Input,
  InputAnswer,
  Message,
  OpenInput,
  Recovery,
  Session,
  Usage,
  UsageCounts,
  UsageOfDay,
  Webhook,
} from '@org/agent-messaging-client'
import type { EventData, EventName } from '@org/agent-messaging-client/webhooks'
import { createServer } from '../src/index.js'
import { beforeAll, describe, expect, it } from 'vitest'

/** Each field of a type, and whether it is optional. A missing or extra field does not compile. */
type Fields<T> = {
  readonly [Field in keyof T]-?: object extends Pick<T, Field> ? 'optional' : 'required'
}
const fields = <T>(all: Fields<T>): Fields<T> => all

const agent = fields<Agent>({
  id: 'required',
  name: 'required',
  runtime: 'required',
  defaultExecutionPrincipal: 'required',
  desiredState: 'required',
  state: 'required',
  lastError: 'optional',
  failures: 'optional',
  retryAt: 'optional',
  concurrency: 'required',
  maxAttempts: 'required',
  maxQueued: 'required',
  onBusy: 'required',
  a2a: 'optional',
  createdAt: 'required',
  updatedAt: 'required',
})
const webhook = fields<Webhook>({
  id: 'required',
  url: 'required',
  events: 'required',
  filter: 'optional',
  description: 'optional',
  headers: 'optional',
  disableOnGone: 'required',
  ordering: 'required',
  paused: 'required',
  maxConcurrency: 'optional',
  requestsPerSecond: 'optional',
  timeoutMs: 'optional',
  retrySchedule: 'optional',
  enabled: 'required',
  disabledReason: 'optional',
  disabledAt: 'optional',
  consecutiveFailures: 'required',
  failingSince: 'optional',
  lastSuccessAt: 'optional',
  lastFailureAt: 'optional',
  circuit: 'required',
  circuitOpenUntil: 'optional',
  limit: 'optional',
  previousSecretUntil: 'optional',
  createdAt: 'required',
  updatedAt: 'required',
})
const delivery = fields<Delivery>({
  id: 'required',
  webhookId: 'required',
  eventId: 'required',
  event: 'required',
  status: 'required',
  attemptCount: 'required',
  nextAttemptAt: 'optional',
  blockedBy: 'optional',
  deliveredAt: 'optional',
  exhaustedAt: 'optional',
  cancelledAt: 'optional',
  cancelledReason: 'optional',
  createdAt: 'required',
})

const key = fields<ApiKey>({
  id: 'required',
  name: 'required',
  permissions: 'required',
  createdAt: 'required',
  expiresAt: 'optional',
  revokedAt: 'optional',
})

const usageCounts = fields<UsageCounts>({
  messages: 'required',
  runs: 'required',
  deliveries: 'required',
  attempts: 'required',
  bytesIn: 'required',
  bytesOut: 'required',
  inputTokens: 'required',
  outputTokens: 'required',
})
const message = fields<Message>({
  messageId: 'required',
  agentId: 'required',
  sessionId: 'required',
  status: 'required',
  state: 'required',
  message: 'required',
  metadata: 'optional',
  executionPrincipal: 'required',
  response: 'optional',
  responseTimeMs: 'optional',
  usage: 'optional',
  input: 'optional',
  inputs: 'optional',
  attempt: 'required',
  error: 'optional',
  createdAt: 'required',
  respondedAt: 'optional',
})

const input = fields<Input>({
  id: 'required',
  question: 'required',
  options: 'optional',
  schema: 'optional',
  answerBy: 'optional',
  askedAt: 'required',
  answer: 'optional',
})
const { answer: _, ...question } = input

const resources: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Agent: agent,
  Input: input,
  OpenInput: fields<OpenInput>({ ...question, expiresAt: 'required' }),
  InputAnswer: fields<InputAnswer>({
    value: 'required',
    executionPrincipal: 'optional',
    answeredAt: 'required',
  }),
  CreatedAgent: fields<CreatedAgent>({ ...agent, signingSecret: 'optional' }),
  Webhook: webhook,
  CreatedWebhook: fields<CreatedWebhook>({ ...webhook, secret: 'required' }),
  Delivery: delivery,
  DeliveryDetail: fields<DeliveryDetail>({ ...delivery, body: 'required', attempts: 'required' }),
  DeliveryAttempt: fields<DeliveryAttempt>({
    attemptNumber: 'required',
    startedAt: 'required',
    durationMs: 'required',
    url: 'optional',
    requestHeaders: 'optional',
    outcome: 'required',
    statusCode: 'optional',
    responseBody: 'optional',
    error: 'optional',
    detail: 'optional',
  }),
  FoundMessage: fields<FoundMessage>({ ...message, deliveries: 'required' }),
  Message: message,
  Recovery: fields<Recovery>({
    id: 'required',
    status: 'required',
    failure: 'optional',
    filter: 'required',
    matched: 'required',
    redelivered: 'required',
    createdAt: 'required',
    finishedAt: 'optional',
  }),
  ApiKey: key,
  Usage: fields<Usage>({
    from: 'required',
    to: 'required',
    isCounted: 'required',
    total: 'required',
    days: 'required',
  }),
  UsageCounts: usageCounts,
  UsageOfDay: fields<UsageOfDay>({ date: 'required', ...usageCounts }),
  CreatedApiKey: fields<CreatedApiKey>({ ...key, key: 'required' }),
  Session: fields<Session>({
    sessionId: 'required',
    openCount: 'required',
    lastMessageId: 'required',
    lastMessageAt: 'required',
  }),
}

const asked = {
  messageId: 'required',
  agentId: 'required',
  sessionId: 'required',
  executionPrincipal: 'required',
  metadata: 'required',
  channel: 'optional',
  correlationId: 'optional',
  input: 'required',
  inputUrl: 'optional',
} as const

const events: { readonly [Name in EventName]: Fields<EventData[Name]> } = {
  'message.responded': {
    messageId: 'required',
    agentId: 'required',
    sessionId: 'required',
    response: 'required',
    executionPrincipal: 'required',
    responseTimeMs: 'required',
    usage: 'optional',
    metadata: 'required',
    channel: 'optional',
    correlationId: 'optional',
  },
  'message.input_required': asked,
  'message.input_reminder': asked,
  'message.input_received': { ...asked, answer: 'required' },
  'message.failed': {
    messageId: 'required',
    agentId: 'required',
    sessionId: 'required',
    error: 'required',
    executionPrincipal: 'required',
    failedAt: 'required',
    metadata: 'required',
    channel: 'optional',
    correlationId: 'optional',
  },
  'message.cancelled': {
    messageId: 'required',
    agentId: 'required',
    sessionId: 'required',
    executionPrincipal: 'required',
    cancelledAt: 'required',
    metadata: 'required',
    channel: 'optional',
    correlationId: 'optional',
  },
  'agent.started': { agentId: 'required', runtime: 'required', startedAt: 'required' },
  'agent.stopped': { agentId: 'required', runtime: 'required', stoppedAt: 'required' },
  'agent.error': {
    agentId: 'required',
    error: 'required',
    messageId: 'optional',
    sessionId: 'optional',
    executionPrincipal: 'optional',
    metadata: 'optional',
    channel: 'optional',
    correlationId: 'optional',
  },
  'webhook.disabled': {
    webhookId: 'required',
    reason: 'required',
    disabledAt: 'required',
    consecutiveFailures: 'required',
    failingSince: 'required',
  },
  'delivery.exhausted': {
    deliveryId: 'required',
    webhookId: 'required',
    eventId: 'required',
    event: 'required',
    attemptCount: 'required',
    lastAttempt: 'required',
    exhaustedAt: 'required',
  },
  'webhook.test': { webhookId: 'required' },
}

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly $ref?: string
}
type Document = {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  readonly paths: Readonly<Record<string, object>>
  readonly webhooks: object
}
let document: Document
beforeAll(async () => {
  const server = await createServer({
    port: 0,
    databasePath: ':memory:',
    masterKey: new Uint8Array(32),
    worker: false,
  })
  document = (await (await fetch(`${server.url}/openapi.json`)).json()) as Document
  await server.stop()
})

const fieldsOf = ({ properties = {}, required = [] }: Schema = {}) =>
  Object.fromEntries(
    Object.keys(properties).map((name) => [
      name,
      required.includes(name) ? 'required' : 'optional',
    ]),
  )

describe('the types of the client', () => {
  it.each(Object.keys(resources))('have the fields of the OpenAPI schema %s', (name) => {
    expect(resources[name]).toEqual(fieldsOf(document.components.schemas[name]))
  })

  it('have all events with their fields', () => {
    expect(Object.keys(events).sort()).toEqual(Object.keys(document.webhooks).sort())
    for (const [name, data] of Object.entries(events)) {
      const id = `${name.replaceAll(/(?:^|\.)(\w)/g, (_, first: string) => first.toUpperCase())}EventData`
      expect(data, name).toEqual(fieldsOf(document.components.schemas[id]))
    }
  })
})

it('the client has a method for every route of a project, except the callback of agents', async () => {
  const requested = new Set<string>()
  const fetch = async (url: unknown, { method = '' }: RequestInit = {}): Promise<Response> => {
    const { pathname } = new URL(String(url))
    requested.add(`${method} ${pathname}`)
    if (pathname.endsWith('/stream')) return new Response(null, { status: 204 })
    if (pathname === '/v1/events')
      return Response.json({ data: [{ cursor: '1', event: {} }], nextCursor: '1' })
    return Response.json({ data: [], nextCursor: null, messageId: '-', state: 'responded' })
  }
  const client = createClient({
    baseUrl: 'https://messages.example',
    apiKey: 'k',
    fetch,
    retries: 0,
  })
  for (const call of Object.values(client).flatMap((calls) =>
    Object.values(calls as Record<string, (...ids: string[]) => unknown>),
  )) {
    const given = call('-', '-')
    await (given instanceof Promise ? given : (given as AsyncGenerator).next())
  }
  const routes = Object.entries(document.paths)
    .filter(([path]) => path.startsWith('/v1/') && !path.endsWith('/response'))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '-')}`,
      ),
    )
  expect([...requested].sort()).toEqual(routes.sort())
})
