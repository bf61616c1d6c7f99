import type { Message } from '@org/agent-messaging-core'
import { ShortLivedMap } from '@org/agent-messaging-core/runtime'
import type {
  ChunkRelay,
  RelayNote,
  ResponseSignal,
  WaitingWork,
  WorkSignal,
} from '@org/agent-messaging-core/storage'
import type pg from 'pg'
import { NotifyConnection } from './notify-connection.js'
import { connectionTo } from './postgres-url.js'

export type PostgresSignalOptions = (
  | { readonly connectionString: string }
  /**
   * The signal opens its own connection to the pool's database and keeps it. The connection must
   * not go through a pooler in transaction mode.
   */
  | { readonly pool: pg.Pool }
) & {
  /** Called with the reason when wake-ups stop arriving, once per outage. */
  readonly onError?: (reason: string) => void
}

export type PostgresSignal = ResponseSignal &
  WorkSignal &
  ChunkRelay & {
    /** Sends the remaining wake-ups and closes the connection. */
    close(): Promise<void>
  }

type Hear = Parameters<ResponseSignal['listen']>[1]

/** A topic is the id of a final message, or names waiting work. */
const DELIVERIES = 'deliveries'
const MESSAGES_OF = 'messages:'
const EVENTS_OF = 'events:'
const WEBHOOK = 'webhook:'

/**
 * Wakes listeners in all processes on the database by NOTIFY. Listeners in this process wake at
 * once and get the message. During an outage of the connection other processes hear nothing and
 * poll.
 */
export function postgresSignal({
  onError = () => undefined,
  ...place
}: PostgresSignalOptions): PostgresSignal {
  const listeners = new ShortLivedMap<string, Set<Hear>>()
  const workers = new Set<{ hear(work: WaitingWork): void }>()

  function wake(messageId: string, message?: Message): void {
    for (const hear of listeners.get(messageId) ?? []) hear(message)
  }

  function onTopic(topic: string): void {
    const work = workOf(topic)
    if (work) for (const { hear } of workers) hear(work)
    else wake(topic)
  }

  const readers = new Set<{ hear(note: RelayNote): void }>()
  function onNote(text: string): void {
    const note = JSON.parse(text) as RelayNote
    for (const { hear } of readers) hear(note)
  }

  const connection = 'pool' in place ? optionsOf(place.pool) : connectionTo(place.connectionString)
  const notifications = new NotifyConnection({ connection, onTopic, onNote, onError })
  return {
    notify: (message) => {
      wake(message.id, message)
      notifications.send(message.id)
    },
    listen: (messageId, hear) => {
      const hearers = listeners.get(messageId) ?? new Set()
      listeners.set(messageId, hearers.add(hear))
      return () => {
        hearers.delete(hear)
        if (hearers.size === 0) listeners.delete(messageId)
      }
    },
    announce: (work) => notifications.send(topicOf(work)),
    onAnnounced: (hear) => {
      const worker = { hear }
      workers.add(worker)
      return () => void workers.delete(worker)
    },
    send: (note) => notifications.sendNote(JSON.stringify(note)),
    onNote: (hear) => {
      const reader = { hear }
      readers.add(reader)
      return () => void readers.delete(reader)
    },
    close: () => notifications.close(),
  }
}

/** Adds the password, which pg hides from a copy of its options. */
const optionsOf = ({ options }: pg.Pool): pg.ClientConfig => ({
  ...options,
  password: options.password,
})

function topicOf(work: WaitingWork): string {
  switch (work.kind) {
    case 'deliveries':
      return DELIVERIES
    case 'messages':
      return MESSAGES_OF + work.agentId
    case 'events':
      return EVENTS_OF + work.projectId
    case 'webhook':
      return `${WEBHOOK}${work.projectId}:${work.webhookId}`
  }
}

/** Returns the work that a topic names, undefined for the id of a message. */
function workOf(topic: string): WaitingWork | undefined {
  if (topic === DELIVERIES) return { kind: 'deliveries' }
  if (topic.startsWith(EVENTS_OF))
    return { kind: 'events', projectId: topic.slice(EVENTS_OF.length) }
  if (topic.startsWith(WEBHOOK)) {
    const [projectId = '', webhookId = ''] = topic.slice(WEBHOOK.length).split(':')
    return { kind: 'webhook', projectId, webhookId }
  }
  return topic.startsWith(MESSAGES_OF)
    ? { kind: 'messages', agentId: topic.slice(MESSAGES_OF.length) }
    : undefined
}
