import type {
  AgentFunction,
  AgentSettings,
  EventHandler,
  Listening,
  MessagingService,
  SubscribableEvent,
} from '@org/agent-messaging-core'
import type { Pass } from '@org/agent-messaging-core/host'
import { nodeProblem } from '@org/agent-messaging-core/node-floor'
import { ask, type AskOptions } from './ask.js'
import { requireAgentNames } from './agent-names.js'
import { ensureDefaultProject } from './default-project.js'
import { ensureAgents } from './ensure-agents.js'
import type { HttpHandlers, HttpOptions } from './http/handlers.js'
import { OpenRequests } from './http/open-requests.js'
import { inProject, type ProjectCalls } from './in-project.js'
import { requireKnownOptions } from './known-options.js'
import { SetupError } from './setup-error.js'
import { invalid, taken } from './taken.js'
import type { Wiring, WiringOptions } from './wire.js'
import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { HostPool } from './open-database.js'
import { isPostgresUrl } from './postgres-url.js'
import { readOrCreateText } from './private-files.js'

export type MessagingOptions = Omit<WiringOptions, 'databasePath' | 'masterKey' | 'agents'> & {
  /** `file:data.db`, `:memory:`, or `postgres://…`. Required without `pool`. */
  readonly database?: string
  /**
   * The host's pool of PostgreSQL, instead of `database`. Wake-ups and leases use two more
   * connections. `stop` does not end the pool. All tables are in the schema `agent_messaging`.
   */
  readonly pool?: HostPool
  /** 32 bytes, also as base64 or hex. A file database without one keeps its key in `<file>.key`. */
  readonly masterKey?: Uint8Array | string
  /**
   * Agents by name: a function, or settings with another runtime. Each is created and started once.
   * Later starts write the settings that the code has changed. A person who stops or deletes an
   * agent, or changes a setting, has the last word.
   */
  readonly agents?: Readonly<Record<string, AgentFunction | Omit<AgentSettings, 'name'>>>
  /** The public URL of this program, for agents that call back and for thin bodies. */
  readonly publicUrl?: string
  /**
   * False starts no loops: call `tick` instead, for example on a function platform. Messages wait for
   * the next `tick` of any process.
   */
  readonly workers?: boolean
}

const OPTIONS: Readonly<Record<keyof MessagingOptions, true>> = {
  addresses: true,
  agents: true,
  clock: true,
  database: true,
  databaseConnections: true,
  databaseDirectUrl: true,
  environment: true,
  masterKey: true,
  otherMasterKeys: true,
  policy: true,
  pool: true,
  programLog: true,
  programs: true,
  proxy: true,
  publicUrl: true,
  runtimes: true,
  telemetry: true,
  tracing: true,
  webhookThread: true,
  workers: true,
}

/**
 * The service in this program, for the project `default`. Calls return the value or throw a
 * `MessagingError`.
 */
