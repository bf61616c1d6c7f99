import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { factsOfTables } from './checker/facts-of-tables.js'
import { groupBy } from './checker/group-by.js'
import type {
  AgentRun,
  Counted,
  Fault,
  FinalWebhook,
  History,
  ReceivedRequest,
} from './checker/history.js'
import { servedCounts } from './checker/served-counts.js'
import { actorsProcess, type ActorsProcess } from './harness/actors-process.js'
import { all, json } from './harness/api.js'
import { AGENTS, startClients } from './harness/clients.js'
import { readFinalState } from './harness/final-state.js'
import { readJournals } from './harness/journal.js'
import { killInMigrations } from './harness/migration-kills.js'
import { injectFaults } from './harness/inject-faults.js'
import { KIND } from './harness/new-events.js'
import { startPublishers } from './harness/publishers.js'
import { serverProcess, type ServerProcess } from './harness/server-process.js'
import { rules } from './harness/settings.js'
import { openStore, type StoreKind } from './harness/store.js'
import { watchStalls } from './harness/stalls.js'
import { openTables } from './harness/tables.js'
import { until } from './harness/until.js'

export type Scenario = {
  readonly seed: number
  readonly store: StoreKind
  readonly processes: number
  readonly kills: number
  /** Names of faults. `migration` comes before the load, the others during the load. */
  readonly faults: readonly string[]
  /** Ends the faults early. The history until then is still checked. */
  readonly signal: AbortSignal
  /** Clients that send messages. Half as many publish events. */
  readonly clients: number
  /** Average pause of a client between two messages. */
  readonly pauseMs: number
  /** Also erases persons. The counts are then not checked: erased rows are counted too. */
  readonly erases: boolean
  /** Called after each fault. */
  readonly onFault?: (fault: Fault) => void
}

export type Outcome = {
  readonly history: History
  /** A sentence for each server that ended without a fault. */
  readonly unexpectedExits: readonly string[]
  readonly folder: string
}

const DRAIN_LIMIT_MS = 180_000
const MAX_MIGRATION_KILLS = 3
/** Retention of deliveries with the fault `purge`. */
const RETENTION_MS = 10_000

/** The receiver that gets the deliveries of each session in order. It fails now and then. */
const ORDERED = 'other'
/** The receiver that gets the ids of the events of one kind. */
const THIN = 'thin'

/** Runs servers under load and faults, repairs and drains them, and returns the history. */
export async function runScenario(scenario: Scenario): Promise<Outcome> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-faults-'))
  const closing: (() => Promise<void>)[] = []
  try {
    const store = await openStore(scenario.store, folder, scenario.faults.includes('disk-full'))
    closing.push(store.close)
    const migrations = scenario.faults.includes('migration')
      ? await killInMigrations(store, folder, MAX_MIGRATION_KILLS)
      : []
    const actors = await actorsProcess(folder, scenario.seed, rules.deliveryTimeoutMs * 1.5)
    closing.push(actors.close)
    const purges = scenario.faults.includes('purge')
    const env = purges ? { SERVICE_DELIVERY_RETENTION: `${RETENTION_MS}ms` } : {}
    const servers: ServerProcess[] = []
    for (let n = 0; n < scenario.processes; n++) {
      const server = await serverProcess({
        folder,
        name: `server-${n}`,
        databaseUrl: store.databaseUrl,
        env,
      })
      closing.push(() => server.kill('SIGKILL'))
      await server.start()
      servers.push(server)
    }
    const unexpectedExits = () => servers.flatMap((server) => server.unexpectedExits)

    const { url } = servers[0] ?? { url: '' }
    const { webhooks, agentIds } = await createAgentsAndWebhooks(url, actors)
    const urls = servers.map((server) => server.url)
    const clients = startClients(urls, scenario.seed, scenario.clients, scenario.pauseMs)
    const publishers = startPublishers({
      ...scenario,
      urls,
      agentIds,
      count: Math.ceil(scenario.clients / 2),
    })
    const stalls = watchStalls()
    const faults = await injectFaults(servers, store, scenario, (fault) =>
      scenario.onFault?.(fault),
    )
    actors.stopFailing()
    await Promise.all([clients.stop(), publishers.stop()])
    await drain(url)
    faults.push(...stalls.stop())
    const purgedBefore = purges ? Date.now() : undefined
    const counted = purges || scenario.erases ? undefined : await readCounts(url, store.databaseUrl)
    const final = await readFinalState(url, [...webhooks.values()], purgedBefore)
    const received = readJournals<ReceivedRequest>(folder, 'received')
    const history: History = {
      seed: scenario.seed,
      rules,
      requests: clients.requests,
      published: publishers.published,
      erasures: publishers.erasures,
      runs: runsOf(folder),
      faults: [...migrations, ...faults],
      final,
      ...(counted && { counted }),
      received: received.map((request) => ({
        ...request,
        webhookId: webhooks.get(request.webhookId)?.webhookId ?? request.webhookId,
      })),
    }
    return { history, unexpectedExits: unexpectedExits(), folder }
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true })

