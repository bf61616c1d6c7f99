import {
  throwing,
  type AgentFunction,
  type AgentSettings,
  type MessagingService,
} from '@org/agent-messaging-core'
import { nodeProblem } from '@org/agent-messaging-core/node-floor'
import { requireAgentNames } from './agent-names.js'
import { requireKnownOptions } from './check-options.js'
import { databasePathOf, masterKeyOf } from './database-place.js'
import { ensureDefaultProject } from './default-project.js'
import { ensureAgents } from './ensure-agents.js'
import { inProject, type ProjectCalls } from './in-project.js'
import { SetupError } from './setup-error.js'
import type { WiringOptions } from './wire.js'

export type MessagingOptions = Omit<WiringOptions, 'databasePath' | 'masterKey' | 'agents'> & {
  /** `file:data.db`, `:memory:`, or `postgres://…`. */
  readonly database: string
  /** 32 bytes, also as base64 or hex. A file database without one keeps its key in `<file>.key`. */
  readonly masterKey?: Uint8Array | string
  /**
   * Agents by name: a function, or settings with another runtime. Each is created and started once.
   * Later starts write the settings that the code has changed. A person who stops or deletes an
   * agent, or changes a setting, has the last word.
   */
  readonly agents?: Readonly<Record<string, AgentFunction | Omit<AgentSettings, 'name'>>>
  /** The public URL of this program, for agents that call back. */
  readonly publicUrl?: string
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
  programLog: true,
  programs: true,
  proxy: true,
  publicUrl: true,
  runtimes: true,
  telemetry: true,
  tracing: true,
  webhookThread: true,
}

/**
 * The service in this program, for the project `default`. Calls return the value or throw a
 * `MessagingError`.
 */
export type Messaging = ProjectCalls & {
  readonly projectId: string
  /** The whole service, with Results, for other projects and for the HTTP routes. */
  readonly service: MessagingService
  /**
   * Stops gracefully, and closes the database. Runs and attempts in flight get `graceMs` (10,000 if
   * absent). A second call waits for the first.
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
  const { database, masterKey, agents = {}, publicUrl, ...options } = given
  // Loaded after the check, because undici does not load on an older Node.
  const { wire } = await import('./wire.js')
  requireAgentNames(Object.keys(agents))
  const databasePath = databasePathOf(database)
  const key = masterKeyOf(masterKey, databasePath)
  const wiring = await wire(
    { ...options, databasePath, masterKey: key, agents: functionsOf(agents) },
    () => publicUrl,
  )
  const { platform, service, storage } = wiring
  try {
    const { id: projectId } = await ensureDefaultProject({ ...platform, storage })
    // Before the start, so that no waiting message runs with an earlier setting.
    await ensureAgents(service, projectId, settingsOf(agents))
    await service.start()
    let stopped: Promise<void> | undefined
    return {
      ...inProject(throwing(service), projectId),
      projectId,
      service,
      stop: (grace) => (stopped ??= service.stop(grace).then(wiring.close)),
    }
  } catch (error) {
    await service.stop({ graceMs: 0 })
    await wiring.close()
    throw error
  }
}

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
