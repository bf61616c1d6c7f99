import type { Json } from '../domain/json.js'

/**
 * One wide fact per thing that happened; adapters make log lines, metrics and spans of it.
 * Never throws and never waits. Facts hold ids, durations and outcomes, never message text, secrets or keys.
 */
export interface Telemetry {
  record(fact: Fact): void
}

export type Fact = {
  readonly name:
    | 'message.accepted'
    | 'message.cancelled'
    | 'message.retried'
    | 'run.finished'
    | 'run.refused' // its lease was lost, or it ended more than once
    | 'delivery.attempted'
    | 'delivery.refused' // its lease was lost and its outcome changes nothing
    | 'webhook.circuit' // it opened, or closed
    | 'webhook.disabled' // by its failures
    | 'agent.changed'
    | 'maintenance.done'
    | 'store.unavailable'
    | 'worker.failed' // something threw that must not, which is a defect; or what helps a worker lost its connection or its thread
} & { readonly [detail: string]: Json | undefined }
