import type { Storage } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { errAsync } from 'neverthrow'
import { agentStore, releaseAgents } from './agent-store.js'
import { createCommitter, type Committer } from './committer.js'
import { openConnection } from './connection.js'
import { credentialStore } from './credential-store.js'
import { watchForDamage } from './damage.js'
import { deliveryStore, releaseDeliveries } from './delivery-store.js'
import { requireFittingDriver } from './driver-check.js'
import { erasureOf } from './erasure.js'
import { fanOutOf } from './fan-out.js'
import { openLiveness, type Liveness } from './liveness.js'
import { messageStore } from './message-store.js'
import { migrate } from './migrate.js'
import { migrations } from './migrations/index.js'
import { explainOpenFailure } from './open-error.js'
import { releaseSessions, sessionRows } from './session-row.js'
import { webhookRows } from './webhook-rows.js'
import { webhookStore } from './webhook-store.js'

export type SqliteOptions = {
  /** The database file, made if it is missing (its folder is not), or ':memory:'. */
  readonly path: string
  /**
   * How long a write waits while other processes write, before it is `Unavailable`; the event loop turns meanwhile. The opening and
   * the closing wait as long with the loop standing still. Reads never wait. 5,000 if absent.
   */
  readonly busyTimeoutMs?: number
  /** Writes that may wait for their commit; one more is `Unavailable`. 10,000 if absent. */
  readonly maxQueuedWrites?: number
  /** Is told, once, that the file was found damaged while it was in use. From then on a ping fails. */
  readonly onDamage?: (sentence: string) => void
}

export type SqliteStorage = Storage & {
  readonly path: string
  /** Nobody else had the file open, so the claims of processes that died were released: their work is due at once. */
  readonly alone: boolean
}

/**
 * Opens the storage, and brings its schema up to date. Any number of processes of one machine may have one file open.
 * Throws `SqliteOpenError`, whose message is for the operator, when it cannot.
 */
export function openSqliteStorage(options: SqliteOptions): SqliteStorage {
  try {
    requireFittingDriver()
    return openStorage(options)
  } catch (error) {
    throw explainOpenFailure(options.path, error)
  }
}

function openStorage({
  path,
  busyTimeoutMs = 5_000,
  maxQueuedWrites = 10_000,
  onDamage = () => undefined,
}: SqliteOptions): SqliteStorage {
  const db = openConnection(path, busyTimeoutMs)
  try {
    migrate(db, migrations)
    const damage = watchForDamage(path, onDamage)
    const committer = createCommitter(db, {
      maxQueued: maxQueuedWrites,
      patienceMs: busyTimeoutMs,
      explain: damage.explain,
    })
    const stores = storesOf(db, committer)
    const liveness =
      path === ':memory:' ? aloneInMemory : openLiveness(path, () => releaseClaims(db))
    // From here on the committer does the waiting, up to the last commits.
    db.pragma('busy_timeout = 0')
    const close = (): void => {
      if (db.open) db.pragma(`busy_timeout = ${busyTimeoutMs}`)
      committer.close()
      db.close()
      liveness.close()
    }
    const ping: Storage['ping'] = () => {
      const found = damage.found()
      return found ? errAsync(found) : stores.ping()
    }
    return { ...stores, ping, close: async () => close(), path, alone: liveness.alone }
  } catch (error) {
    db.close()
    throw error
  }
}

const aloneInMemory: Liveness = { alone: true, close: () => undefined }

/** For when those who held them are known to be dead. */
function releaseClaims(db: Database): void {
  const release = db.transaction(() => {
    releaseSessions(db)
    releaseDeliveries(db)
    releaseAgents(db)
  })
  release.immediate()
}

/** Each prepares its statements, once. */
export function storesOf(db: Database, committer: Committer): Omit<Storage, 'close'> {
  const webhooks = webhookRows(db)
  const parts = {
    webhooks,
    sessions: sessionRows(db),
    fanOut: fanOutOf(db, webhooks),
    erasure: erasureOf(db),
  }
  return {
    messages: messageStore(db, committer, parts),
    deliveries: deliveryStore(db, committer, parts),
    webhooks: webhookStore(db, committer, webhooks),
    agents: agentStore(db, committer, parts),
    credentials: credentialStore(db, committer),
    ping: () => committer.write(() => rewriteVersion(db)),
  }
}

/** A write like any other, to the disk and all, that changes nothing. */
function rewriteVersion(db: Database): void {
  db.pragma(`user_version = ${String(db.pragma('user_version', { simple: true }))}`)
}