export type Messaging = ProjectCalls & {
  readonly projectId: string
  /**
   * Sends a message and returns the text of the answer. Waits beyond `syncWaitMs`, by default for 10
   * minutes. Throws a `MessagingError` with `messageId` if the message failed or was cancelled, if
   * the agent asks a person, or if there is no answer yet. The agent goes on in the last two cases.
   */
  ask(agent: string, message: string, options?: AskOptions): Promise<string>
  /**
   * Does one bounded pass of all due work, for a host that freezes between requests. Needed with
   * `workers: false`. The pass ends when nothing is due, or after `budgetMs` milliseconds. Its runs
   * and attempts then go on under their leases.
   */
  tick(budget: { readonly budgetMs: number }): Promise<Pass>
  /**
   * Reseals the secrets of the storage with the present master key. Each call does one step. Pass the
   * returned `next` to the next call, as `reseal({ from: next })`, until there is none.
   */
  reseal: MessagingService['secrets']['reseal']
  /**
   * Calls the handler for each of the project's events with these names: one by one, in the order of
   * the log, at least once. Continues after a restart at the place of `name`, which one process at a
   * time holds. `from` says where the first start begins, `now` by default. A handler that throws
   * gets its event again, and later events wait.
   */
  on<N extends SubscribableEvent>(
    events: N | readonly N[],
    handler: EventHandler<N>,
    options: { readonly name: string; readonly from?: 'now' | 'oldest' },
  ): Listening
  /** The whole service, for other projects. */
  readonly service: MessagingService
  /**
   * Returns the HTTP API as handlers for a server of the host. The `authorize` of the host or an API key
   * opens them.
   * Throws a `SetupError` if the options do not fit.
   */
  http<Host = unknown>(options?: HttpOptions<Host>): Promise<HttpHandlers<Host>>
  /**
   * Ends streams and waits, stops gracefully, and closes the database. Requests, runs and attempts
   * in flight get `graceMs` (10,000 if absent). A second call waits for the first. If the host has
   * a server, it calls `server.close()` first.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>
}

/**
 * Opens the database, starts the service and its agents, and returns the calls.
 * Throws a `SetupError` if the options do not fit, or if this Node is too old.
 */
export async function createMessaging(given: MessagingOptions): Promise<Messaging> {
  const problem = nodeProblem(process.versions.node)
  if (problem !== undefined) throw new SetupError(problem)
  requireKnownOptions(given, OPTIONS)
  const { database: _, pool: __, masterKey, agents = {}, publicUrl, workers, ...options } = given
  // Loaded after the check, because undici does not load on an older Node.
  const { wire } = await import('./wire.js')
  if (Array.isArray(agents))
    throw new SetupError('agents must be an object: { <name>: <function> }', 2)
  requireAgentNames(Object.keys(agents))
  const databasePath = databaseOf(given)
  const key = masterKeyOf(masterKey, databasePath)
  const wiring = await wire(
    { ...options, databasePath, masterKey: key, agents: functionsOf(agents) },
    () => publicUrl,
  )
  return messagingOn(wiring, { agents, publicUrl, workers, telemetry: options.telemetry })
}

type Settings = {
  readonly [K in 'agents' | 'publicUrl' | 'telemetry' | 'workers']: MessagingOptions[K] | undefined
}

/** Starts the service on parts that are open, and closes them if it fails. */
export async function messagingOn(
  wiring: Wiring,
  {
    agents = {},
    publicUrl,
    workers = true,
    telemetry = wiring.platform.telemetry,
  }: Partial<Settings>,
): Promise<Messaging> {
  const { platform, service, storage } = wiring
  try {
    const { id: projectId } = await ensureDefaultProject({ ...platform, storage })
    // Before the start, so that no waiting message runs with an earlier setting.
    await ensureAgents(service, projectId, settingsOf(agents))
    // Without workers, starts only the agents, so that they take messages before the first `tick`.
    await (workers ? service.start() : service.tick({ budgetMs: 0 }))
    const requests = new OpenRequests()
    const stop = async (graceMs: number) => {
      await Promise.all([service.stop({ graceMs }), requests.end(graceMs)])
      await wiring.close()
    }
    let stopped: Promise<void> | undefined
    return {
      ...inProject(service, projectId),
      projectId,
      ask: (agent, message, options) =>
        ask({ service, platform, projectId }, agent, message, options),
      tick: service.tick,
      reseal: async (input) => service.secrets.reseal(taken(input, { from: true })),
      service,
      http: async <Host>(http: HttpOptions<Host> = {}) => {
        const { httpHandlers } = await import('./http/handlers.js')
        return httpHandlers({ platform, service, projectId, telemetry, publicUrl, requests }, http)
      },
      on: (events, handler, options) =>
        service.events.on({ ...taken(options, LISTENING), projectId, events, handler } as never),
      // A refused call stops nothing, so that the next one can.
      stop: async ({ graceMs = GRACE_MS } = {}) => {
        if (typeof graceMs !== 'number' || Number.isNaN(graceMs))
          throw invalid('graceMs', 'must be a number')
        return (stopped ??= stop(graceMs))
      },
    }
  } catch (error) {
    await service.stop({ graceMs: 0 })
    await wiring.close()
    throw error
  }
}

const GRACE_MS = 10_000
const LISTENING = { name: true, from: true } as const

type Agents = NonNullable<MessagingOptions['agents']>

const functionsOf = (agents: Agents): Readonly<Record<string, AgentFunction>> =>
  Object.fromEntries(
    Object.entries(agents).filter(
      (entry): entry is [string, AgentFunction] => typeof entry[1] === 'function',
    ),
  )

const settingsOf = (agents: Agents): AgentSettings[] =>
  Object.entries(agents).map(([name, agent]) =>
    typeof agent === 'function'
      ? { name, runtime: { kind: 'function', handler: name } }
      : { ...agent, name },
  )

const KEY_BYTES = 32

function databaseOf({ database, pool, databaseConnections }: MessagingOptions) {
  if ((database === undefined) === (pool === undefined))
    throw new SetupError('give one of database and pool', 2)
  if (pool !== undefined && databaseConnections !== undefined)
    throw new SetupError('databaseConnections is for database: a pool has its own limit, max', 2)
  return pool ?? databasePathOf(String(database))
}

/** The path of a `file:` URL; `:memory:` and PostgreSQL URLs stay as they are. */
function databasePathOf(database: string) {
  if (isPostgresUrl(database) || database === ':memory:') return database
  if (database.startsWith('file:///')) return fileURLToPath(database)
  if (/^file:[^/]|^file:\/[^/]/.test(database))
    return decodeURIComponent(database.slice('file:'.length))
  throw new SetupError(
    `database is ${JSON.stringify(shown(database))}; use file:<path>, :memory: or postgres://…`,
    2,
  )
}

/** A URL that is not ours can contain a password. */
const shown = (database: string) => database.replace(/\/\/[^@/]*@/, '//…@')

/** The given master key, or the one in the file beside the database, created with the database. */
function masterKeyOf(
  given: Uint8Array | string | undefined,
  databasePath: string | HostPool,
): Uint8Array {
  if (given !== undefined) return decoded(given, 'masterKey')
  if (databasePath === ':memory:') return randomBytes(KEY_BYTES)
  if (typeof databasePath !== 'string' || isPostgresUrl(databasePath))
    throw new SetupError(
      'masterKey is required for a PostgreSQL database: 32 random bytes that you keep',
      2,
    )
  const file = `${databasePath}.key`
  const isInUse = existsSync(databasePath) && statSync(databasePath).size > 0
  if (isInUse && !existsSync(file))
    throw new SetupError(
      `${file} is missing, but ${databasePath} is encrypted with a master key; restore the file, or pass masterKey`,
      2,
    )
  return decoded(
    readOrCreateText(file, () => randomBytes(KEY_BYTES).toString('base64')),
    file,
  )
}

function decoded(key: Uint8Array | string, name: string): Uint8Array {
  const bytes = typeof key === 'string' ? bytesOf(key) : key
  if (bytes.length === KEY_BYTES) return bytes
  throw new SetupError(
    `${name} has ${bytes.length} bytes; it must have ${KEY_BYTES}, as base64 or hex if it is text`,
    2,
  )
}

const bytesOf = (text: string): Uint8Array =>
  Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64')
