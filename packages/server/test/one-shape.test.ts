import type {
  Agent,
  ApiKey,
  AuditEntry,
  CreatedAgent,
  CreatedApiKey,
  CreatedWebhook,
  Delivery,
  Failures,
  DeliveryDetail,
  EventLogPage,
  EventTypeDefinition,
  FoundMessage,
  ListedEventType,
  Message,
  MessageRun,
  Recovery,
  Sent,
  Session,
  Stats,
  Usage,
  Webhook,
} from '@org/agent-messaging-client'
import { createClient } from '@org/agent-messaging-client'
import { PERMISSIONS, type Json } from '@org/agent-messaging-core'
import { createMessaging, type Messaging } from '@org/agent-messaging-node'
import { expect, it, onTestFinished } from 'vitest'

/** The fields of a type, without the types of their values. */
type Fields<T> = Json extends T
  ? Json
  : T extends readonly (infer Item)[]
    ? readonly Fields<Item>[]
    : T extends object
      ? { readonly [K in keyof T]-?: Fields<NonNullable<T[K]>> }
      : unknown
/** An absent field and an undefined one are the same in JSON. */
type InJson<T> = Json extends T
  ? Json
  : T extends object
    ? { readonly [K in keyof T]: InJson<Exclude<T[K], undefined>> }
    : T
type Compared<Host, Client> = [InJson<Host>] extends [InJson<Client>]
  ? [Fields<Host>, Fields<Client>] extends [Fields<Client>, Fields<Host>]
    ? true
    : 'has other fields'
  : 'has other values'
type Value<Call> = Call extends (...input: never[]) => infer Answer
  ? Awaited<Answer> extends {
      readonly data: readonly (infer Row)[]
      readonly nextCursor: string | null
    }
    ? Row
    : Awaited<Answer>
  : never

type Shapes = {
  readonly agent: Compared<Value<Messaging['agents']['get']>, Agent>
  readonly createdAgent: Compared<Value<Messaging['agents']['create']>, CreatedAgent>
  readonly webhook: Compared<Value<Messaging['webhooks']['list']>, Webhook>
  readonly createdWebhook: Compared<Value<Messaging['webhooks']['create']>, CreatedWebhook>
  readonly delivery: Compared<Value<Messaging['deliveries']['list']>, Delivery>
  readonly deliveryDetail: Compared<Value<Messaging['deliveries']['get']>, DeliveryDetail>
  readonly recovery: Compared<Value<Messaging['recoveries']['start']>, Recovery>
  readonly key: Compared<Value<Messaging['keys']['list']>, ApiKey>
  readonly createdKey: Compared<Value<Messaging['keys']['create']>, CreatedApiKey>
  readonly auditEntry: Compared<Value<Messaging['auditLog']['list']>, AuditEntry>
  readonly session: Compared<Value<Messaging['sessions']['list']>, Session>
  readonly sent: Compared<Value<Messaging['messages']['send']>, Sent>
  readonly message: Compared<Value<Messaging['messages']['get']>, Message>
  readonly foundMessage: Compared<Value<Messaging['messages']['search']>, FoundMessage>
  readonly runs: Compared<Value<Messaging['messages']['runs']>, readonly MessageRun[]>
  readonly events: Compared<Awaited<ReturnType<Messaging['events']['read']>>, EventLogPage>
  readonly eventType: Compared<Value<Messaging['eventTypes']['get']>, EventTypeDefinition>
  readonly listedType: Compared<Value<Messaging['eventTypes']['list']>, ListedEventType>
  readonly usage: Compared<Value<Messaging['usage']['get']>, Usage>
  readonly stats: Compared<Value<Messaging['stats']['get']>, Stats>
  readonly failures: Compared<Value<Messaging['failures']['get']>, Failures>
}
type Differing = { [Name in keyof Shapes]: Shapes[Name] extends true ? never : Name }[keyof Shapes]
/** Does not compile if a call of the host and of the client differ in what they return. */
true satisfies [Differing] extends [never] ? true : Differing

const PATIENCE = { timeout: 60_000 }
const shouter = { agent: 'shouter', sessionId: 's' }

/** A service in this program, and a client of its HTTP API. */
async function both() {
  const messaging = await createMessaging({
    database: ':memory:',
    agents: { shouter: ({ message }) => message.toUpperCase() },
    addresses: { allowLoopback: true, allowHttp: true },
    telemetry: { record: () => undefined },
  })
  onTestFinished(() => messaging.stop())
  const access = { caller: 'test', permissions: PERMISSIONS, sessions: 'all' } as const
  const door = await messaging.http({ authorize: () => access })
  const fetch = (url: string | URL | Request, init?: RequestInit) =>
    door.fetch(new Request(url, init))
  const client = createClient({ baseUrl: 'http://localhost', apiKey: 'none', fetch })
  return { messaging, client, fetch }
}

