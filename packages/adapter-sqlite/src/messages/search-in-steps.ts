import { setImmediate } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'
import {
  CALLER_LEFT,
  matchesFields,
  MOST_TEXT_BYTES,
  type Message,
  type MessageSearch,
  type MessageStore,
  type Page,
  type PageOf,
} from '@org/agent-messaging-core/storage'
import { err, ok, safeTry } from 'neverthrow'
import type { GroupCommitter } from '../database/group-committer.js'
import { messageSearch, MOST_READ, type PageStart } from './message-search.js'
import { TextScan } from './text-scan.js'

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

  return (search, page, caller) => {
    const { text } = search
    if (text === undefined)
      return committer.read(() =>
        pageOf(reach(search, page, { rows: mostRead, bytes: MOST_TEXT_BYTES }), page.limit),
      )
    return safeTry(async function* () {
      const steps = textSteps({ ...search, text }, page)
      for (;;) {
        const step = yield* committer.read(() => steps.next())
        if (step.done) return ok(step.value)
        await setImmediate()
        if (caller?.aborted) return err(CALLER_LEFT)
      }
    })
  }
}
