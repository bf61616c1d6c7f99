import { aMessage } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { shownMessage, shownSend } from './shown-message.js'

const AGENT = { id: 'a', projectId: 'p' }
const error = { code: 'RUNTIME_ERROR', message: 'no' } as const
const at = Date.parse('2026-01-01T00:00:00.000Z')
const responded = {
  kind: 'responded',
  response: 'Hi',
  respondedAt: at,
  responseTimeMs: 5,
} as const
const question = { id: 'q', question: 'Which?', askedAt: at }

it.each([
  [{ kind: 'queued', notBefore: at } as const, { state: 'queued', status: 'pending' }],
  [
    responded,
    {
      state: 'responded',
      status: 'responded',
      response: 'Hi',
      respondedAt: '2026-01-01T00:00:00.000Z',
    },
  ],
  [{ kind: 'failed', error, failedAt: at } as const, { state: 'failed', error }],
  [
    { kind: 'cancelled', cancelledAt: at } as const,
    { state: 'cancelled', error: { code: 'CANCELLED' } },
  ],
])('shows a message in the state %j', (state, shown) => {
  expect(shownMessage(aMessage(AGENT, { state }))).toMatchObject(shown)
})

it('shows the open question with its deadline, and earlier ones with their answers', () => {
  const state = { kind: 'input_required', askedAt: at, deadlineAt: at + 1, dueAt: at } as const
  const answer = { value: 'red', answeredAt: at }
  const inputs = [{ ...question, id: 'earlier', answer }, question]
  const shown = shownMessage(aMessage(AGENT, { state, inputs }))
  expect(shown.input).toMatchObject({ id: 'q', expiresAt: '2026-01-01T00:00:00.001Z' })
  expect(shown.inputs).toMatchObject([
    { id: 'earlier', answer: { value: 'red', answeredAt: '2026-01-01T00:00:00.000Z' } },
    { id: 'q', question: 'Which?' },
  ])
})

it('shows a send with the answer, or without', () => {
  const { id: messageId } = aMessage(AGENT)
  const pending = { kind: 'queued', notBefore: at } as const
  expect(shownSend(aMessage(AGENT, { id: messageId, state: responded }))).toEqual({
    messageId,
    status: 'responded',
    response: 'Hi',
  })
  expect(shownSend(aMessage(AGENT, { id: messageId, state: pending }))).toEqual({
    messageId,
    status: 'pending',
  })
})
