import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { createServer } from '../server.js'
import {
  checkBacklog,
  checkCircuits,
  checkDatabase,
  checkDeliveries,
  checkFailures,
} from './database.js'

const NOW = 10 * 3_600_000
const none = { count: 0 }
const held = { disabled: none, paused: none, circuit: none, limit: none, order: none }
const backlog = {
  open: 9,
  due: 2,
  held,
  disabledWebhooks: 0,
  openCircuits: 0,
  halfOpenCircuits: 0,
}

it('the check of deliveries passes while those are held that nobody has to help', () => {
  const limit = { count: 3, oldestAt: NOW - 59_999 }
  const order = { count: 1, oldestAt: 0 }
  expect(checkDeliveries({ ...backlog, held: { ...held, limit, order } }, NOW)).toEqual({
    check: 'deliveries',
    status: 'ok',
    message: '2 due, 4 held (limit: 3, the oldest for 59 s; order: 1, the oldest for 10 h)',
  })
  expect(checkDeliveries(backlog, NOW)).toMatchObject({ status: 'ok', message: '2 due, 0 held' })
})

it.each(['disabled', 'paused', 'circuit'] as const)(
  'the check of deliveries warns of those that are held because of: %s',
  (cause) => {
    const some = { ...held, [cause]: { count: 5_044, oldestAt: NOW - 1_857_000 } }
    expect(checkDeliveries({ ...backlog, held: some }, NOW)).toEqual({
      check: 'deliveries',
      status: 'warning',
      message: `2 due, 5044 held (${cause}: 5044, the oldest for 30 min)`,
      fix: 'See the health of the webhooks: agent-messaging webhooks list.',
    })
  },
)

it.each([
  [0, 'ok', '7 answered and 0 failed in the last hour'],
  [2, 'warning', '7 answered and 2 failed in the last hour'],
])('%i failed messages: %s', (failed, status, message) => {
  expect(checkFailures({ answered: 7, failed })).toMatchObject({ status, message })
})

it.each([
  [0, 0, 'ok', 'all are closed'],
  [2, 0, 'warning', '2 open, 0 half-open'],
  [0, 1, 'warning', '0 open, 1 half-open'],
])('%i open and %i half-open circuits: %s', (openCircuits, halfOpenCircuits, status, message) => {
  expect(checkCircuits({ openCircuits, halfOpenCircuits })).toMatchObject({ status, message })
})

it.each([
  [{}, {}, 'ok', 'no work has waited for minutes'],
  [{ oldestDueAt: NOW - 299_999 }, { oldestDueAt: NOW + 1 }, 'ok', /^no work/],
  [{ oldestDueAt: NOW - 300_000 }, {}, 'warning', /^the oldest message has been due for 5 min$/],
  [
    { oldestDueAt: NOW - 600_000 },
    { oldestDueAt: NOW - 900_000 },
    'warning',
    /message has been due for 10 min, and the oldest delivery has been due for 15 min$/,
  ],
])('a backlog of messages %j and deliveries %j: %s', (messages, deliveries, status, message) => {
  expect(checkBacklog({ messages, deliveries }, NOW)).toMatchObject({
    status,
    message: expect.stringMatching(message),
  })
})

it('the checks read the held deliveries and the failed messages of a database', async ({
  onTestFinished,
}) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'doctor-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const databasePath = path.join(folder, 'service.db')
  const agents = { broken: () => Promise.reject(new Error('broken')) }
  const server = await createServer({
    port: 0,
    databasePath,
    agents,
    masterKey: new Uint8Array(32),
  })
  const { service } = server
  const project = {
    projectId: (await service.projects.create({ name: 'test' })).id,
  }
  const url = 'https://receiver.example/hook'
  const hook = { ...project, url, events: ['*'] as const, paused: true }
  await service.webhooks.create(hook)
  for (const name of ['echo', 'broken']) {
    const runtime = { kind: 'function', handler: name }
    await service.agents.create({ ...project, name, runtime, desiredState: 'running' })
    for (const sessionId of ['a', 'b'])
      await service.messages.send({ ...project, agent: name, sessionId, message: 'hi' })
  }
  await server.stop()
  const found = await checkDatabase(databasePath, undefined)
  const messageOf = (name: string) => found.find(({ check }) => check === name)
  expect(messageOf('messages')).toMatchObject({
    status: 'warning',
    message: '2 answered and 2 failed in the last hour',
  })
  expect(messageOf('deliveries')).toMatchObject({
    status: 'warning',
    message: expect.stringMatching(/^0 due, \d+ held \(paused: \d+, the oldest for \d+ s\)$/),
  })
})
