import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { groupBy } from './checker/group-by.js'
import type { AgentRun, Fault, FinalWebhook, History, ReceivedRequest } from './checker/history.js'
import { actorsProcess, type ActorsProcess } from './world/actors-process.js'
import { all, json } from './world/api.js'
import { AGENTS, startClients } from './world/clients.js'
import { readFinalState } from './world/final-state.js'
import { readJournals } from './world/journal.js'
import { killInMigrations } from './world/migration-kills.js'
import { harass } from './world/nemesis.js'
import { serverProcess, type ServerProcess } from './world/server-process.js'
import { rules } from './world/settings.js'
import { openStore, type StoreKind } from './world/store.js'
import { watchStalls } from './world/stalls.js'
import { until } from './world/until.js'

export type Scenario = {
  readonly seed: number
  readonly store: StoreKind
  readonly processes: number
  readonly kills: number
  /** Names of faults; `migration` comes before the load, the others under it. */
  readonly faults: readonly string[]
  /** Ends the faults before there were so many kills; what was done until then is checked all the same. */
  readonly over: AbortSignal
  readonly clients: number
  /** How long a client rests between its messages, on average. */
  readonly pauseMs: number
  /** Hears of each fault when it is over. */
  readonly told?: (fault: Fault) => void
}

/** `accidents`: servers that ended though nobody ended them, with `logs` in this folder. It is gone when there were none. */
export type Outcome = {
  readonly history: History
  readonly accidents: readonly string[]
  readonly folder: string
}

const DRAIN_LIMIT_MS = 180_000
const MOST_MIGRATION_KILLS = 3
/** With the fault `purge`: so long deliveries are kept. */
const RETENTION_MS = 10_000

/** Load and faults, then everything is mended and drained; gives all that was seen. */
export async function runScenario(scenario: Scenario): Promise<Outcome> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-faults-'))
  const closing: (() => Promise<void>)[] = []
  try {
    const store = await openStore(scenario.store, folder, scenario.faults.includes('disk-full'))
    closing.push(store.close)
    const migrations = scenario.faults.includes('migration')
      ? await killInMigrations(store, folder, MOST_MIGRATION_KILLS)
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
    const accidents = () => servers.flatMap((server) => server.accidents)

    const { url } = servers[0] ?? { url: '' }
    const webhooks = await furnish(url, actors)
    const clients = startClients(
      servers.map((server) => server.url),
      scenario.seed,
      scenario.clients,
      scenario.pauseMs,
    )
    const stalls = watchStalls()
    const faults = await harass(servers, store, scenario, (fault) => scenario.told?.(fault))
    actors.behaveWell()
    await clients.stop()
    await drain(url)
    faults.push(...stalls.stop())
    const purgedBefore = purges ? Date.now() : undefined
    const final = await readFinalState(url, [...webhooks.values()], purgedBefore)
    const received = readJournals<ReceivedRequest>(folder, 'received')
    const history: History = {
      seed: scenario.seed,
      rules,
      requests: clients.requests,
      runs: runsOf(folder),
      faults: [...migrations, ...faults],
      final,
      received: received.map((request) => ({
        ...request,
        webhookId: webhooks.get(request.webhookId)?.webhookId ?? request.webhookId,
      })),
    }
    return { history, accidents: accidents(), folder }
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true })

/** An agent in the servers and one elsewhere; a receiver of everything that is always well, and two of answers that are not. By the names in their paths. */
async function furnish(url: string, actors: ActorsProcess): Promise<Map<string, FinalWebhook>> {
  // A crash or a lost lease costs an attempt: how many are allowed is not what is tried here.
  const common = { desiredState: 'running', maxAttempts: 100, concurrency: 32 }
  await json(url, 'POST', '/v1/agents', {
    ...common,
    name: 'worker',
    runtime: { kind: 'function', handler: 'work' },
  })
  await json(url, 'POST', '/v1/agents', {
    ...common,
    name: 'remote',
    runtime: { kind: 'http', url: `${actors.url}/agent` },
  })
  const webhooks = new Map<string, FinalWebhook>()
  const subscriptions = {
    steady: ['*'],
    moody: ['message.responded'],
    other: ['message.responded', 'agent.error'],
  }
  for (const [name, events] of Object.entries(subscriptions)) {
    const { id, secret } = await json<{ id: string; secret: string }>(url, 'POST', '/v1/webhooks', {
      url: `${actors.url}/hook/${name}`,
      events,
    })
    webhooks.set(name, { webhookId: id, events, secret })
  }
  return webhooks
}

/** What does not end within the limit stays as it is, for the checker to see. */
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

type RunLine = Partial<AgentRun> & { readonly run: string }

/** A run has a line for its beginning and, when it came to that, one for its end. */
const runsOf = (folder: string): AgentRun[] =>
  [...groupBy(readJournals<RunLine>(folder, 'runs-'), ({ run }) => run).values()].map(
    (lines) => Object.assign({}, ...lines.map(({ run: _, ...line }) => line)) as AgentRun,
  )
