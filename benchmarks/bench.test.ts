import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { rows } from './rows/index.mjs'

const RUN = fileURLToPath(new URL('run.mjs', import.meta.url))
/** Rows that another one tests, because they differ in the store or a number alone. */
const TESTED_BY_OTHERS = [
  'publish',
  'two-servers',
  'latency-postgres',
  'light-sqlite',
  'send-callers',
  'send-webhook',
  'first-minute-postgres',
  'soak',
  'scale',
  'projects',
  'fan-out-postgres',
  'fan-out-publish',
  'overload',
  'send-during-search-postgres',
  'growth-send',
  'growth-deliver-postgres',
  'deliver-ordered-postgres',
  'kills-postgres',
  'failed-500',
  'pool-postgres',
  'refused-429',
  'idle-memory',
]
const MORE_ROWS = [
  'kills',
  'idle-memory-postgres',
  'pending-deliveries',
  'waiting-callers',
  'open-streams',
  'soak-postgres',
  'purge-postgres',
]
const ROWS = Object.keys(rows).filter((row) => ![...TESTED_BY_OTHERS, ...MORE_ROWS].includes(row))
const WITH_LIMIT = ['send', 'send-postgres', 'deliver', 'deliver-postgres']
const TINY = {
  rounds: 1,
  seconds: 0.2,
  connections: 4,
  messages: 10,
  beside: 20,
  settle: 0.1,
  // More than one commit of the fastest program.
  deliveries: 1_000,
  pending: 100,
  waiting: 20,
  stored: 100,
  minute: 0.2,
  minutes: 0.01,
  kills: 1,
  projects: 2,
}

const bench = (...args: readonly string[]) => promisify(execFile)(process.execPath, [RUN, ...args])
const sizes = Object.entries(TINY).map(([name, size]) => `--${name}=${size}`)

/** Returns the cells of the table by row. */
const linesOf = (output: string) =>
  new Map(
    output
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| /, '').trim()))
      .map(([row = '', ...cells]) => [row, cells]),
  )

describe('each row, with tiny sizes', () => {
  let lines: ReturnType<typeof linesOf>
  beforeAll(async () => {
    const chosen = [...ROWS, ...MORE_ROWS].map((row) => `--row=${row}`)
    // A row waits for its programs half of the time.
    const halves = [0, 1].map((half) => chosen.filter((_, at) => at % 2 === half))
    const printed = await Promise.all(halves.map((half) => bench(...sizes, ...half)))
    lines = linesOf(printed.map(({ stdout }) => stdout).join('\n'))
  }, 600_000)

  it.each(ROWS)('%s prints figures of the service and the floor, and their ratio', (row) => {
    const [, ours, floor, , , ratio] = lines.get(row) ?? []
    expect(ours).toMatch(/^\d/)
    expect(floor).toMatch(/: \d/)
    expect(ratio).toMatch(/\d/)
  })

  it.each(WITH_LIMIT)('%s prints the figure without a store', (row) => {
    const [, , , limit] = lines.get(row) ?? []
    expect(limit).toMatch(/no store: \d/)
  })

  it.each(MORE_ROWS)('%s prints a figure of the service', (row) => {
    const [, ours] = lines.get(row) ?? []
    expect(ours).toMatch(/^-?\d/)
  })

  it('deliver-postgres prints figures of the peers that are dependencies', () => {
    const [, , , , peers] = lines.get('deliver-postgres') ?? []
    expect(peers).toMatch(/graphile-worker: \d.*pg-boss: \d/)
  })
})

it('the table contains the reason if a row cannot be measured', async () => {
  const env = { ...process.env, TEST_DATABASE_URL: 'postgres://127.0.0.1:1/nobody' }
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [RUN, '--row=send-postgres', ...sizes],
    { env },
  )
  expect(linesOf(stdout).get('send-postgres')?.[1]).toMatch(/^– \(.*ECONNREFUSED/)
})

it('an interrupted run leaves no files and no servers behind', { timeout: 300_000 }, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-interrupted-'))
  await chmod(folder, 0o755) // PostgreSQL can run as another user.
  const running = spawn(process.execPath, [RUN, '--row=deliver-postgres', ...sizes], {
    env: { ...process.env, TMPDIR: folder },
  })
  let printed = ''
  for await (const text of running.stderr.setEncoding('utf8')) {
    printed += String(text)
    if (printed.includes('ours, PostgreSQL')) running.kill('SIGINT')
  }
  const [code] =
    running.exitCode === null ? ((await once(running, 'exit')) as [number]) : [running.exitCode]
  expect({ code, left: await readdir(folder) }).toEqual({ code: 1, left: [] })
  await rm(folder, { recursive: true })
})
