import type { Message } from '@org/agent-messaging-core'
import {
  anAgent,
  aProject,
  newMessage,
  PROJECT_ID,
  unwrap,
  unwrapError,
} from '@org/agent-messaging-testing'
import { searchMessages, type Look, type Source } from '@org/agent-messaging-sql-kit'
import { setImmediate } from 'node:timers'
import { afterEach, expect, it, vi } from 'vitest'
import { tempFile } from '../../test/temp-file.js'
import { openSqliteStorage, type SqliteStorage } from '../open.js'
import { MOST_STEP_WORK, searched, TextScan } from './search-in-steps.js'

const MESSAGES = 40
const BYTES = 60_000
/** The slowest to find: it differs from the texts in its middle. */
const text = `${'a'.repeat(50)}b${'a'.repeat(49)}`

let storage: SqliteStorage
afterEach(() => storage.close())

async function open(end = ''): Promise<SqliteStorage['messages']> {
  storage = openSqliteStorage({ path: tempFile() })
  await storage.credentials.createProject(aProject())
  const agent = anAgent()
  await storage.agents.create(agent, 10)
  for (let now = 0; now < MESSAGES; now++)
    await storage.messages.accept(
      newMessage(agent, { sessionId: `s${now}`, message: 'a'.repeat(BYTES) + end, now }),
    )
  return storage.messages
}

/** Counts the turns of the event loop. */
function countTurns(): { readonly turns: number; stop(): void } {
  let isOn = true
  const counter = { turns: 0, stop: () => (isOn = false) }
  const turn = (): void => {
    counter.turns++
    if (isOn) setImmediate(turn)
  }
  setImmediate(turn)
  return counter
}

it('the event loop turns between the steps of a search', async () => {
  const messages = await open()
  const counter = countTurns()
  const found = await messages.search({ projectId: PROJECT_ID, text }, { limit: 20 })
  counter.stop()
  expect(unwrap(found)).toEqual({ data: [], nextCursor: null })
  const steps = Math.floor((MESSAGES * BYTES * text.length) / MOST_STEP_WORK)
  expect(counter.turns).toBeGreaterThanOrEqual(steps)
})

it.each([{}, { sessionId: 's' }, { createdBefore: 9_000 }])(
  'one page looks at the texts of many rows with %j',
  async (filter) => {
    const messages = await open()
    const agent = anAgent({ maxQueued: 2_000 })
    await storage.agents.create(agent, 10)
    const sent = Array.from({ length: 1_100 }, (_, now) =>
      newMessage(agent, {
        sessionId: 's',
        message: now === 0 ? 'wanted' : '-',
        now,
      }),
    )
    const accepted = await Promise.all(sent.map((message) => messages.accept(message)))
    expect(accepted.map((one) => unwrap(one).kind)).not.toContain('session_full')
    const wanted = { projectId: PROJECT_ID, text: 'WANTED', ...filter }
    const { data } = unwrap(await messages.search(wanted, { limit: 20 }))
    expect(data.map(({ id }) => id)).toEqual([sent[0]?.id])
  },
)

it('a search ends after the step in which its caller leaves', async () => {
  const messages = await open()
  const caller = {
    looks: 0,
    get aborted() {
      return ++this.looks > 3
    },
  }
  const found = await messages.search({ projectId: PROJECT_ID, text }, { limit: 20 }, caller)
  expect(unwrapError(found).reason).toBe('the caller has left')
  expect(caller.looks).toBe(4)
})

it('leaves out a message that changes while the search looks at its text', async () => {
  const messages = await open('z')
  const wanted = { projectId: PROJECT_ID, text: `${'a'.repeat(99)}z`, state: 'queued' } as const
  const { data } = unwrap(await messages.search(wanted, { limit: 2 }))
  const [newest, second] = data as [Message, Message]
  const search = messages.search(wanted, { limit: 2 })
  await messages.cancel({
    projectId: PROJECT_ID,
    agentId: newest.agentId,
    messageId: newest.id,
    state: { kind: 'cancelled', cancelledAt: 1 },
    outgoing: { events: [], nextDeliveryId: () => '' },
  })
  const found = unwrap(await search)
  expect(found.data.map(({ id }) => id)).toEqual([second.id])
  expect(found.nextCursor).toBe(second.id)
})

it('a page ends after four MiB of texts, and the next page continues', async () => {
  const messages = await open()
  const agent = anAgent()
  await storage.agents.create(agent, 10)
  for (let now = 0; now < 6; now++)
    await messages.accept(
      newMessage(agent, { sessionId: `t${now}`, message: 'x'.repeat(1024 * 1024), now }),
    )
  const wanted = { projectId: PROJECT_ID, text: 'aa' }
  const first = unwrap(await messages.search(wanted, { limit: 50 }))
  expect(first.data).toEqual([])
  expect(first.lookedBackTo).toBe(2)
  const ids: string[] = []
  let pages = 1
  for (let cursor = first.nextCursor; cursor !== null; pages++) {
    const page = unwrap(await messages.search(wanted, { limit: 50, cursor }))
    ids.push(...page.data.map(({ id }) => id))
    cursor = page.nextCursor
  }
  expect(new Set(ids).size).toBe(MESSAGES)
  expect(pages).toBeLessThanOrEqual(7)
})

