import { randomUUID } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import type { ChunkRelay, RelayNote } from '@org/agent-messaging-core/storage'
import Database from 'better-sqlite3'
import { createForOwnerOnly } from './connection.js'
import { isBusy } from './errors.js'
import { giveToOwnerOf } from '../maintenance/files.js'
import { trueName } from './liveness.js'

export type SqliteChunkRelayOptions = {
  /** The path of the storage, which must be open. */
  readonly path: string
  /** Called with the reason when notes are lost, once per outage. */
  readonly onError?: (reason: string) => void
}

export type SqliteChunkRelay = ChunkRelay & { close(): Promise<void> }

/** The interval of checks while notes arrive, and while none arrive. */
const BUSY_MS = 15
const IDLE_MS = 100
/** The number of checks without a note before the longer interval: about five seconds. */
const QUIET_LOOKS = 300
/** A note is deleted one to two such times after it was sent. */
const KEPT_MS = 5_000
const MAX_READ = 1_000
const MAX_QUEUED = 10_000

type Row = { readonly id: number; readonly note: string }
type Queued = { readonly note: RelayNote; readonly onSent: () => void }
type Notes = {
  readonly db: Database.Database
  readonly write: (notes: readonly Queued[]) => void
  readonly read: (after: number) => Row[]
  readonly deleteUpTo: (id: number) => void
  readonly newest: () => number
}

/** The file of notes beside the storage at `path`. */
const fileOf = (path: string): string => `${trueName(path)}-streams`

/** Removes the notes of earlier processes. No other process can have the storage open. */
export function removeNotes(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(fileOf(path) + end, { force: true })
}

/**
 * Sends notes between processes through a table in a file beside the storage. The first note
 * creates the file, which is never synced. A process without notes only checks whether the file
 * exists.
 */
export const sqliteChunkRelay = (options: SqliteChunkRelayOptions): SqliteChunkRelay =>
  new FileRelay(options)

class FileRelay implements SqliteChunkRelay {
  readonly #options: SqliteChunkRelayOptions
  readonly #sender = randomUUID()
  readonly #listeners = new Set<(note: RelayNote) => void>()
  #queue: Queued[] = []
  #notes: Notes | undefined
  /** The `data_version` at the last check. */
  #version = -1
  /** The last note that was read. */
  #read = 0
  #quietLooks = QUIET_LOOKS
  #pruneAt = 0
  /** Notes up to this one are deleted at `#pruneAt`. */
  #pruneUpTo = 0
  #hasFailed = false
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: SqliteChunkRelayOptions) {
    this.#options = options
    this.#schedule()
  }

  send(note: RelayNote): Promise<void> {
    if (this.#isClosed || this.#queue.length >= MAX_QUEUED) return Promise.resolve()
    return new Promise((onSent) => {
      this.#queue.push({ note, onSent })
      if (this.#quietLooks >= QUIET_LOOKS) this.#schedule(BUSY_MS)
      this.#quietLooks = 0
    })
  }

  onNote(hear: (note: RelayNote) => void): () => void {
    // A new function, because the same one can be registered twice.
    const listener = (note: RelayNote): void => hear(note)
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Sends the remaining notes and closes the file. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#attempt()
    for (const { onSent } of this.#queue.splice(0)) onSent()
    this.#notes?.db.close()
    this.#notes = undefined
  }

  #schedule(ms = this.#quietLooks < QUIET_LOOKS ? BUSY_MS : IDLE_MS): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#attempt()
      if (!this.#isClosed) this.#schedule()
    }, ms).unref()
  }

  #attempt(): void {
    try {
      this.#exchange()
      this.#hasFailed = false
    } catch (error) {
      if (isBusy(error)) return // Another process writes. The next check reads again.
      this.#lose(error)
    }
  }

  #exchange(): void {
    this.#quietLooks++
    const file = fileOf(this.#options.path)
    if (!this.#notes && this.#queue.length === 0 && !existsSync(file)) return
    const notes = (this.#notes ??= this.#open(file))
    if (this.#queue.length > 0) {
      notes.write(this.#queue)
      for (const { onSent } of this.#queue.splice(0)) onSent()
    }
    this.#hear(notes)
    this.#prune(notes)
  }

  /** A write of this connection does not change its `data_version`. */
  #hear(notes: Notes): void {
    const version = Number(notes.db.pragma('data_version', { simple: true }))
    if (version === this.#version) return
    const rows = notes.read(this.#read)
    if (rows.length < MAX_READ) this.#version = version
    for (const { id, note } of rows) {
      this.#read = id
      this.#quietLooks = 0
      for (const listener of this.#listeners) listener(JSON.parse(note) as RelayNote)
    }
  }

  #prune(notes: Notes): void {
    const now = performance.now()
    if (now < this.#pruneAt) return
    if (this.#pruneUpTo > 0) notes.deleteUpTo(this.#pruneUpTo)
    this.#pruneUpTo = notes.newest()
    this.#pruneAt = now + KEPT_MS
  }

  #open(file: string): Notes {
    const notes = openNotes(this.#options.path, file, this.#sender)
    this.#version = -1
    this.#read = 0
    this.#pruneUpTo = 0
    return notes
  }

  #lose(error: unknown): void {
    if (!this.#hasFailed) this.#options.onError?.(String(error))
    this.#hasFailed = true
    for (const { onSent } of this.#queue.splice(0)) onSent()
    this.#notes?.db.close()
    this.#notes = undefined
  }
}

function openNotes(path: string, file: string, sender: string): Notes {
  if (!existsSync(file)) {
    createForOwnerOnly(file)
    giveToOwnerOf(path, file)
  }
  const db = new Database(file, { timeout: 0 })
  try {
    db.pragma('journal_mode = WAL')
    // Notes need not survive a power failure. The first process after one deletes the file.
    db.pragma('synchronous = OFF')
    // Deleted ids are not used again, so that a reader's place stays valid.
    db.exec(`create table if not exists notes (
      id integer primary key autoincrement,
      sender text not null,
      note text not null)`)
    return statementsOf(db, sender)
  } catch (error) {
    db.close()
    throw error
  }
}

function statementsOf(db: Database.Database, sender: string): Notes {
  const insert = db.prepare<[string, string]>('insert into notes (sender, note) values (?, ?)')
  const select = db.prepare<[number, string, number], Row>(
    'select id, note from notes where id > ? and sender <> ? order by id limit ?',
  )
  const remove = db.prepare<[number]>('delete from notes where id <= ?')
  const max = db.prepare<[], number | null>('select max(id) from notes').pluck()
  const insertAll = db.transaction((queue: readonly Queued[]) => {
    for (const { note } of queue) insert.run(sender, JSON.stringify(note))
  })
  return {
    db,
    write: (queue) => insertAll.immediate(queue),
    read: (after) => select.all(after, sender, MAX_READ),
    deleteUpTo: (id) => void remove.run(id),
    newest: () => max.get() ?? 0,
  }
}
