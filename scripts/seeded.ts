import { spawn } from 'node:child_process'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import { wrongCounts } from '../faults/checker/counts.js'
import { factsOfTables } from '../faults/checker/facts-of-tables.js'
import type { Counts, Fact } from '../faults/checker/history.js'
import { servedCounts } from '../faults/checker/served-counts.js'
import { commandLine } from '../packages/server/test/command-line.js'
import { API_KEY, realServer, until } from '../packages/server/test/e2e/real-server.js'

const SEED = fileURLToPath(new URL('seed.mjs', import.meta.url))
const METRICS_TOKEN = 'a-metrics-token-for-the-tests'
/**
 * The open work in the tables at a time. A process also holds deliveries of a webhook that is at
 * its limit, which no table knows.
 */
const OPEN = `
  select
    (select count(*) from deliveries where due_at is not null) as open,
    (select count(*) from deliveries where due_at <= :now) as due,
    (select count(*) from deliveries d join webhooks w on w.seq = d.webhook_seq
      where d.due_at <= :now and w.circuit_until > :now) +
    (select coalesce(sum(due - 1), 0) from (
      select count(*) as due from deliveries d join webhooks w on w.seq = d.webhook_seq
      where d.due_at <= :now and w.circuit_until <= :now group by w.seq)) as circuit,
    (select count(*) from agents where state = 'running') as running,
    (select count(*) from agents) as agents,
    (select count(distinct principal ->> 'endUserId') from messages) as people`
type Open = Readonly<Record<'open' | 'due' | 'circuit' | 'running' | 'agents' | 'people', number>>

/** The log at one time. */
type Log = { readonly facts: readonly Fact[]; readonly open: Open }
type Webhook = { readonly id: string; readonly description: string }

/** Starts a server, runs the seed script against it, and returns the checks of its numbers. */
export async function seeded(messages: number, env: Record<string, string> = {}) {
  const server = await realServer({
    env: { ...env, SERVICE_METRICS_TOKEN: METRICS_TOKEN, SERVICE_CONSOLE: 'on' },
  })
  onTestFinished(server.dispose)
  const args = [SEED, '--server', server.url, '--api-key', API_KEY, '--messages', `${messages}`]
  const seed = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void seed.kill('SIGKILL'))
  let said = ''
  seed.stdout.on('data', (text: Buffer) => (said += text.toString()))
  expect(await until(() => said.includes('Ctrl-C') || seed.exitCode !== null, 600_000)).toBe(true)
  expect(said).toContain(`Sent ${messages} messages.`)

  const database = new DatabaseSync(path.join(server.folder, 'service.db'), { readOnly: true })
  onTestFinished(() => database.close())
  const query = async <Row>(sql: string) => database.prepare(sql).all() as Row[]
  const log = async (): Promise<Log> => ({
    facts: await factsOfTables(query),
    open: { ...database.prepare(OPEN).get({ now: Date.now() }) } as Open,
  })

  /**
   * Reads while the log stays the same. Retries become due and probes go on, so the count of a
   * circuit may change and change back within one read: only `due` tells that.
   */
  async function whileStill<T>(read: () => Promise<T>): Promise<Log & { readonly value: T }> {
    for (;;) {
      const before = await log()
      const value = await read()
      const after = await log()
      if (isDeepStrictEqual(before, after)) return { ...after, value }
    }
  }

  const json = async <T>(route: string) => (await (await server.api('GET', route)).json()) as T
  const cookie = await signIn(server.url)
  const page = async (route: string) => {
    const response = await fetch(`${server.url}/console${route}`, { headers: { cookie } })
    expect(response.status).toBe(200)
    return response.text()
  }
  const metrics = async () => {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
    return (await fetch(`${server.url}/metrics`, { headers })).text()
  }
  const settings = {
    PORT: '0',
    SERVICE_DATABASE_URL: `file:${path.join(server.folder, 'service.db')}`,
    SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    AGENT_MESSAGING_SERVER: server.url,
    AGENT_MESSAGING_API_KEY: API_KEY,
  }
  const { cli } = commandLine(() => ({ directory: server.folder }))
  const command = async (line: string) => (await cli(line, settings)).stdout
  const webhooks = (await json<{ data: Webhook[] }>('/v1/webhooks')).data
  expect(sumsOf((await log()).facts)['messages']).toBe(messages)
  return { log, command, whileStill, json, page, metrics, webhooks }
}
type Seeded = Awaited<ReturnType<typeof seeded>>