it('a page looks at as many texts of one agent if the project has a hundred others', async () => {
  const messages = await open()
  for (let n = 0; n < 100; n++) {
    const agent = anAgent()
    await storage.agents.create(agent, 1_000)
    await messages.accept(newMessage(agent, { sessionId: 's', message: '-', now: MESSAGES }))
  }
  const wanted = { projectId: PROJECT_ID, text: 'aa' }
  const { data } = unwrap(await messages.search(wanted, { limit: 100 }))
  expect(data).toHaveLength(MESSAGES)
})

it('the agents of a search together are read in a bounded number of rows', () => {
  const agents = Array.from({ length: 1_000 }, (_, n) => ({ source: n }))
  const NEWEST = 1_000_000
  /** Half of the messages are of the first agent. */
  const rowsOf = ({ source, before }: Source, rows: number) => {
    const [step, place] = source === 0 ? [2, 0] : [1_998, 2 * Number(source) - 1]
    const newest = Math.floor((Math.min(before - 1, NEWEST) - place) / step) * step + place
    return Array.from({ length: rows }, (_, n) => newest - n * step).map((seq) => {
      return { id: `${seq}`, seq, at: 0, createdAt: seq, bytes: 1, fits: 1 }
    })
  }
  const asked: number[] = []
  const look: Look = {
    dialect: searched,
    mostRows: 2_000,
    *read(sources, _, { rows }) {
      yield* []
      asked.push(sources.length * rows)
      return sources.map((source) => rowsOf(source, rows))
    },
    *withText() {
      yield* []
      return []
    },
  }
  const steps = searchMessages(look, { projectId: PROJECT_ID, text: 'none' }, { limit: 20 })
  let step = steps.next()
  while (!step.done) {
    const rows = 'ids' in step.value.parameters ? [] : agents
    step = steps.next({ rows, changes: rows.length })
  }
  expect(step.value.lookedBackTo).toBe(NEWEST - 9_999)
  expect(Math.max(...asked)).toBeLessThanOrEqual(21_000)
})

/** Runs the scan. Returns its result and the bytes × length of each step. */
function scanned(wanted: string, rows: readonly (readonly string[])[]) {
  const length = Buffer.byteLength(wanted)
  const works = [0]
  const test = vi.spyOn(RegExp.prototype, 'test')
  test.mockImplementation(function (this: RegExp, piece) {
    if (this.source.length > 1)
      works[works.length - 1] = (works.at(-1) ?? 0) + piece.length * length
    return this.exec(piece) !== null
  })
  const scan = new TextScan(wanted)
  const found: boolean[] = []
  for (const texts of rows) {
    const steps = scan.isIn(texts.map((text) => Buffer.from(text)))
    let step = steps.next()
    for (; !step.done; step = steps.next()) works.push(0)
    found.push(step.value)
  }
  test.mockRestore()
  return { found, works }
}

const LONGEST = `${'a'.repeat(50)}b${'a'.repeat(49)}`

it.each([
  ['long texts', LONGEST, Array.from({ length: 10 }, () => ['a'.repeat(60_000)])],
  ['a very long text', LONGEST, [['a'.repeat(1_000_000), 'a'.repeat(1_000_000)]]],
  ['many short texts', LONGEST, Array.from({ length: 3_000 }, () => ['a'.repeat(200), 'a'])],
  ['characters of four bytes', '😀'.repeat(100), [['😀'.repeat(50_000)], ['😀'.repeat(99)]]],
  ['a short wanted text', 'é', [['e'.repeat(3_000_000)]]],
])('a step over %s does no more work than the limit', (_, wanted, rows) => {
  const { works } = scanned(wanted, rows)
  expect(Math.max(...works)).toBeLessThanOrEqual(MOST_STEP_WORK)
  const bytes = rows.flat().reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (wanted === LONGEST)
    expect(works.reduce((sum, work) => sum + work)).toBeGreaterThanOrEqual(bytes * wanted.length)
})

it('a step reads a bounded number of rows', () => {
  const { works } = scanned(
    'wanted',
    Array.from({ length: 2_001 }, () => ['']),
  )
  expect(works).toHaveLength(11)
})

it.each(['Größe €😀 Z'.padEnd(100, 'x'), '€'.repeat(100)])(
  'finds %s wherever a piece ends, and in either case of ASCII letters',
  (wanted) => {
    const piece = Math.floor(MOST_STEP_WORK / Buffer.byteLength(wanted))
    const at = Array.from({ length: 450 }, (_, place) => piece - 440 + place)
    const rows = at.map((place) => [
      '.'.repeat(place) + wanted.replaceAll(/[a-z]/gi, swapped) + '.',
    ])
    expect(scanned(wanted, rows).found).toEqual(at.map(() => true))
  },
)

it.each([
  ['©', 'é'],
  ['É', 'é'],
  ['K', '\u212A'], // the sign of Kelvin
  ['a.c', 'abc'],
  ['[', '{'],
])('does not find %s in %s', (wanted, text) => {
  expect(scanned(wanted, [[text.repeat(30_000)]]).found).toEqual([false])
})

const swapped = (letter: string): string =>
  letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
