import { expect, it } from 'vitest'
import type { Message, MessageState, RunningMessage } from '../../domain/message.js'
import { createLiveAnswer } from './live-answer.js'
import { createStreamReader, type StreamReader } from './stream-reader.js'

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

function idsOf(reader: StreamReader): string[] {
  const ids = []
  for (let event = reader.take(); event && event.kind !== 'message'; event = reader.take())
    ids.push('id' in event ? event.id : '')
  return ids
}

it('a look that was overtaken changes nothing', () => {
  const reader = createStreamReader(running(2))
  reader.take()
  for (const old of [queued(0), queued(1), running(1)]) reader.see(old)
  expect(reader.take()).toBeUndefined()
  reader.see(queued(2))
  expect(reader.take()).toMatchObject({
    kind: 'state',
    id: '2.0',
    message: { state: { kind: 'queued' } },
  })
  reader.see(running(2))
  expect(reader.take()).toBeUndefined()
})

it('nothing comes after what is final but what is final', () => {
  const reader = createStreamReader(final(2, failed))
  reader.see(running(2))
  reader.see(running(3))
  expect(reader.take()).toMatchObject({ kind: 'state', id: '3.0' }) // retried: it goes on
  reader.see(final(1, failed)) // and its attempts were counted from the first again
  expect(reader.take()).toMatchObject({ kind: 'message', id: '1.failed' })
})

it('what a run has shown is read to its end before the final message', () => {
  const answer = createLiveAnswer(100)
  const reader = createStreamReader(queued(0))
  answer.append('Hello')
  reader.follow(running(1), answer)
  reader.see(final(1, failed))
  expect(idsOf(reader)).toEqual(['1.5'])
})

it('what an earlier attempt has shown is not', () => {
  const answer = createLiveAnswer(100)
  answer.append('Hello')
  const reader = createStreamReader(queued(0))
  reader.follow(running(1), answer)
  reader.see(running(2))
  expect(idsOf(reader)).toEqual(['2.0'])
})
