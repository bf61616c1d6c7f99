import type { Json } from '../domain/values/json.js'

/**
 * Receives one wide fact per event in the service. Adapters turn facts into log lines and metrics.
 * `record` never throws and never waits. A fact has ids, durations and outcomes, never message
 * text, secrets or keys.
 */
export interface Telemetry {
  record(fact: Fact): void
}

export type Fact = {
  readonly name:
    | 'message.accepted'
    | 'message.cancelled'
    | 'message.retried'
    | 'event.published'
    | 'run.finished'
    | 'input.changed' // a question was answered, withdrawn, reminded of, or has expired
    | 'answer.shortened' // parts of an agent's answer were no text
    | 'part.dropped' // the first part event of a run that is not valid
    | 'run.refused' // the run had lost its lease, or ended twice
    | 'delivery.attempted'
    | 'delivery.refused' // the delivery's lease was lost
    | 'webhook.circuit' // a circuit opened or closed
    | 'webhook.waiting' // for its own limit, for long
    | 'webhook.disabled' // after failures
    | 'recovery.finished'
    | 'listener.failed' // its handler, which gets the event again
    | 'listener.expired' // events were purged before the listener came to them
    | 'agent.changed'
    | 'agent.settings_kept' // a person's values, although the code that declares the agent changed
    | 'agent.undeclared' // agents run that code declared earlier
    | 'secret.unsealable' // no master key opens the secrets of an agent
    | 'maintenance.done'
    | 'clock.corrected' // this machine's clock differs from the database's
    | 'clock.jumped' // the stored times move with it
    | 'store.unavailable'
    | 'work.taken_over' // at a start after a crash
    | 'worker.failed' // a defect, or a helper lost its connection or thread
} & { readonly [detail: string]: Json | undefined }

/** Says how a log shows a fact: `warn` and `error` are failures and warnings. */
export function levelOfFact(fact: Fact): 'info' | 'warn' | 'error' {
  switch (fact.name) {
    case 'message.accepted':
    case 'maintenance.done':
    case 'message.cancelled':
    case 'message.retried':
    case 'event.published':
    case 'input.changed':
    case 'recovery.finished':
      return 'info'
    case 'run.finished':
      return fact['error'] === undefined ? 'info' : 'warn'
    case 'delivery.attempted':
      return fact['outcome'] === 'accepted' ? 'info' : 'warn'
    case 'webhook.circuit':
      return fact['circuit'] === 'open' ? 'warn' : 'info'
    case 'agent.changed':
      return fact['to'] === 'error' ? 'warn' : 'info'
    case 'agent.settings_kept':
    case 'agent.undeclared':
    case 'secret.unsealable':
    case 'clock.corrected':
    case 'clock.jumped':
    case 'answer.shortened':
    case 'part.dropped':
    case 'run.refused':
    case 'delivery.refused':
    case 'webhook.disabled':
    case 'webhook.waiting':
    case 'listener.failed':
    case 'listener.expired':
    case 'work.taken_over':
      return 'warn'
    case 'store.unavailable':
    case 'worker.failed':
      return 'error'
  }
}
