import type { EventPayload } from '../webhooks/event.js'
import type { JsonObject } from '../values/json.js'

type MessageEvent = Extract<EventPayload, { readonly data: { readonly sessionId: string } }> & {
  readonly createdAt: string
}

export const TASK_TYPE = 'application/a2a+json'

/**
 * Returns the body of a push notification of A2A 1.0: the task of the event's message. The same
 * event always makes the same body, so each attempt of a delivery sends the same bytes.
 */
export function taskBody(eventBody: string): string {
  const event = JSON.parse(eventBody) as MessageEvent
  const { messageId: id, sessionId: contextId } = event.data
  const { state, message } = statusOf(event)
  const status = { state, ...(message && { message }), timestamp: event.createdAt }
  const artifacts =
    event.event === 'message.responded'
      ? [{ ...ANSWER, parts: [textPart(event.data.response)] }]
      : []
  return JSON.stringify({ task: { id, contextId, status, artifacts } })
}

const ANSWER = { artifactId: 'answer', name: 'answer' }

type Status = { readonly state: string; readonly message?: JsonObject }

function statusOf(event: MessageEvent): Status {
  const { messageId: taskId, sessionId: contextId } = event.data
  const fromAgent = (messageId: string, text: string, metadata?: JsonObject): JsonObject => ({
    messageId,
    contextId,
    taskId,
    role: 'ROLE_AGENT',
    parts: [textPart(text)],
    ...(metadata && { metadata }),
  })
  switch (event.event) {
    case 'message.responded':
      return { state: 'TASK_STATE_COMPLETED' }
    case 'message.cancelled':
      return { state: 'TASK_STATE_CANCELED' }
    case 'message.failed': {
      const { code, message } = event.data.error
      const text = `${code}: ${message}`
      return { state: 'TASK_STATE_FAILED', message: fromAgent(`${taskId}-error`, text) }
    }
    case 'message.input_required':
    case 'message.input_reminder': {
      const { id, question, options, schema } = event.data.input
      const about = { ...(options && { options: [...options] }), ...(schema && { schema }) }
      const metadata = options || schema ? about : undefined
      return { state: 'TASK_STATE_INPUT_REQUIRED', message: fromAgent(id, question, metadata) }
    }
    case 'message.input_received':
      return { state: 'TASK_STATE_WORKING' }
  }
}

const textPart = (text: string): JsonObject => ({ text, mediaType: 'text/plain' })
