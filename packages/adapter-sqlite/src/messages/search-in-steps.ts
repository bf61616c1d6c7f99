import type { Message, Page } from '@org/agent-messaging-core'
import { failure, success } from '@org/agent-messaging-core/runtime'
import {
  CALLER_LEFT,
  matchesFields,
  MOST_TEXT_BYTES,
  type MessageSearch,
  type MessageStore,
  type PageOf,
} from '@org/agent-messaging-core/storage'
import type { PageStart } from '@org/agent-messaging-sql-kit'
import type { Database } from 'better-sqlite3'
import { setImmediate } from 'node:timers/promises'
import type { GroupCommitter } from '../database/group-committer.js'
import { messageSearch, MOST_READ } from './message-search.js'

/** The most that a step looks at: bytes of texts × bytes of the wanted text. */
export const MOST_STEP_WORK = 2_000_000
/** The work of reading a row, so that a step reads at most 500. */
const ROW_WORK = 4_000

/**
 * Looks for a text in the rows of a search, and yields at the end of each step. Compares bytes of
 * UTF-8: a match begins with the first byte of a character, so a piece can begin within one.
 */
export class TextScan {
  readonly #wanted: RegExp
  readonly #length: number
  /** Of this step. */
  #work = 0

  constructor(wanted: string) {
    const bytes = Buffer.from(wanted)
    this.#wanted = new RegExp([...bytes].map(either).join(''))
    this.#length = Math.max(1, bytes.length)
  }

  /** True if one of the row's texts has the wanted one. ASCII letters match in either case. */
  *isIn(texts: readonly Buffer[]): Generator<void, boolean> {
    yield* this.#spend(ROW_WORK)
    for (const text of texts) if (yield* this.#isIn(text)) return true
    return false
  }

  /** Looks at a long text in pieces, which overlap by the length of the wanted one. */
  *#isIn(text: Buffer): Generator<void, boolean> {
    const most = Math.max(2 * this.#length, Math.floor(MOST_STEP_WORK / this.#length))
    for (let from = 0; ; from += most - this.#length) {
      const to = Math.min(text.length, from + most)
      yield* this.#spend((to - from) * this.#length)
      if (this.#wanted.test(text.toString('latin1', from, to))) return true
      if (to === text.length) return false
    }
  }

  *#spend(work: number): Generator<void, void> {
    if (this.#work + work > MOST_STEP_WORK) {
      this.#work = 0
      yield
    }
    this.#work += work
  }
}

/** Matches the byte, or a letter of ASCII in either case. */
function either(byte: number): string {
  const character = String.fromCharCode(byte)
  return /[a-z]/i.test(character)
    ? `[${character.toLowerCase()}${character.toUpperCase()}]`
    : String.raw`\x${byte.toString(16).padStart(2, '0')}`
}

type Texts = { readonly message: Buffer; readonly response: Buffer | null }
type TextSearch = MessageSearch & { readonly text: string }

/** Rows that a step finds, before it looks at their texts. */
const STEP_ROWS = 500

/**
 * `MessageStore.search`. A search for a text takes many steps, and the event loop turns between
 * them. Each other search is one step.
 */
export function searchInSteps(
  db: Database,
  committer: GroupCommitter,
  mostRead = MOST_READ,
): MessageStore['search'] {
  const { reach, pageOf } = messageSearch(db)
  const textsOf = db.prepare<[number], Texts>(
    'select cast(message as blob) as message, cast(response as blob) as response from messages where seq = +?',
  )

  function* textSteps(
    search: TextSearch,
    { limit, cursor }: PageOf,
  ): Generator<void, Page<Message>> {
    const scan = new TextScan(search.text)
    const found: PageStart[] = []
    let endId: string | null = cursor ?? null
    let rows = mostRead
    let bytes = MOST_TEXT_BYTES
    do {
      const page = { limit, ...(endId !== null && { cursor: endId }) }
      const reached = reach(search, page, { rows: Math.min(rows, STEP_ROWS), bytes })
      yield
      for (const place of reached.places) {
        const row = textsOf.get(place.seq)
        const texts = row ? [row.message, ...(row.response ? [row.response] : [])] : []
        for (const { length } of texts) bytes -= length
        if (yield* scan.isIn(texts)) found.push(place)
        if (found.length > limit) break
      }
      endId = reached.endId
      rows -= reached.rows
    } while (endId !== null && rows > 0 && bytes > 0 && found.length <= limit)
    const { data, nextCursor } = pageOf({ places: found, endId }, limit)
    // Between two steps, a message can change or be erased.
    return { data: data.filter((message) => matchesFields(message, search)), nextCursor }
  }

  return async (search, page, caller) => {
    const { text } = search
    if (text === undefined)
      return committer.read(() =>
        pageOf(reach(search, page, { rows: mostRead, bytes: MOST_TEXT_BYTES }), page.limit),
      )
    const steps = textSteps({ ...search, text }, page)
    for (;;) {
      const step = await committer.read(() => steps.next())
      if (!step.ok) return step
      if (step.value.done) return success(step.value.value)
      await setImmediate()
      if (caller?.aborted) return failure(CALLER_LEFT)
    }
  }
}
