import { expect, it } from 'vitest'
import type { Message, MessageState, RunningMessage } from '../../domain/messages/message.js'
import { LiveAnswer } from './live-answer.js'
import { StreamCursor } from './stream-cursor.js'

const facts = {
  id: 'm',
  projectId: 'p',
  agentId: 'a',
  sessionId: 's',
  message: '',
  executionPrincipal: { type: 'service' },
  createdAt: 0,
} as const
const queued = (attempt: number): Message => ({
  ...facts,
  attempt,
  state: { kind: 'queued', notBefore: 0 },
})
const running = (attempt: number): RunningMessage => ({
  ...facts,
  attempt,
  state: { kind: 'running', startedAt: 0 },
})
const final = (attempt: number, state: MessageState): Message => ({ ...facts, attempt, state })
const failed = {
  kind: 'failed',
  error: { code: 'RUNTIME_ERROR', message: 'no' },
  failedAt: 0,
} as const

function idsOf(cursor: StreamCursor): string[] {
  const ids = []
  for (let event = cursor.take(); event && event.kind !== 'message'; event = cursor.take())
    ids.push('id' in event ? event.id : '')
  return ids
}

it('a message that is older than the last seen one changes nothing', () => {
  const cursor = new StreamCursor(running(2))
  cursor.take()
  for (const old of [queued(0), queued(1), running(1)]) cursor.see(old)
  expect(cursor.take()).toBeUndefined()
  cursor.see(queued(2))
  expect(cursor.take()).toMatchObject({
    kind: 'state',
    id: '2.0',
    message: { state: { kind: 'queued' } },
  })
  cursor.see(running(2))
  expect(cursor.take()).toBeUndefined()
})

it('after a final message, only a retry or another final message counts', () => {
  const cursor = new StreamCursor(final(2, failed))
  cursor.see(running(2))
  cursor.see(running(3))
  expect(cursor.take()).toMatchObject({ kind: 'state', id: '3.0' }) // a retry
  cursor.see(final(1, failed)) // the retry counted its attempts from 1 again
  expect(cursor.take()).toMatchObject({ kind: 'message', id: '1.failed' })
})

it('the final message comes after all pieces of its attempt', () => {
  const answer = new LiveAnswer(100)
  const cursor = new StreamCursor(queued(0))
  answer.append('Hello')
  cursor.follow(running(1), answer)
  cursor.see(final(1, failed))
  expect(idsOf(cursor)).toEqual(['1.5'])
})

it('pieces of an earlier attempt are skipped', () => {
  const answer = new LiveAnswer(100)
  answer.append('Hello')
  const cursor = new StreamCursor(queued(0))
  cursor.follow(running(1), answer)
  cursor.see(running(2))
  expect(idsOf(cursor)).toEqual(['2.0'])
})