/**
 * Creates an agent in the servers and one outside. Registers a receiver of all events that never
 * fails, and three receivers that fail. Returns the webhooks by the names in their paths.
 */
async function createAgentsAndWebhooks(url: string, actors: ActorsProcess) {
  // A crash or a lost lease costs an attempt, and this run does not test the limit of attempts.
  const common = { desiredState: 'running', maxAttempts: 100, concurrency: 32 }
  const runtimes = {
    worker: { kind: 'function', handler: 'work' },
    remote: { kind: 'http', url: `${actors.url}/agent` },
  }
  const agentIds: string[] = []
  for (const [name, runtime] of Object.entries(runtimes)) {
    const agent = { ...common, name, runtime }
    agentIds.push((await json<{ id: string }>(url, 'POST', '/v1/agents', agent)).id)
  }
  const webhooks = new Map<string, FinalWebhook>()
  const subscriptions = {
    steady: ['*'],
    moody: ['message.responded', 'order.*'],
    other: ['message.responded', 'agent.error', 'order.*', 'invoice.late'],
    thin: ['order.*'],
  }
  for (const [name, events] of Object.entries(subscriptions)) {
    const { id, secret } = await json<{ id: string; secret: string }>(url, 'POST', '/v1/webhooks', {
      url: `${actors.url}/hook/${name}`,
      events,
      ...(name === ORDERED && { ordering: 'session' }),
      ...(name === THIN && {
        payload: 'thin',
        filter: { data: [{ path: 'kind', equals: KIND }] },
      }),
    })
    webhooks.set(name, {
      webhookId: id,
      events,
      secret,
      ...(name === ORDERED && { isOrdered: true }),
      ...(name === THIN && { kind: KIND }),
    })
  }
  return { webhooks, agentIds }
}

/** Waits until all work has ended, up to the limit. The checker reports the rest. */
async function drain(url: string): Promise<void> {
  const isEmpty = async (route: string) =>
    (await json<{ data: unknown[] }>(url, 'GET', `${route}limit=1`)).data.length === 0
  const isDrained = async (): Promise<boolean> => {
    for (const agent of AGENTS) {
      for (const state of ['queued', 'running', 'deferred'])
        if (!(await isEmpty(`/v1/agents/${agent}/messages?state=${state}&`))) return false
    }
    return (await all(url, '/v1/deliveries?status=pending')).length === 0
  }
  await until(() => isDrained().catch(() => false), DRAIN_LIMIT_MS, 250)
}

async function readCounts(url: string, databaseUrl: string): Promise<Counted> {
  const { query, close } = await openTables(databaseUrl)
  const facts = await factsOfTables(query)
  await close()
  return { facts, rows: await servedCounts((route) => json(url, 'GET', route)) }
}

type RunLine = Partial<AgentRun> & { readonly run: string }

/** Joins the two lines of each run, for its start and its end. A killed run has only the first. */
const runsOf = (folder: string): AgentRun[] =>
  [...groupBy(readJournals<RunLine>(folder, 'runs-'), ({ run }) => run).values()].map(
    (lines) => Object.assign({}, ...lines.map(({ run: _, ...line }) => line)) as AgentRun,
  )
