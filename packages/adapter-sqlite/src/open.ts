import type { Unavailable } from '@org/agent-messaging-core'
import { failure } from '@org/agent-messaging-core/runtime'
import type { Storage, Stored, TakenOver } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { statSync } from 'node:fs'
import { removeNotes } from './database/chunk-relay.js'
import { openConnection } from './database/connection.js'
import { explainOpenFailure, unavailable } from './database/errors.js'
import { GroupCommitter } from './database/group-committer.js'
import { type Liveness, openLiveness, trueName } from './database/liveness.js'
import { releaseDeliveries } from './deliveries/delivery-store.js'
import { DamageWatch } from './maintenance/damage.js'
import { releaseSessions } from './messages/sessions.js'
import { migrate } from './schema/migrate.js'
import { requireFittingNode } from './schema/require-node.js'
import { storesOf } from './stores.js'

/**
 * Tells whether the path of an open file still names that file. SQLite does not notice that a file
 * was deleted, renamed or replaced: it writes on to a file that nothing can find.
 */
class FileWatch {
  readonly #files: readonly string[]
  readonly #onLost: (sentence: string) => void
  /** The identity of the file and of its log. The log is known from its first sight on. */
  readonly #known = new Map<string, string>()
  #isLost = false

  /** `onLost` is called whenever the file is lost, with a sentence for the operator. */
  constructor(path: string, onLost: (sentence: string) => void) {
    // SQLite resolves symbolic links before it names the log.
    this.#files = [path, `${trueName(path)}-wal`]
    this.#onLost = onLost
    this.check()
  }

  /** Returns the problem, or undefined while both files are in place. */
  readonly check = (): Unavailable | undefined => {
    const lost = this.#files.find((file) => this.#isMissing(file))
    if (lost === undefined) {
      this.#isLost = false
      return undefined
    }
    const problem = unavailable(lostSentence(lost))
    if (!this.#isLost) this.#onLost(problem.reason)
    this.#isLost = true
    return problem
  }

  #isMissing(file: string): boolean {
    const found = statSync(file, { throwIfNoEntry: false })
    const identity = found && `${found.dev} ${found.ino}`
    const known = this.#known.get(file)
    if (known === undefined && identity !== undefined) this.#known.set(file, identity)
    return known !== undefined && known !== identity
  }
}

const lostSentence = (file: string): string =>
  `${file} was deleted, renamed or replaced while this process had it open, so nothing more is ` +
  'written. Move the original file back to continue. If it was deleted, copy it and its -wal ' +
  `file from /proc/${process.pid}/fd (Linux) before you stop this process, or restore a backup.`

export type SqliteOptions = {
  /** The database file, or ':memory:'. A missing file is created, a missing folder is not. */
  readonly path: string
  /**
   * How long a write waits while other processes write. After that it is `Unavailable`. The event
   * loop continues during a write, but not while the storage opens or closes. Reads never wait.
   * Default: 5,000.
   */
  readonly busyTimeoutMs?: number
  /** Writes that can wait for their commit. One more write is `Unavailable`. Default: 10,000. */
  readonly maxQueuedWrites?: number
  /**
   * Called with a sentence for the operator when an operation finds the file damaged, and when the
   * file was deleted, renamed or replaced. From then on, a ping fails and no new work starts. A
   * file that is moved back can be used again.
   */
  readonly onDamage?: (sentence: string) => void
}

export type SqliteStorage = Storage & {
  readonly path: string
  /**
   * True if no other process had the file open. The claims of dead processes were then released.
   */
  readonly alone: boolean
}

/**
 * Opens the storage and migrates its schema. Several processes of one machine can have one file
 * open. Throws `SqliteOpenError`, whose message is for the operator.
 */
export function openSqliteStorage(options: SqliteOptions): SqliteStorage {
  try {
    requireFittingNode()
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
  const lastWriteAt = lastWriteTo(path)
  const db = openConnection(path, busyTimeoutMs)
  try {
    migrate(db)
    const damage = new DamageWatch(path, onDamage)
    const file = path === ':memory:' ? undefined : new FileWatch(path, onDamage)
    const committer = new GroupCommitter(db, {
      maxQueued: maxQueuedWrites,
      busyTimeoutMs,
      explain: damage.explain,
      ...(file && { obstacle: file.check }),
    })
    const stores = withoutNewWork(storesOf(db, committer), () => damage.found)
    let takenOver: TakenOver | undefined
    const takeOver = (): void => {
      removeNotes(path)
      takenOver = releaseClaims(db)
    }
    const liveness = path === ':memory:' ? aloneInMemory : openLiveness(path, takeOver)
    // From here until `close`, the committer waits for other writers, not SQLite.
    db.pragma('busy_timeout = 0')
    const close = (): void => {
      if (db.open) db.pragma(`busy_timeout = ${busyTimeoutMs}`)
      committer.close()
      db.close()
      liveness.close()
    }
    return {
      ...stores,
      close: async () => close(),
      path,
      alone: liveness.alone,
      lastWriteAt,
      ...(takenOver && { takenOver }),
    }
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Starts no new work, and fails each ping, once the file is damaged: results that cannot be stored
 * would repeat the work without end. Results of work in flight are still stored where that is possible.
 */
function withoutNewWork<Stores extends Omit<Storage, 'close'>>(
  stores: Stores,
  damage: () => Unavailable | undefined,
): Stores {
  const unlessDamaged =
    <A extends readonly unknown[], T>(method: (...args: A) => Stored<T>) =>
    (...args: A): Stored<T> => {
      const found = damage()
      return found ? Promise.resolve(failure(found)) : method(...args)
    }
  const { messages, deliveries, ping } = stores
  return {
    ...stores,
    messages: {
      ...messages,
      accept: unlessDamaged(messages.accept),
      claimRunnable: unlessDamaged(messages.claimRunnable),
    },
    deliveries: { ...deliveries, claimDue: unlessDamaged(deliveries.claimDue) },
    ping: unlessDamaged(ping),
  }
}

/** When the file or its WAL was last written, or 0 for a new one. */
const lastWriteTo = (path: string): number =>
  Math.max(
    ...[path, `${path}-wal`].map((file) =>
      Math.floor(statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0),
    ),
  )

const aloneInMemory: Liveness = { alone: true, close: () => undefined }

/** Releases all claims. Their holders must be dead. Returns their numbers. */
function releaseClaims(db: Database): TakenOver {
  const release = db.transaction(() => {
    db.exec('update event_listeners set owned_until = 0')
    return {
      messages: releaseSessions(db),
      deliveries: releaseDeliveries(db),
      agents: db
        .prepare('update agents set owner = null, owned_until = null where owner is not null')
        .run().changes,
    }
  })
  return release.immediate()
}
