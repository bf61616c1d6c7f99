import { createService, type JsonObject, type SendInput } from '@org/agent-messaging-core'
import type { AgentRuntime, InputPart } from '@org/agent-messaging-core/runtime'
import { fakePlatform, fakeRuntime, refusalOf } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { runOf, scene } from './scene.js'

const parts: InputPart[] = [
  { type: 'data', name: 'order', data: { total: 7 } },
  { type: 'file', url: 'https://files.example/a.png', mediaType: 'image/png' },
]
const responseSchema: JsonObject = {
  type: 'object',
  properties: { total: { type: 'number' } },
  required: ['total'],
}

/** A service with the agent `bot` of a kind of its own. */
async function sceneOf(runtime: AgentRuntime) {
  const service = createService({ ...fakePlatform(), runtimes: [runtime] })
  await service.start()
  const { id: projectId } = await service.projects.create({ name: 'test' })
  const kind = { kind: runtime.kind, size: 1 }
  await service.agents.create({ projectId, name: 'bot', runtime: kind, desiredState: 'running' })
  const to = { projectId, agent: 'bot', sessionId: 's', message: 'hello', waitMs: 0 }
  return {
    send: (more: Partial<SendInput>) => service.messages.send({ ...to, ...more }),
    stored: async () => (await service.messages.search({ projectId })).data.length,
  }
}

describe('the parts of a message', () => {
  it('reach the agent, each retry and the reader', async () => {
    const { post, runtime, clock, service, ref } = await scene({ agent: { maxAttempts: 2 } })
    const { id: messageId, ...sent } = await post('hello', { parts })
    expect(sent).toMatchObject({ message: 'hello', inputParts: parts })
    expect(runOf(runtime)).toMatchObject({ message: 'hello', parts })
    runtime.fail(messageId, 'try again', { retryable: true })
    await clock.until(() => runtime.openRuns.length > 0)
    expect(runtime.requests[1]).toMatchObject({ attempt: 2, parts })
    runtime.answer(messageId, 'done')
    await clock.advance(0)
    expect(await service.messages.get({ ...ref, messageId })).toMatchObject({
      inputParts: parts,
      state: { response: 'done' },
    })
  })

  it('are absent if the list is empty', async () => {
    const { post, runtime } = await scene()
    expect(await post('hello', { parts: [] })).not.toHaveProperty('inputParts')
    expect(runOf(runtime)).not.toHaveProperty('parts')
    expect(runOf(runtime)).not.toHaveProperty('responseSchema')
  })

  it('are part of what an idempotency key stands for', async () => {
    const { post, send } = await scene({ policy: { onKeyMismatch: 'reject' } })
    const key = { idempotencyKey: 'k', waitMs: 0 }
    const first = await post('hello', { ...key, parts })
    expect((await post('hello', { ...key, parts })).id).toBe(first.id)
    for (const more of [{}, { parts: parts.slice(1) }, { parts, responseSchema }])
      expect(await refusalOf(send('hello', { ...key, ...more }))).toEqual({
        kind: 'idempotency_mismatch',
      })
  })

  it('do not change the fingerprint of a message without them', async () => {
    const { post } = await scene()
    const { fingerprint } = await post('hello', { idempotencyKey: 'k', parts: [] })
    const { fingerprint: same } = await post('hello', { idempotencyKey: 'l' })
    expect(fingerprint).toBe(same)
  })

  it('are refused by a kind of agents that says nothing about them, before anything is stored', async () => {
    const { kind, signsRequests, parseOptions, start } = fakeRuntime({ kind: 'plain' })
    const { send, stored } = await sceneOf({ kind, signsRequests, parseOptions, start })
    expect(await refusalOf(send({ parts, responseSchema }))).toEqual({
      kind: 'invalid',
      issues: [
        ...[0, 1].map((index) => ({
          path: `parts.${index}`,
          message: 'is not supported: the agent takes text only',
        })),
        { path: 'responseSchema', message: 'is not supported by agents of kind plain' },
      ],
    })
    expect(await stored()).toBe(0)
    await send({})
    expect(await stored()).toBe(1)
  })

  it('are judged by the kind with the options of the agent', async () => {
    const judged: unknown[] = []
    const accepts: AgentRuntime['accepts'] = (part, options) => {
      judged.push({ part, options })
      return part.type === 'file' ? 'is a file' : undefined
    }
    const { send, stored } = await sceneOf(fakeRuntime({ accepts }))
    expect(await refusalOf(send({ parts }))).toEqual({
      kind: 'invalid',
      issues: [{ path: 'parts.1', message: 'is a file' }],
    })
    expect(judged.slice(0, 2)).toEqual(parts.map((part) => ({ part, options: { size: 1 } })))
    await send({ parts: parts.slice(0, 1) })
    expect(await stored()).toBe(1)
  })

  it('are refused with the field that is wrong', async () => {
    const { send } = await scene()
    const wrong = [{ type: 'file', url: 'data:,a', mediaType: 'a/b' }] as const
    expect(await refusalOf(send('hello', { parts: wrong }))).toEqual({
      kind: 'invalid',
      issues: [
        {
          path: 'parts.0.url',
          message: 'must be an http: or https: URL of at most 8192 characters',
        },
      ],
    })
  })
})