async function signIn(url: string): Promise<string> {
  const response = await fetch(`${url}/console/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ key: API_KEY }),
    headers: { origin: url },
    redirect: 'manual',
  })
  return response.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ')
}

/** Returns the sums of the facts of all agents and webhooks, or of one. */
function sumsOf(facts: readonly Fact[], id?: string): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const fact of facts)
    if (id === undefined || fact.id === id)
      for (const [name, count = 0] of Object.entries(fact.counts))
        sums[name] = (sums[name] ?? 0) + count
  return sums
}

/** Returns the counts of `/v1/stats` that differ: of the project, agents and webhooks, by step. */
export async function wrongStats({ json, whileStill }: Seeded): Promise<object[]> {
  const { facts, value: rows } = await whileStill(() => servedCounts(json))
  return Array.from(wrongCounts({ facts, rows }))
}

/** `/v1/usage` of today and yesterday, and the counters and states of `/metrics`. */
async function checkUsageAndMetrics({ json, metrics, whileStill }: Seeded): Promise<void> {
  const { facts, open, value } = await whileStill(async () => ({
    usage: await json<{ total: Counts; peopleToday: object }>('/v1/usage'),
    text: await metrics(),
  }))
  const sums = sumsOf(facts)
  const { usage, text } = value
  expect(usage.peopleToday).toEqual({ count: open.people, isExact: true })
  for (const [name, count] of Object.entries(usage.total))
    expect([name, count]).toEqual([name, sums[name] ?? 0])
  const sumOf = (name: string, labels = '') =>
    Array.from(text.matchAll(new RegExp(`^agent_messaging_${name}(?:\\{(.*)\\})? (\\d+)$`, 'gm')))
      .filter(([, found = '']) => found.includes(labels))
      .reduce((sum, [, , count]) => sum + Number(count), 0)
  expect({
    accepted: sumOf('messages_accepted_total'),
    runs: sumOf('runs_total'),
    attempts: sumOf('delivery_attempts_total'),
    delivered: sumOf('deliveries_finished_total', 'state="delivered"'),
    open: sumOf('deliveries'),
    due: sumOf('deliveries', 'state="due"') + sumOf('deliveries', 'state="held"'),
    messages: sumOf('messages'),
  }).toEqual({
    accepted: sums['messages'],
    runs: sums['runs'],
    attempts: sums['attempts'],
    delivered: sums['delivered'],
    open: open.open,
    due: open.due,
    messages: 0,
  })
}

/** The warnings of `doctor`, and the last row of `usage`. */
async function checkCommands({ command, whileStill }: Seeded): Promise<void> {
  const doctor = await whileStill(() => command('doctor --json'))
  const sums = sumsOf(doctor.facts)
  const findings = JSON.parse(doctor.value) as { check: string; message: string }[]
  const messageOf = (name: string) => findings.find(({ check }) => check === name)?.message ?? ''
  expect(messageOf('messages')).toBe(
    `${sums['answered']} answered and ${sums['failed']} failed in the last hour`,
  )
  const held = /circuit: (\d+)/.exec(messageOf('deliveries'))?.[1] ?? 0
  expect(Number(held)).toBe(doctor.open.circuit)

  const usage = await whileStill(() => command('usage --by webhook'))
  const all = sumsOf(usage.facts)
  const total = usage.value.trim().split('\n').at(-1)?.trim().split(/\s+/)
  expect(total).toEqual([
    'total',
    ...[all['attempts'], failed(all), all['delivered'], all['exhausted'] ?? 0].map(String),
  ])
}

const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(?<=\d),(?=\d{3})/g, '')
    .trim()
/** Returns the parts of the page between the marks, by the first group of the pattern. */
const partsOf = (html: string, pattern: RegExp) =>
  Object.fromEntries(
    Array.from(html.matchAll(pattern), ([, name = '', part = '']) => [textOf(name), textOf(part)]),
  )
const tilesOf = (html: string) =>
  partsOf(html, /<div class="tile[^>]*>\s*<dt>(.*?)<\/dt>(.*?)<\/div>/gs)
const chartsOf = (html: string) =>
  partsOf(html, /<h2[^>]*>([^<]*)<\/h2>\s*<ul class="legend">(.*?)<\/ul>/gs)
const rowsOf = (html: string) => Array.from(html.matchAll(/<tr.*?<\/tr>/gs), ([row]) => textOf(row))

const accepted = (sums: Record<string, number>) => sums['class:2xx'] ?? 0
const failed = (sums: Record<string, number>) => (sums['attempts'] ?? 0) - accepted(sums)

/** The tiles, charts and tables of the overview of an hour. */
async function checkOverview({ page, webhooks, whileStill }: Seeded): Promise<void> {
  const { facts, open, value } = await whileStill(() => page('?range=1h'))
  const sums = sumsOf(facts)
  const tiles = tilesOf(value)
  const numberOf = (tile: string) => Number(/[\d.]+/.exec(tiles[tile] ?? '')?.[0] ?? '')
  expect({
    messages: numberOf('Messages'),
    failed: numberOf('Failed messages'),
    attempts: numberOf('Delivery attempts'),
    rate: numberOf('Error rate'),
    backlog: numberOf('Backlog'),
    heldByCircuit: Number(/(\d+) by circuit/.exec(tiles['Held'] ?? '')?.[1] ?? '0'),
  }).toEqual({
    messages: sums['messages'],
    failed: sums['failed'],
    attempts: sums['attempts'],
    rate: Number(((100 * failed(sums)) / (sums['attempts'] ?? 0)).toFixed(1)),
    backlog: open.open,
    heldByCircuit: open.circuit,
  })
  expect(tiles['Agents running']).toMatch(`${open.running} of ${open.agents} `)
  expect(tiles['Delivery attempts']).toContain(` ${accepted(sums)} accepted`)
  expect(tiles['Error rate']).toContain(` ${failed(sums)} failed`)
  const charts = chartsOf(value)
  expect(charts['Messages']).toBe(
    `answered ${sums['answered']} failed ${sums['failed']} cancelled 0`,
  )
  expect(charts['Delivery attempts']).toBe(`accepted ${accepted(sums)} failed ${failed(sums)}`)
  for (const { id, description } of webhooks) {
    const own = sumsOf(facts, id)
    const row = rowsOf(value).find((text) => text.includes(description))
    expect(row).toMatch(new RegExp(` ${accepted(own)} ${failed(own)}$`))
  }
}

/** The page of agents, which has a row with the state of each. */
async function checkAgents({ page, whileStill }: Seeded): Promise<void> {
  const { open, value } = await whileStill(() => page('/agents'))
  const rows = rowsOf(value).filter((row) => row.includes(' http '))
  const running = rows.filter((row) => row.includes(' running '))
  expect([rows.length, running.length]).toEqual([open.agents, open.running])
}

/** Waits until a circuit is open and holds deliveries. */
export const waitForHeld = ({ log }: Seeded): Promise<boolean> =>
  until(async () => (await log()).open.circuit > 0, 180_000)

/** The list of webhooks, and the page of each. */
async function checkWebhooks({ page, webhooks, whileStill }: Seeded): Promise<void> {
  const list = await whileStill(() => page('/webhooks'))
  for (const { id, description } of webhooks) {
    const own = sumsOf(list.facts, id)
    const row = rowsOf(list.value).find((text) => text.includes(description))
    expect(row).toContain(` ${accepted(own)} accepted , ${failed(own)} failed`)
  }
  for (const { id } of webhooks) {
    const { facts, value } = await whileStill(() => page(`/webhooks/${id}`))
    const own = sumsOf(facts, id)
    expect(chartsOf(value)['Attempts of 24 hours']).toBe(
      `accepted ${accepted(own)} failed ${failed(own)}`,
    )
  }
}

/** The other routes and the pages of the console. */
export async function checkPages(server: Seeded): Promise<void> {
  await checkUsageAndMetrics(server)
  await checkCommands(server)
  await checkOverview(server)
  await checkAgents(server)
  await checkWebhooks(server)
}
