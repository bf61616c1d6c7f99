import type { A2aSetting } from './a2a-card.js'
import type { EventPayload } from '../webhooks/event.js'
import { isUuid } from '../values/input-rules.js'
import { toIso, type Instant } from '../values/instant.js'
import type { JsonObject } from '../values/json.js'
import type { DefaultExecutionPrincipal } from '../access/principal.js'
import type { RunError } from '../messages/run.js'
import type { Reseal, Sealed } from '../values/sealed.js'
import type { SettingsOf } from '../values/setting.js'

/** An addressable worker. Agents of one project have different names. */
export type Agent = {
  readonly id: string
  readonly projectId: string
  /** A slug that does not look like a UUID, so a path can contain the name or the id. */
  readonly name: string
  readonly defaultExecutionPrincipal: DefaultExecutionPrincipal
  readonly runtime: AgentRuntimeConfig
  readonly desiredState: 'running' | 'stopped'
  readonly state: AgentState
  /** Parallel runs in each process. */
  readonly concurrency: number
  /** The most runs of one message, crashes included. 1 means that no message runs twice. */
  readonly maxAttempts: number
  /** The most messages of a session that can be ahead of a new one. */
  readonly maxQueued: number
  readonly a2a?: A2aSetting
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** The settings that people give. */
export type AgentSettings = {
  readonly name: string
  /** The kind of the agent, with the options of the kind. */
  readonly runtime: { readonly kind: string } & JsonObject
  /** On whose behalf the agent runs if a send does not say it. Default: the service. */
  readonly defaultExecutionPrincipal?: DefaultExecutionPrincipal | undefined
  readonly concurrency?: number | undefined
  readonly maxAttempts?: number | undefined
  readonly maxQueued?: number | undefined
  /** `reject` is `maxQueued: 0`. */
  readonly onBusy?: OnBusy | undefined
  /** Publishes the agent at the A2A endpoint. */
  readonly a2a?: A2aSetting | undefined
}
export type AgentChanges = { readonly [K in keyof AgentSettings]?: AgentSettings[K] | undefined }

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

export const agentDefaults = { concurrency: 16, maxAttempts: 3, maxQueued: 100 } as const

export const agentSettings = {
  name: {
    type: 'string',
    pattern: SLUG.source,
    required: true,
    description: 'Unique in the project. 1 to 63 characters of a-z, 0-9 and -. Not a UUID.',
    examples: ['support'],
  },
  runtime: { type: 'object', required: true },
  defaultExecutionPrincipal: { type: 'object' },
  concurrency: {
    type: 'integer',
    minimum: 1,
    maximum: 1_000,
    default: agentDefaults.concurrency,
    description: 'Runs at the same time, in each process.',
    label: 'maximum simultaneous runs in each process',
  },
  maxAttempts: {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: agentDefaults.maxAttempts,
    description: 'The most runs of a message, including crashed ones.',
    label: 'maximum runs of one message',
  },
  maxQueued: {
    type: 'integer',
    minimum: 0,
    maximum: 100_000,
    default: agentDefaults.maxQueued,
    description: 'A message is refused if more messages of its session are ahead of it.',
    label: 'maximum messages that can wait ahead of a new one in its session',
  },
  onBusy: {
    type: 'string',
    enum: ['queue', 'reject'],
    default: 'queue',
    description:
      '`reject` means a `maxQueued` of 0, `queue` any other. If you send both, they must agree.',
    label: 'short form of --max-queued: reject means 0, queue means more',
  },
  a2a: { type: 'object', label: 'setting a2a for clients of A2A' },
} as const satisfies SettingsOf<AgentSettings>

/**
 * The runtime's adapter checks `options`. `secrets` is an encrypted JSON object that is never
 * shown.
 */
export type AgentRuntimeConfig = {
  readonly kind: string
  readonly options: JsonObject
  readonly secrets?: Sealed
}

export type AgentState =
  | { readonly kind: 'stopped' | 'starting' | 'stopping' }
  | { readonly kind: 'running'; readonly startedAt: Instant }
  | FailedAgent

export const AGENT_STATES = [
  'stopped',
  'starting',
  'running',
  'stopping',
  'error',
] as const satisfies readonly AgentState['kind'][]

/** `failures` counts failures in a row. Without `retryAt`, only a person's start tries again. */
export type FailedAgent = {
  readonly kind: 'error'
  readonly lastError: RunError
  readonly failures: number
  readonly retryAt?: Instant
}

/** A message whose session has an open message waits, or is refused. */
export type OnBusy = 'queue' | 'reject'
export const onBusyOf = ({ maxQueued }: Pick<Agent, 'maxQueued'>): OnBusy =>
  maxQueued === 0 ? 'reject' : 'queue'

/**
 * Translates `onBusy` to `maxQueued`: `reject` is 0, and `queue` is the given number, or the
 * default instead of 0.
 */
export function decideMaxQueued(onBusy: OnBusy | undefined, maxQueued: number): number {
  if (onBusy === 'reject') return 0
  return onBusy === 'queue' && maxQueued === 0 ? agentDefaults.maxQueued : maxQueued
}

/**
 * The runtime can change only while the agent is stopped, so no run sees another runtime's
 * options.
 */
export const mayChangeRuntime = ({
  desiredState,
  state,
}: Pick<Agent, 'desiredState' | 'state'>): boolean =>
  desiredState === 'stopped' && state.kind === 'stopped'

export const isAgentName = (text: string): boolean => SLUG.test(text) && !isUuid(text)

/** Pauses before the first restarts of a failed agent, in ms. Later pauses are a minute. */
const RESTART_DELAYS_MS: readonly number[] = [1_000, 5_000, 30_000]
const LATER_RESTART_DELAY_MS = 60_000
/** After this many failures in a row, the supervisor stops trying. */
const MAX_FAILURES = 10

/**
 * Decides the state of an agent that failed to start, whose runtime ended, or that is unhealthy.
 * `failures` counts from 1. An unhealthy agent is always tried again, because a remote agent that
 * was down can come back.
 */
export function decideAfterFailure(failures: number, error: RunError, now: Instant): FailedAgent {
  if (failures < MAX_FAILURES || error.code === 'RUNTIME_UNHEALTHY') {
    const delayMs = RESTART_DELAYS_MS[failures - 1] ?? LATER_RESTART_DELAY_MS
    return { kind: 'error', lastError: error, failures, retryAt: now + delayMs }
  }
  const message = `${error.message}; stopped after ${failures} failures in a row: start it to try again`
  return { kind: 'error', lastError: { code: error.code, message }, failures }
}

/** A pause for a state that ends soon. */
const SOON_MS = 1_000

/**
 * Returns when a caller can ask again for an agent that does not run, or undefined if only a
 * person can start it.
 */
export function comesBackInMs(
  { desiredState, state }: Pick<Agent, 'desiredState' | 'state'>,
  now: Instant,
): number | undefined {
  if (desiredState === 'stopped' || state.kind === 'running') return undefined
  if (state.kind !== 'error') return SOON_MS
  return state.retryAt === undefined ? undefined : Math.max(SOON_MS, state.retryAt - now)
}

/** Returns the event of the agent's change to the state `to`. */
export function agentEvent(agent: Agent, to: AgentState, now: Instant): EventPayload | undefined {
  const { id: agentId, runtime } = agent
  if (to.kind === 'running')
    return {
      event: 'agent.started',
      data: { agentId, runtime: runtime.kind, startedAt: toIso(to.startedAt) },
    }
  if (to.kind === 'error' && agent.state.kind !== 'error')
    return { event: 'agent.error', data: { agentId, error: to.lastError } }
  if (to.kind === 'stopped' && agent.state.kind === 'stopping') {
    return {
      event: 'agent.stopped',
      data: { agentId, runtime: runtime.kind, stoppedAt: toIso(now) },
    }
  }
  return undefined
}

/** The context that encrypted runtime secrets are bound to. */
export const runtimeSecretsContext = (agentId: string): string => `agents/${agentId}/runtime`

/**
 * Reseals the runtime's secrets. Returns the same agent if there is nothing to do, and undefined
 * if a secret cannot be opened.
 */
export function resealAgent(agent: Agent, reseal: Reseal): Agent | undefined {
  const { id, runtime } = agent
  if (runtime.secrets === undefined) return agent
  const secrets = reseal(runtime.secrets, runtimeSecretsContext(id))
  if (secrets === undefined) return undefined
  return secrets === runtime.secrets ? agent : { ...agent, runtime: { ...runtime, secrets } }
}

/** The agent does not run, so nothing was stored. `retryInMs` is set if a later try can succeed. */
export type NotRunning = {
  readonly kind: 'agent_not_running'
  readonly state: Agent['state']['kind']
  readonly retryInMs?: number
}

export function notRunning(agent: Agent, now: Instant): NotRunning {
  const retryInMs = comesBackInMs(agent, now)
  return {
    kind: 'agent_not_running',
    state: agent.state.kind,
    ...(retryInMs !== undefined && { retryInMs }),
  }
}
