import { ApiError, type Client } from '@org/agent-messaging-client'
import { expect, it } from 'vitest'
import { readStatus, statusText } from './status.js'

const NOW = Date.parse('2030-01-01T12:00:00Z')

async function* rows(...given: readonly object[]) {
  yield* given
}

/** A project with one broken agent and this many pending deliveries. */
const clientWith = (pending: readonly object[]): Client =>
  ({
    agents: {
      list: () => rows({ name: 'sound', state: 'running' }, { name: 'broken', state: 'error' }),
    },
    webhooks: { list: () => rows() },
    messages: {
      search: ({ state }: { state: string }) => rows(...(state === 'failed' ? [{}] : [])),
    },
    deliveries: {
      list: ({ status }: { status: string }) => rows(...(status === 'pending' ? pending : [])),
    },
  }) as unknown as Client

it('the status counts open and failed work, and finds the oldest due delivery', async () => {
  const due = ['2030-01-01T11:59:00.000Z', '2030-01-01T11:00:00.000Z', '2030-01-01T13:00:00.000Z']
  const status = await readStatus(clientWith(due.map((nextAttemptAt) => ({ nextAttemptAt }))), NOW)
  expect(status).toMatchObject({
    agentsInError: [{ name: 'broken' }],
    messages: { queued: { count: 0 }, failed: { count: 1, isAll: true } },
    deliveries: { pending: { count: 3 }, oldestDueAt: '2030-01-01T11:00:00.000Z' },
  })
  expect(statusText(status)).toContain(
    '3 deliveries pending, the oldest due since 2030-01-01T11:00:00.000Z, 0 exhausted',
  )
})

it('the status does not guess beyond the rows that it reads', async () => {
  const many = Array.from({ length: 1_001 }, () => ({ nextAttemptAt: '2030-01-01T11:00:00.000Z' }))
  const status = await readStatus(clientWith(many), NOW)
  expect(status.deliveries).toEqual({
    pending: { count: 1_000, isAll: false },
    exhausted: { count: 0, isAll: true },
  })
  expect(statusText(status)).toContain('1000 or more deliveries pending, 0 exhausted')
})

it('the status has what the API key may see, and names the missing permissions', async () => {
  const refuse = () => {
    const error = { code: 'FORBIDDEN', message: 'The API key lacks a permission' }
    throw new ApiError(403, JSON.stringify({ error }), null)
  }
  const seen = clientWith([])
  const client = {
    ...seen,
    agents: { ...seen.agents, list: refuse },
    messages: { ...seen.messages, search: refuse },
  } as unknown as Client
  const status = await readStatus(client, NOW)
  expect(status).toMatchObject({ agentsInError: undefined, messages: undefined })
  expect(statusText(status).split('\n')).toEqual([
    'messages  not shown, because the API key lacks project:message',
    'webhooks  0 deliveries pending, 0 exhausted',
    'agents    not shown, because the API key lacks project:agents',
    '',
    'No webhook is failing, paused or disabled.',
  ])
})
