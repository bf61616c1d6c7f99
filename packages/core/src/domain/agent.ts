import type { EventPayload } from './event.js'
import { toIso, type Instant } from './instant.js'
import type { JsonObject } from './json.js'
import type { DefaultExecutionPrincipal } from './principal.js'
import type { RunError } from './run.js'
import type { Sealed } from './sealed.js'

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
  | { readonly kind: 'error'; readonly lastError: RunError; readonly retryAt: Instant }

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => UUID.test(text)
export const isAgentName = (text: string): boolean => SLUG.test(text) && !isUuid(text)

export const agentDefaults = { concurrency: 16, maxAttempts: 3, maxQueued: 100 } as const

/** Waits before the first new tries to bring up an agent that should run (ms); after those it is a minute each time. */
const RESTART_DELAYS_MS: readonly number[] = [1_000, 5_000, 30_000]
const LATER_RESTART_DELAY_MS = 60_000

/** When an agent that failed to start, or whose runtime ended, is tried again. `failures` counts from 1. */
export const decideRestartAt = (failures: number, now: Instant): Instant =>
  now + (RESTART_DELAYS_MS[failures - 1] ?? LATER_RESTART_DELAY_MS)

/** What webhooks are told when `agent` goes from the state it has to `to`. */
export function agentEvent(agent: Agent, to: AgentState, now: Instant): EventPayload | undefined {
  const { id: agentId, runtime } = agent
  if (to.kind === 'running') return { event: 'agent.started', data: { agentId, runtime: runtime.kind, startedAt: toIso(to.startedAt) } }
  if (to.kind === 'error') return { event: 'agent.error', data: { agentId, error: to.lastError } }
  if (to.kind === 'stopped' && agent.state.kind === 'stopping') {
    return { event: 'agent.stopped', data: { agentId, runtime: runtime.kind, stoppedAt: toIso(now) } }
  }
  return undefined
}

/** What sealed runtime secrets are bound to. */
export const runtimeSecretsContext = (agentId: string): string => `agents/${agentId}/runtime`
