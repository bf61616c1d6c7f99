import type { EventData, EventName } from './event.js'

/** What each event says. */
export const eventSummaries: { readonly [Name in EventName]: string } = {
  'message.responded': 'A message was answered, even if a 200 already carried the answer',
  'message.failed': 'A message failed and will not be retried',
  'message.cancelled': 'A message was cancelled',
  'message.input_required': 'An agent asks a person, and its message waits for the answer',
  'message.input_reminder': 'A question of an agent will soon expire',
  'message.input_received': 'A question of an agent was answered',
  'agent.started': 'An agent started',
  'agent.stopped': 'An agent stopped',
  'agent.error': 'An agent failed, or a message failed or was cancelled',
  'webhook.failing': 'The circuit of another webhook of the project opened',
  'webhook.recovered': 'The circuit of another webhook of the project is closed again',
  'webhook.disabled': 'Another webhook of the project was disabled because of its failures',
  'delivery.exhausted': 'The last attempt of a delivery to another webhook failed',
  'webhook.test': 'A test event was requested for this webhook',
}

const messageId = '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d'
const anAgentId = '0198b2c4-0000-7a1b-8c2d-3e4f5a6b7c8d'
const aMessage = { messageId, agentId: anAgentId, sessionId: 'first' }
const webhookId = '0198b2c4-1111-7a1b-8c2d-3e4f5a6b7c8d'

const question: EventData['message.input_required'] = {
  ...aMessage,
  executionPrincipal: { type: 'service' },
  metadata: { channel: 'C1' },
  channel: 'C1',
  input: {
    id: '0198b2c4-5555-7a1b-8c2d-3e4f5a6b7c8d',
    question: 'Pay 1,200 EUR to ACME?',
    options: ['approve', 'reject'],
    askedAt: '2026-11-01T12:00:00.000Z',
    expiresAt: '2026-11-08T12:00:00.000Z',
  },
}

const samples: EventData = {
  'message.responded': {
    ...aMessage,
    response: 'Hello!',
    executionPrincipal: { type: 'service' },
    metadata: { channel: 'C1' },
    channel: 'C1',
    responseTimeMs: 840,
    usage: { inputTokens: 12, outputTokens: 3 },
  },
  'message.failed': {
    ...aMessage,
    error: { code: 'RUNTIME_ERROR', message: 'the model is busy' },
    executionPrincipal: { type: 'service' },
    metadata: { correlationId: 'ticket-7' },
    correlationId: 'ticket-7',
    failedAt: '2026-11-01T12:00:00.000Z',
  },
  'message.cancelled': {
    ...aMessage,
    executionPrincipal: { type: 'end_user', endUserId: 'user-1' },
    metadata: {},
    cancelledAt: '2026-11-01T12:00:00.000Z',
  },
  'message.input_required': {
    ...question,
    inputUrl: 'https://agents.example.com/inputs/0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d/1f0c…',
  },
  'message.input_reminder': question,
  'message.input_received': {
    ...question,
    answer: {
      value: 'approve',
      executionPrincipal: { type: 'service' },
      answeredAt: '2026-11-01T12:05:00.000Z',
    },
  },
  'agent.started': {
    agentId: anAgentId,
    runtime: 'http',
    startedAt: '2026-11-01T12:00:00.000Z',
  },
  'agent.stopped': {
    agentId: anAgentId,
    runtime: 'http',
    stoppedAt: '2026-11-01T12:00:00.000Z',
  },
  'agent.error': {
    agentId: anAgentId,
    error: { code: 'RUNTIME_ERROR', message: 'the model is busy' },
    messageId,
    sessionId: 'first',
    executionPrincipal: { type: 'service' },
    metadata: {},
  },
  'webhook.failing': {
    webhookId,
    consecutiveFailures: 15,
    failingSince: '2026-11-01T12:00:00.000Z',
    circuitOpenUntil: '2026-11-01T12:00:17.000Z',
    lastAttempt: { outcome: 'unreachable', error: 'connect' },
  },
  'webhook.recovered': {
    webhookId,
    failingSince: '2026-11-01T12:00:00.000Z',
    recoveredAt: '2026-11-01T12:34:00.000Z',
  },
  'webhook.disabled': {
    webhookId,
    reason: 'failing',
    disabledAt: '2026-11-06T12:00:00.000Z',
    consecutiveFailures: 31,
    failingSince: '2026-11-01T12:00:00.000Z',
  },
  'delivery.exhausted': {
    deliveryId: '0198b2c4-3333-7a1b-8c2d-3e4f5a6b7c8d',
    webhookId,
    eventId: '0198b2c4-4444-7a1b-8c2d-3e4f5a6b7c8d',
    event: 'message.responded',
    attemptCount: 10,
    lastAttempt: { outcome: 'refused', statusCode: 500 },
    exhaustedAt: '2026-11-06T12:00:00.000Z',
  },
  'webhook.test': { webhookId },
}

/** Returns a body that an event can have. Its ids belong to no message, agent or webhook. */
export const sampleEvent = <Name extends EventName>(event: Name) => ({
  event,
  id: '0198b2c4-2222-7a1b-8c2d-3e4f5a6b7c8d',
  createdAt: '2026-11-01T12:00:01.000Z',
  data: samples[event],
})
