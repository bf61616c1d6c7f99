import { describe, expect, it } from 'vitest'
import { freezeEvent, type EventPayload } from '../webhooks/event.js'
import { taskBody } from './task-body.js'

const principal = { type: 'service' } as const
const of = { messageId: 'm', agentId: 'a', sessionId: 's', executionPrincipal: principal }
const facts = { ...of, metadata: {} }
const input = { id: 'i', question: 'Pay?', askedAt: 'then', expiresAt: 'later' }
const place = { taskId: 'm', contextId: 's', role: 'ROLE_AGENT' }
const textOf = (text: string) => [{ text, mediaType: 'text/plain' }]
const ANSWER = { artifactId: 'answer', name: 'answer', parts: textOf('Hello') }
const ERROR = { code: 'RUNTIME_ERROR', message: 'no' } as const

type Case = {
  readonly payload: EventPayload
  readonly state: string
  readonly message?: object
  readonly artifacts?: object[]
}

describe('the body of a push notification', () => {
  it.each([
    {
      payload: {
        event: 'message.responded',
        data: { ...facts, response: 'Hello', responseTimeMs: 1 },
      },
      state: 'TASK_STATE_COMPLETED',
      artifacts: [ANSWER],
    },
    {
      payload: { event: 'message.failed', data: { ...facts, error: ERROR, failedAt: 'then' } },
      state: 'TASK_STATE_FAILED',
      message: { ...place, messageId: 'm-error', parts: textOf('RUNTIME_ERROR: no') },
    },
    {
      payload: { event: 'message.cancelled', data: { ...facts, cancelledAt: 'then' } },
      state: 'TASK_STATE_CANCELED',
    },
    {
      payload: { event: 'message.input_required', data: { ...facts, input } },
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { ...place, messageId: 'i', parts: textOf('Pay?') },
    },
    {
      payload: {
        event: 'message.input_reminder',
        data: { ...facts, input: { ...input, options: ['yes'], schema: { type: 'string' } } },
      },
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: {
        ...place,
        messageId: 'i',
        parts: textOf('Pay?'),
        metadata: { options: ['yes'], schema: { type: 'string' } },
      },
    },
    {
      payload: {
        event: 'message.input_received',
        data: { ...facts, input, answer: { value: 'yes', answeredAt: 'then' } },
      },
      state: 'TASK_STATE_WORKING',
    },
  ] satisfies Case[])(
    'is the task of $payload.event',
    ({ payload, state, message, artifacts = [] }: Case) => {
      const { body } = freezeEvent(payload, 'e', 'p', 0)
      const status = { state, ...(message && { message }), timestamp: '1970-01-01T00:00:00.000Z' }
      const task = { id: 'm', contextId: 's', status, artifacts }
      expect(JSON.parse(taskBody(body))).toEqual({ task })
      expect(taskBody(body)).toBe(taskBody(body))
    },
  )
})
