import type { components } from '../api.generated.js'
import type { JsonObject } from './json.js'

export type { Json, JsonObject } from './json.js'

type Schemas = components['schemas']

/** The principal of the run. */
export type ExecutionPrincipal = Schemas['ExecutionPrincipal']
export type RunError = Schemas['RunError']

/** The `data` of each event. Instants are ISO 8601 in UTC. */
export type EventData = {
  'message.responded': Schemas['MessageRespondedEventData']
  'message.failed': Schemas['MessageFailedEventData']
  'message.cancelled': Schemas['MessageCancelledEventData']
  'message.input_required': Schemas['MessageInput_requiredEventData']
  'message.input_reminder': Schemas['MessageInput_reminderEventData']
  'message.input_received': Schemas['MessageInput_receivedEventData']
  'agent.started': Schemas['AgentStartedEventData']
  'agent.stopped': Schemas['AgentStoppedEventData']
  'agent.error': Schemas['AgentErrorEventData']
  'webhook.failing': Schemas['WebhookFailingEventData']
  'webhook.recovered': Schemas['WebhookRecoveredEventData']
  'webhook.disabled': Schemas['WebhookDisabledEventData']
  'delivery.exhausted': Schemas['DeliveryExhaustedEventData']
  'webhook.test': Schemas['WebhookTestEventData']
}
export type EventName = keyof EventData

/** The body of a webhook request for an event of the service. */
export type WebhookEvent<Name extends EventName = EventName> = {
  [N in Name]: {
    readonly event: N
    readonly id: string
    readonly createdAt: string
    readonly data: EventData[N]
  }
}[Name]

/** The body of a webhook request for an event that a host published. */
export type PublishedEvent = {
  /** The type, such as `order.paid`. */
  readonly event: string
  readonly id: string
  readonly createdAt: string
  readonly data: JsonObject
}

const OWN = /^(?:message|agent|webhook|delivery)\./

/** Tells an event of the service from one that a host published. */
export const isServiceEvent = (event: WebhookEvent | PublishedEvent): event is WebhookEvent =>
  OWN.test(event.event)
