import type {
  AnswerStream,
  CreatedWebhook,
  FoundMessage,
  Message,
  MessagingService,
  Page,
  Sent,
  SentMessage,
  ShownMessage,
  StreamEvent,
  Webhook,
} from '@org/agent-messaging-core'
import { shownMessage, shownSend } from '@org/agent-messaging-core/host'
import type { inTransaction } from '@org/agent-messaging-adapter-postgres'

/** The groups of calls, without the calls that only a server needs. */
const GROUPS = {
  messages: [
    'send',
    'enqueue',
    'get',
    'history',
    'runs',
    'list',
    'count',
    'search',
    'stream',
    'cancel',
    'retry',
    'setMetadata',
  ],
  inputs: ['list', 'answer', 'withdraw'],
  sessions: ['list', 'erase'],
  agents: ['create', 'update', 'delete', 'start', 'stop', 'declare', 'get', 'list'],
  webhooks: [
    'create',
    'update',
    'enable',
    'disable',
    'delete',
    'rotateSecret',
    'finishRotation',
    'get',
    'list',
    'sendTestEvent',
  ],
  deliveries: ['get', 'list', 'redeliver', 'cancel', 'skip'],
  recoveries: ['start', 'cancel', 'get', 'list'],
  events: ['read'],
  principals: ['count', 'erase'],
  keys: ['create', 'list', 'revoke'],
  sessionTokens: ['create'],
  auditLog: ['list'],
} as const satisfies { readonly [G in keyof MessagingService]?: readonly string[] }
type Groups = typeof GROUPS
type Group = keyof Groups
type CallOf<G extends Group> = Groups[G][number] & keyof MessagingService[G]

/** A webhook without its sealed secrets. */
export type ShownWebhook = Omit<Webhook, 'secret' | 'previousSecret' | 'headers'> & {
  /** The names of the additional headers. */
  readonly headers?: readonly string[]
}
export type FoundInProject = ShownMessage & Pick<FoundMessage, 'deliveries'>
type ShownEvent = StreamEvent extends infer E
  ? E extends { readonly message: Message }
    ? Omit<E, 'message'> & { readonly message: ShownMessage }
    : E
  : never
export type MessageStream = AsyncIterableIterator<ShownEvent, undefined, undefined>

/** What a call of `messaging` returns for a value of the service. */
type Shown<T> = T extends Sent
  ? SentMessage
  : T extends Message
    ? ShownMessage
    : T extends FoundMessage
      ? FoundInProject
      : T extends CreatedWebhook
        ? ShownWebhook & { readonly secret: string }
        : T extends Webhook
          ? ShownWebhook & Omit<T, keyof Webhook>
          : T extends AnswerStream
            ? MessageStream
            : T

/** A promise of one page. As an iterator, it reads all rows, page by page. */
export type List<Row> = Promise<Page<Row>> & AsyncIterable<Row>

type Without<Input, Field extends string> = {
  [K in keyof Input as K extends Field ? never : K]: Input[K]
}
type Listing<Input, Row> =
  object extends Without<Input, 'projectId'>
    ? (input?: Without<Input, 'projectId'>) => List<Shown<Row>>
    : (input: Without<Input, 'projectId'>) => List<Shown<Row>>

/** A client of `pg` with an open transaction, from any pool of the same database. */
type Transaction = Parameters<typeof inTransaction>[0]
type Enqueue = (
  input: Without<
    Parameters<MessagingService['messages']['enqueue']>[0],
    'projectId' | 'transaction'
  > & { readonly transaction: Transaction },
) => Promise<SentMessage>

type InProject<Call> = Call extends (input: infer Input) => Promise<infer Out>
  ? Out extends Page<infer Row>
    ? Listing<NonNullable<Input>, Row>
    : (input: Without<Input, 'projectId'>) => Promise<Shown<Out>>
  : never

/** The calls of the service for one project. They return the value or throw a `MessagingError`. */
export type ProjectCalls = {
  readonly [G in Group]: {
    readonly [K in CallOf<G>]: K extends 'enqueue' ? Enqueue : InProject<MessagingService[G][K]>
  }
} & {
  readonly usage: {
    /** Returns the exact counts of the project, of its agents or its webhooks, by step of time. */
    get(
      input: Without<Parameters<MessagingService['stats']>[0], 'projectId'>,
    ): ReturnType<MessagingService['stats']>
  }
}

type Call = (input: unknown) => Promise<unknown>
type Fields = Readonly<Record<string, unknown>>

/** Adds the project to every call. */
export function inProject(service: MessagingService, projectId: string): ProjectCalls {
  const bound = ([group, names]: readonly [string, readonly string[]]) => {
    const calls = service[group as Group] as object as Readonly<Record<string, Call>>
    const all = names.map((name) => {
      const call = calls[name] as Call
      if (isList(name)) return [name, lister(call, projectId)]
      return [name, (name === 'enqueue' ? enqueuer : caller)(call, projectId)]
    })
    return [group, Object.fromEntries(all)]
  }
  return {
    ...Object.fromEntries(Object.entries(GROUPS).map(bound)),
    usage: { get: (input: Fields) => service.stats({ ...input, projectId } as never) },
  } as ProjectCalls
}

const isList = (name: string): boolean => name === 'list' || name === 'search'

/** The transaction is a field. `pg` is optional, so its adapter is loaded at the first use. */
const enqueuer =
  (call: Call, projectId: string): Call =>
  async (given) => {
    const { transaction, ...input } = given as Fields
    const { inTransaction: storesIn } = await import('@org/agent-messaging-adapter-postgres')
    return shown(
      await call({ ...input, projectId, transaction: storesIn(transaction as Transaction) }),
    )
  }

const caller =
  (call: Call, projectId: string): Call =>
  async (input) =>
    shown(await call({ ...(input as Fields), projectId }))

function lister(call: Call, projectId: string) {
  const read = async (input: Fields) => {
    const { data, nextCursor } = (await call({ ...input, projectId })) as Page<unknown>
    return { data: data.map(shown), nextCursor }
  }
  return (input: Fields = {}): List<unknown> => {
    const first = read(input)
    async function* rows() {
      for (let page = await first; ; page = await read({ ...input, cursor: page.nextCursor })) {
        yield* page.data
        if (page.nextCursor === null) return
      }
    }
    return Object.assign(first, { [Symbol.asyncIterator]: rows })
  }
}

type AnyValue = Message | Sent | FoundMessage | Webhook | CreatedWebhook | AnswerStream | undefined

/** Shows rows of the service as the API does. Other values stay as they are. */
function shown(found: unknown): unknown {
  const value = found as AnyValue
  if (typeof value !== 'object' || value === null) return value
  if ('attached' in value) return shownSend(value.message)
  if ('message' in value && typeof value.message === 'object' && 'deliveries' in value)
    return { ...shownMessage(value.message), deliveries: value.deliveries }
  if ('sessionId' in value && 'executionPrincipal' in value) return shownMessage(value)
  if ('webhook' in value) return { ...shownWebhook(value.webhook), secret: value.secret }
  if ('secret' in value && 'health' in value) return shownWebhook(value)
  return Symbol.asyncIterator in value ? shownStream(value) : value
}

const shownWebhook = ({ secret: _, previousSecret: __, headers, ...webhook }: Webhook) => ({
  ...webhook,
  ...(headers && { headers: headers.names }),
})

async function* shownStream(stream: AnswerStream) {
  try {
    for await (const event of stream)
      yield 'message' in event ? { ...event, message: shownMessage(event.message) } : event
  } finally {
    await stream.return?.()
  }
}
