import type { Webhook } from '@org/agent-messaging-core'
import {
  subscriptionsFor,
  toWebhook,
  type HookOfMessage,
  type Outgoing,
  type WebhookEvent,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import { hookList, selectWebhook, webhookList, type HookRow } from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/gateway.js'
import { dialect } from '../database/operations.js'
import { jsonRows, sql } from '../database/sql.js'

/** An event of a project. */
type Topic = Pick<WebhookEvent, 'projectId' | 'name'>
/** The webhooks that subscribe to a topic, and the versions of all their rows as one text. */
type TopicReceivers = Topic & {
  readonly version: string
  readonly webhooks: readonly StoredWebhook[]
}
/** `receiverSeq`: the receiver of a hook. */
export type StoredWebhook = {
  readonly seq: number
  readonly webhook: Webhook
  readonly receiverSeq?: number
}
type StoredHook = StoredWebhook & { readonly webhook: HookOfMessage }
export type Receivers = ReadonlyMap<string, TopicReceivers>

/** A webhook of the topic at `place`. */
type Subscribed = WebhookRow & { readonly place: number; readonly version: string }

const subscribedSql = sql<{ readonly topics: string }, Subscribed>(`
  select place, subscriber.version, ${webhookList}
  from agent_messaging.subscribers(@topics) subscriber,
    lateral (select (subscriber.webhook).*) w`)

/** A topic in a call of a function, with all subscriptions that get it. */
export const askedFor = ({ projectId, name }: Topic) => ({
  projectId,
  names: subscriptionsFor(name),
})

export const topicOf = ({ projectId, name }: Topic): string => `${projectId} ${name}`

/** Returns the topics of all events, each once. */
export const topicsOf = (all: readonly (Outgoing | undefined)[]): ReadonlyMap<string, Topic> =>
  new Map(
    all.flatMap((outgoing) => (outgoing?.events ?? []).map((event) => [topicOf(event), event])),
  )

/** Reads the subscribed webhooks with one statement. */
export async function readReceivers(
  db: Queries,
  topics: ReadonlyMap<string, Topic>,
): Promise<Receivers> {
  if (topics.size === 0) return new Map()
  const asked = [...topics.values()].map(askedFor)
  const found = asked.map((): Subscribed[] => [])
  for (const row of await db.all(subscribedSql, { topics: jsonRows(asked) }))
    found[row.place - 1]?.push(row)
  return new Map(
    [...topics].map(([key, { projectId, name }], at) => {
      const own = found[at] ?? []
      const version = own.map((row) => row.version).join(',')
      const webhooks = own.map((row) => ({ seq: row.seq, webhook: toWebhook(row) }))
      return [key, { projectId, name, version, webhooks }]
    }),
  )
}

/** Takes about 50 MB, and covers 1,000 projects with ten webhooks each. */
const MOST_WEBHOOKS = 50_000

/**
 * The receivers that this process has read. They can be out of date: `settle_runs` compares their
 * versions with the rows.
 */
export class KnownReceivers {
  readonly #topics = new Map<string, TopicReceivers>()
  #webhooks = 0

  /** Returns the receivers of the topics, or undefined if one topic is not known. */
  find(topics: ReadonlyMap<string, Topic>): Receivers | undefined {
    const found = new Map<string, TopicReceivers>()
    for (const key of topics.keys()) {
      const receivers = this.#topics.get(key)
      if (!receivers) return undefined
      found.set(key, receivers)
    }
    return found
  }

  keep(receivers: Receivers): void {
    for (const [key, topic] of receivers) {
      this.#webhooks += costOf(topic) - costOf(this.#topics.get(key))
      this.#topics.set(key, topic)
    }
    if (this.#webhooks <= MOST_WEBHOOKS) return
    this.#topics.clear()
    this.#webhooks = 0
  }
}

/** Reads the receivers of the topics now. */
export async function readAndKeep(
  db: Queries,
  topics: ReadonlyMap<string, Topic>,
  known: KnownReceivers,
): Promise<Receivers> {
  const fresh = await readReceivers(db, topics)
  known.keep(fresh)
  return fresh
}

const costOf = (topic: TopicReceivers | undefined): number =>
  topic === undefined ? 0 : 1 + topic.webhooks.length

// Hooks of messages are rows of `webhooks`. A change of a hook locks the session of its message, as
// the end of a run does.

/** The hooks of some messages. The version of a message changes with each change of its hooks. */
export type Hooks = ReadonlyMap<string, HooksOfMessage>
type HooksOfMessage = {
  readonly version: number
  readonly receivers: readonly StoredWebhook[]
  /** The receiver, if the hooks are right only while it is healthy. */
  readonly healthySeq?: number | undefined
}
export const NO_HOOKS: Hooks = new Map()

/** The version of a hook that is stored with its message. */
export const FIRST_VERSION = 1

/**
 * The hooks that this process has stored with messages, so that their first run need not read. Their
 * receivers were healthy then.
 */
export class KnownHooks {
  readonly #hooks = new Map<string, HooksOfMessage>()

  keep(hook: StoredHook): void {
    if (this.#hooks.size >= MOST_WEBHOOKS) this.#hooks.clear()
    const { webhook, receiverSeq: healthySeq } = hook
    const hooks = { version: FIRST_VERSION, receivers: [hook], healthySeq }
    this.#hooks.set(webhook.hook.messageId, hooks)
  }

  /** Forgets the hooks that it returns. */
  take(messageIds: readonly string[]): Hooks {
    const taken = new Map<string, HooksOfMessage>()
    if (this.#hooks.size === 0) return taken
    for (const id of messageIds) {
      const hooks = this.#hooks.get(id)
      if (hooks && this.#hooks.delete(id)) taken.set(id, hooks)
    }
    return taken
  }
}

type Ids = { readonly messageIds: readonly string[] }

/** A message without present hooks has one row, whose webhook is null. */
const hooksSql = sql<Ids, { [C in keyof HookRow]: HookRow[C] | null } & HookVersion>(`
  select m.id as "of", m.hook_version as version, ${hookList}
  from agent_messaging.messages m
    left join agent_messaging.webhooks w on w.message_id = m.id and not w.is_deleted
    left join agent_messaging.webhooks r on r.id = w.receiver
  where m.hook_version is not null and m.id = any(@messageIds::text[])
  order by w.seq`)
type HookVersion = { readonly of: string; readonly version: number }

/** Reads the hooks and their versions with one statement. */
export async function readHooks(db: Queries, messageIds: readonly string[]): Promise<Hooks> {
  const hooks = new Map<string, { version: number; receivers: StoredWebhook[] }>()
  for (const { of, version, ...row } of await db.all(hooksSql, { messageIds })) {
    const known = hooks.get(of) ?? { version, receivers: [] }
    hooks.set(of, known)
    if (isHookRow(row)) known.receivers.push(storedHook(row))
  }
  return hooks
}

const isHookRow = (row: { readonly seq: number | null }): row is HookRow => row.seq !== null
const storedHook = (row: HookRow): StoredWebhook => ({
  seq: row.seq,
  receiverSeq: row.receiverSeq,
  webhook: toWebhook(row),
})

const hooksBySeqSql = sql<{ readonly seqs: readonly number[] }, WebhookRow>(
  `${selectWebhook(dialect)} where w.seq = any(@seqs::bigint[]) and not w.is_deleted`,
)

/** Reads hooks that are not deleted, by their `seq`, without the health of their receivers. */
export async function hooksBySeq(
  db: Queries,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, Webhook>> {
  const rows = seqs.length === 0 ? [] : await db.all(hooksBySeqSql, { seqs })
  return new Map(rows.map((row) => [row.seq, toWebhook(row)]))
}