describe('the schema of an answer', () => {
  it('reaches the agent, and an answer that matches is the text of the agent', async () => {
    const { post, runtime, state, clock } = await scene()
    const { id, ...sent } = await post('hello', { responseSchema })
    expect(sent).toMatchObject({ responseSchema })
    expect(runOf(runtime)).toMatchObject({ responseSchema })
    runtime.answer(id, ' {"total": 7}')
    await clock.advance(0)
    expect(await state(id)).toMatchObject({ kind: 'responded', response: ' {"total": 7}' })
  })

  it.each([
    ['seven', 'the answer is not JSON, and the message has a responseSchema'],
    [
      '{"total":"7"}',
      'the answer does not match the schema at /total: Instance type "string" is invalid. Expected "number".',
    ],
  ])('fails the message without another run for %s', async (answer, message) => {
    const { post, runtime, state, clock } = await scene({ agent: { maxAttempts: 3 } })
    const { id } = await post('hello', { responseSchema })
    runtime.answer(id, answer)
    await clock.advance(60_000)
    expect(await state(id)).toMatchObject({
      kind: 'failed',
      error: { code: 'RESPONSE_INVALID', message },
    })
    expect(runtime.requests).toHaveLength(1)
  })

  it('refuses a late answer that does not match, so that the agent can send a better one', async () => {
    const { post, runtime, service, clock } = await scene()
    const { id: messageId } = await post('hello', { responseSchema })
    runtime.defer(messageId)
    await clock.advance(0)
    const { runToken } = runOf(runtime)
    const answer = (response: string) =>
      service.host.answerRun({ messageId, runToken, run: { kind: 'answered', response } })
    expect(await refusalOf(answer('seven'))).toEqual({
      kind: 'invalid',
      issues: [{ path: 'response', message: 'is not JSON, and the message has a responseSchema' }],
    })
    expect(await answer('{"total":7}')).toMatchObject({ state: { kind: 'responded' } })
  })

  it('does not hold for a question', async () => {
    const { post, runtime, state, clock } = await scene()
    const { id } = await post('hello', { responseSchema })
    runtime.ask(id, { question: 'Which one?' })
    await clock.advance(0)
    expect(await state(id)).toMatchObject({ kind: 'input_required' })
  })

  it('is checked', async () => {
    const { send } = await scene()
    expect(await refusalOf(send('hello', { responseSchema: { $ref: '#' } }))).toEqual({
      kind: 'invalid',
      issues: [
        { path: 'responseSchema', message: 'has a schema with $ref, which is not supported' },
      ],
    })
  })
})