it('a host and a client see the same rows', async () => {
  const { messaging, client } = await both()
  const webhook = await messaging.webhooks.create({
    url: 'http://127.0.0.1:9/', // refuses connections
    events: ['message.responded'],
    headers: { 'X-Token': 'secret' },
    filter: { sessionIdPrefix: 's' },
  })
  const { messageId } = await messaging.messages.send({ ...shouter, message: 'hello' })
  const ref = { agent: 'shouter', messageId }
  const deliveries = async () => (await messaging.deliveries.list({ messageId })).data
  await expect.poll(deliveries, PATIENCE).toMatchObject([{ attemptCount: 1 }])
  const [{ id: deliveryId, eventId } = { id: '', eventId: '' }] = await deliveries()
  await messaging.webhooks.disable({ webhookId: webhook.id })
  const { id: recoveryId } = await messaging.recoveries.start({
    filter: { createdAfter: '2020-01-01T00:00:00Z' },
  })
  const recovery = () => messaging.recoveries.get({ recoveryId })
  await expect.poll(recovery, PATIENCE).toMatchObject({ status: 'done' })
  await messaging.keys.create({
    name: 'k',
    permissions: ['project:message'],
    expiresAt: '2100-01-01T00:00:00+01:00',
  })
  const from = new Date(Date.now() - 3_600_000).toISOString()
  const rows: readonly (readonly [Promise<unknown>, Promise<unknown>])[] = [
    [messaging.agents.list(), client.agents.list()],
    [messaging.webhooks.list(), client.webhooks.list()],
    [messaging.webhooks.get({ webhookId: webhook.id }), client.webhooks.get(webhook.id)],
    [
      messaging.deliveries.list({ createdAfter: from }),
      client.deliveries.list({ createdAfter: from }),
    ],
    [messaging.deliveries.get({ deliveryId }), client.deliveries.get(deliveryId)],
    [recovery(), client.recoveries.get(recoveryId)],
    [messaging.keys.list(), client.keys.list()],
    [messaging.auditLog.list(), client.auditLog.list()],
    [messaging.sessions.list({ agent: 'shouter' }), client.sessions.list('shouter')],
    [messaging.messages.get(ref), client.messages.get('shouter', messageId)],
    [messaging.messages.search({ text: 'hello' }), client.messages.search({ text: 'hello' })],
    [messaging.messages.search({ limit: 1 }), client.messages.search({ limit: 1 })],
    [messaging.messages.runs(ref), client.messages.runs('shouter', messageId)],
    [messaging.messages.story({ messageId }), client.messages.story(messageId)],
    [messaging.deliveries.story({ deliveryId }), client.deliveries.story(deliveryId)],
    [messaging.inputs.list({ sessionId: 's' }), client.inputs.list({ sessionId: 's' })],
    [messaging.events.list({ limit: 1 }), client.events.list({ limit: 1 })],
    [messaging.events.story({ eventId }), client.events.story(eventId)],
    [messaging.events.read({}), client.events.read()],
    [messaging.usage.get({ from: '2026-01-01' }), client.usage.get({ from: '2026-01-01' })],
    [messaging.stats.get({ from }), client.stats.get({ from })],
    [messaging.failures.get({ from }), client.failures.get({ from })],
  ]
  for (const [hosts, clients] of rows)
    expect(JSON.parse(JSON.stringify(await hosts))).toEqual(await clients)
})

it('a page has 50 rows if the caller does not say, everywhere', async () => {
  const { messaging, client, fetch } = await both()
  await Promise.all(
    Array.from({ length: 51 }, (_, n) =>
      messaging.messages.send({ ...shouter, sessionId: `${n}`, message: 'm', waitMs: 0 }),
    ),
  )
  const answer = await fetch('http://localhost/v1/agents/shouter/messages')
  const pages = [
    (await answer.json()) as { readonly data: readonly unknown[] },
    await client.messages.list('shouter'),
    await messaging.messages.list({ agent: 'shouter' }),
  ]
  expect(pages.map(({ data }) => data.length)).toEqual([50, 50, 50])
})

it('a host and a client see the same stream', async () => {
  const { messaging, client } = await both()
  const { messageId } = await messaging.messages.send({ ...shouter, message: 'hello' })
  const hosts = []
  const stream = await messaging.messages.stream({ agent: 'shouter', messageId })
  for await (const event of stream ?? []) hosts.push(event)
  const clients = []
  for await (const event of client.messages.stream('shouter', messageId)) clients.push(event)
  expect(JSON.parse(JSON.stringify(hosts))).toEqual(clients)
})
