import { failure, idEndIn, success } from '@org/agent-messaging-core/runtime'
import {
  CALLER_LEFT,
  type MessageSearch,
  type MessageStore,
  type SearchPath,
} from '@org/agent-messaging-core/storage'
import {
  all,
  one,
  searchMessages,
  type Answer,
  type Look,
  type Place,
  type SearchDialect,
  type Source,
  type Sql,
  type Step,
} from '@org/agent-messaging-sql-kit'
import type { GroupCommitter } from '../database/group-committer.js'
import { dialect, type Perform } from '../database/operations.js'

/** The most that a step looks at: bytes of texts × bytes of the wanted text. */
export const MOST_STEP_WORK = 2_000_000
/** The work of reading a row, so that a step reads at most 200. */
const ROW_WORK = 10_000
const MOST_ROWS_READ = 200

/** Ends a step. */
const PAUSE: Step = { statement: () => 'select 1', parameters: {} }

/**
 * Looks for a text in the rows of a search, and pauses at the end of each step. Compares bytes of
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
  *isIn(texts: readonly Buffer[]): Generator<Step, boolean, Answer> {
    yield* this.readRows(1)
    for (const text of texts) if (yield* this.#isIn(text)) return true
    return false
  }

  *readRows(rows: number): Generator<Step, void, Answer> {
    yield* this.#spend(rows * ROW_WORK)
  }

  /** Looks at a long text in pieces, which overlap by the length of the wanted one. */
  *#isIn(text: Buffer): Generator<Step, boolean, Answer> {
    const most = Math.max(2 * this.#length, Math.floor(MOST_STEP_WORK / this.#length))
    for (let from = 0; ; from += most - this.#length) {
      const to = Math.min(text.length, from + most)
      yield* this.#spend((to - from) * this.#length)
      if (this.#wanted.test(text.toString('latin1', from, to))) return true
      if (to === text.length) return false
    }
  }

  *#spend(work: number): Generator<Step, void, Answer> {
    if (this.#work + work > MOST_STEP_WORK) {
      this.#work = 0
      yield PAUSE
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

type Texts = {
  readonly message: Buffer
  readonly response: Buffer | null
  readonly sessionId: Buffer
}
const textsOf: Sql<{ readonly id: string }, Texts> = () => `
    select cast(m.message as blob) as message, cast(m.response as blob) as response,
      cast(s.session_id as blob) as "sessionId"
    from messages m join sessions s on s.seq = m.session_seq where m.id = +@id`

const INDEX: Readonly<Partial<Record<SearchPath, string>>> = {
  correlation: 'messages_correlation',
  end_user: 'messages_end_user',
  asking: 'messages_asking',
  open: 'messages_unanswered',
  time: 'messages_created',
  all: 'messages_agent',
}

export const searched: SearchDialect = {
  ...dialect,
  source: '@source',
  before: '@before',
  beforeAt: '@beforeAt',
  correlationStart: `instr(m.metadata, '"correlationId"') > 0
    and substr(m.metadata ->> 'correlationId', 1, 64) = substr(@correlationId, 1, 64)`,
  correlation: `json_type(m.metadata, '$.correlationId') in ('text', 'integer', 'real')
    and cast(m.metadata ->> 'correlationId' as text) = @correlationId`,
  hasAnswer: "m.state = 'responded'",
  tables: (path) => {
    const index = INDEX[path]
    const table =
      path === 'scope'
        ? 'sessions s cross join messages m on m.session_seq = s.seq'
        : `messages m ${index === undefined ? '' : `indexed by ${index}`}`
    return [{ table, condition: path === 'open' ? "m.state <> 'responded'" : 'true' }]
  },
  eachSource: (places) => places,
}

const lookWith = (scan: TextScan): Look => ({
  dialect: searched,
  mostRows: MOST_ROWS_READ,
  *read(sources: readonly Source[], statement: Sql<object, Place>, parameters) {
    const places: (readonly Place[])[] = []
    for (const source of sources) {
      yield* scan.readRows(parameters.rows)
      places.push(yield* all(statement, { ...parameters, ...source }))
    }
    return places
  },
  *withText(places, text, limit) {
    const idEnd = idEndIn(text)
    const found: Place[] = []
    for (const place of places) {
      const row = yield* one(textsOf, { id: place.id })
      const texts = row ? [row.sessionId, row.message, ...(row.response ? [row.response] : [])] : []
      const hasEnd = idEnd !== undefined && place.id.endsWith(idEnd)
      if (hasEnd || (yield* scan.isIn(texts))) found.push(place)
      if (found.length === limit) break
    }
    return found
  },
})

/** `MessageStore.search`. It takes many steps, and waiting writes go before each of them. */
export const searchInSteps =
  (committer: GroupCommitter, perform: Perform, mostRows?: number): MessageStore['search'] =>
  async (search: MessageSearch, page, caller) => {
    const steps = searchMessages(lookWith(new TextScan(search.text ?? '')), search, page, mostRows)
    let answer: Answer = { rows: [], changes: 0 }
    const advance = () => {
      for (;;) {
        const step = steps.next(answer)
        if (step.done || step.value === PAUSE) return step
        answer = perform(answered, step.value)
      }
    }
    for (;;) {
      const step = await committer.read(advance)
      if (!step.ok) return step
      if (step.value.done) return success(step.value.value)
      await committer.turn()
      if (caller?.aborted) return failure(CALLER_LEFT)
    }
  }

function* answered(step: Step): Generator<Step, Answer, Answer> {
  return yield step
}
