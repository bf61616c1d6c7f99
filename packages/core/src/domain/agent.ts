import type { EventPayload } from './event.js'
import { toIso, type Instant } from './instant.js'
import type { JsonObject } from './json.js'
import type { DefaultExecutionPrincipal } from './principal.js'
import type { RunError } from './run.js'
import type { Reseal, Sealed } from './sealed.js'

/** An addressable worker. Two agents of one project never share a `name`. */
export type Agent = {
  readonly id: string
  readonly projectId: string
  /** A slug that does not look like a UUID, so that a path may hold either. */
  readonly name: string
  readonly defaultExecutionPrincipal: DefaultExecutionPrincipal
  readonly runtime: AgentRuntimeConfig
  readonly desiredState: 'running' | 'stopped'
  readonly state: AgentState
  /** Runs at once, in each process. */
  readonly concurrency: number
  /** Runs of one message at most, crashes included; 1 means never run twice. */
  readonly maxAttempts: number
  /** Messages of one session that may be ahead of a new one. */
  readonly maxQueued: number
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** The runtime's own adapter checks `options`; `secrets` is a sealed JSON object that is never shown. */
export type AgentRuntimeConfig = {
  readonly kind: string
  readonly options: JsonObject
  readonly secrets?: Sealed
}

export type AgentState =
  | { readonly kind: 'stopped' | 'starting' | 'stopping' }
  | { readonly kind: 'running'; readonly startedAt: Instant }
  | FailedAgent

/** `failures` in a row. Without `retryAt` it is left alone until somebody starts it. */
export type FailedAgent = {
  readonly kind: 'error'
  readonly lastError: RunError
  readonly failures: number
  readonly retryAt?: Instant
}

/** What becomes of a message whose session has an open one: it waits its turn, or it is refused. */
export type OnBusy = 'queue' | 'reject'
export const onBusyOf = ({ maxQueued }: Pick<Agent, 'maxQueued'>): OnBusy =>
  maxQueued === 0 ? 'reject' : 'queue'

/** `onBusy` is `maxQueued` in two words: to refuse is to let none wait; to queue, as many as already may, or the default number. */
export function decideMaxQueued(onBusy: OnBusy | undefined, maxQueued: number): number {
  if (onBusy === 'reject') return 0
  return onBusy === 'queue' && maxQueued === 0 ? agentDefaults.maxQueued : maxQueued
}

/** Whoever runs must not find another runtime's options under it. */
export const mayChangeRuntime = ({
  desiredState,
  state,
}: Pick<Agent, 'desiredState' | 'state'>): boolean =>
  desiredState === 'stopped' && state.kind === 'stopped'

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => UUID.test(text)
export const isAgentName = (text: string): boolean => SLUG.test(text) && !isUuid(text)

export const agentDefaults = { concurrency: 16, maxAttempts: 3, maxQueued: 100 } as const

/** Waits before the first new tries to bring up an agent that should run (ms); after those it is a minute each time. */
const RESTART_DELAYS_MS: readonly number[] = [1_000, 5_000, 30_000]
const LATER_RESTART_DELAY_MS = 60_000
/** So many failures in a row, and it is not tried again. */
const MAX_FAILURES = 10

/**
 * What becomes of an agent that failed to start, whose runtime ended or that is not well. `failures` counts from 1. One that is
 * not well is tried again for ever: a remote agent that is down comes back without anybody's doing.
 */
export function decideAfterFailure(failures: number, error: RunError, now: Instant): FailedAgent {
  if (failures < MAX_FAILURES || error.code === 'RUNTIME_UNHEALTHY') {
    const delayMs = RESTART_DELAYS_MS[failures - 1] ?? LATER_RESTART_DELAY_MS
    return { kind: 'error', lastError: error, failures, retryAt: now + delayMs }
  }
  const message = `${error.message}; stopped after ${failures} failures in a row: start it to try again`
  return { kind: 'error', lastError: { code: error.code, message }, failures }
}

/** A moment for what takes none at all, or is about to happen. */
const SOON_MS = 1_000

/** When it is worth while to ask again whether an agent that does not run does; undefined when only a person can tell. */
export function comesBackInMs(
  { desiredState, state }: Pick<Agent, 'desiredState' | 'state'>,
  now: Instant,
): number | undefined {
  if (desiredState === 'stopped' || state.kind === 'running') return undefined
  if (state.kind !== 'error') return SOON_MS
  return state.retryAt === undefined ? undefined : Math.max(SOON_MS, state.retryAt - now)
}

/** What webhooks are told when `agent` goes from the state it has to `to`. */
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

/** What sealed runtime secrets are bound to. */
export const runtimeSecretsContext = (agentId: string): string => `agents/${agentId}/runtime`

/** With its runtime's secrets sealed anew; itself when there is nothing to do, undefined when they cannot be opened. */
export function resealAgent(agent: Agent, reseal: Reseal): Agent | undefined {
  const { id, runtime } = agent
  if (runtime.secrets === undefined) return agent
  const secrets = reseal(runtime.secrets, runtimeSecretsContext(id))
  if (secrets === undefined) return undefined
  return secrets === runtime.secrets ? agent : { ...agent, runtime: { ...runtime, secrets } }
}

/** Nothing was done, for the agent does not run. `retryInMs`: when it may, if that can be told. */
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
