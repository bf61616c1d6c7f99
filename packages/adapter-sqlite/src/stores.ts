import type { Agent, ApiKey } from '@org/agent-messaging-core'
import { NO_CLAIMS, type Storage } from '@org/agent-messaging-core/storage'
import {
  agentStore,
  auditStore,
  changeAgentState,
  countsStore,
  credentialStore,
  findAgent,
  findKey,
  lastMove,
  moveTimes,
  eventTypeStore,
  portalStore,
  recoveryStore,
  webhookStore,
} from '@org/agent-messaging-sql-kit'
import type { Database } from 'better-sqlite3'
import type { GroupCommitter } from './database/group-committer.js'
import { deliveryStore } from './deliveries/delivery-store.js'
import { eventStore } from './events/event-store.js'
import { fanOutOf } from './events/fan-out.js'
import { messageStore } from './messages/message-store.js'
import { performer, runnerOf } from './database/operations.js'
import { SendBuckets } from './messages/send-buckets.js'
import { SessionRows } from './messages/sessions.js'
import { CountEntries } from './messages/counts.js'
import { VersionedCache } from './database/versioned-cache.js'
import { WebhookRows } from './webhooks/receivers.js'

/** Creates the stores, which prepare each statement once. */
export function storesOf(db: Database, committer: GroupCommitter): Omit<Storage, 'close'> {
  const webhooks = new WebhookRows(db)
  const perform = performer(db)
  const runner = runnerOf(committer, perform)
  const ofWebhooks = runnerOf(committer, perform, () => webhooks.changed())
  const agents = new VersionedCache<string, Agent | undefined>(db)
  const keys = new VersionedCache<string, ApiKey | undefined>(db)
  const parts = {
    webhooks,
    sessions: new SessionRows(db),
    fanOut: fanOutOf(db, webhooks),
    counts: committer.collecting(new CountEntries(db)),
    buckets: committer.collecting(new SendBuckets(db)),
    perform,
  }
  return {
    messages: messageStore(db, committer, parts),
    deliveries: deliveryStore(db, committer, parts),
    recoveries: recoveryStore(ofWebhooks),
    events: eventStore(db, committer, runner, parts),
    webhooks: webhookStore(ofWebhooks),
    agents: {
      ...agentStore(runnerOf(committer, perform, () => agents.clear())),
      get: (projectId, idOrName) =>
        committer.read(() =>
          agents.get(`${projectId} ${idOrName}`, () => perform(findAgent, projectId, idOrName)),
        ),
      changeState: (change) =>
        committer.write(() => {
          agents.clear()
          const changed = perform(changeAgentState, change)
          const { outgoing } = change
          return { changed, ...(changed && outgoing ? parts.fanOut(outgoing) : NO_CLAIMS) }
        }),
    },
    credentials: {
      ...credentialStore(runnerOf(committer, perform, () => keys.clear())),
      findByDigest: (digest) =>
        committer.read(() => keys.get(digest, () => perform(findKey, digest))),
    },
    audit: auditStore(runner),
    eventTypes: eventTypeStore(runner),
    portals: portalStore(runner),
    counts: countsStore(runner),
    lastMove: perform(lastMove),
    moveTimes: ofWebhooks.write(moveTimes),
    ping: () => committer.write(() => rewriteVersion(db)),
  }
}

/** A write that reaches the disk and changes no row. */
function rewriteVersion(db: Database): void {
  db.pragma(`user_version = ${String(db.pragma('user_version', { simple: true }))}`)
}
