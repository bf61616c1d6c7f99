import { refusalOf, unwrap } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import type { EventPayload, RunOutcome, RunRequest } from '@org/agent-messaging-core/runtime'
import { scene } from './scene.js'

const DAY_MS = 86_400_000
const QUESTION = { kind: 'input_required', question: 'Pay?', options: ['yes', 'no'] } as const

/** More than a check takes. */
const MANY = Array.from({ length: 1_500 }, () => ({}))

/** Asks, and answers with the answers that the run got. */
const asking =
  (question: object = QUESTION, times = 1) =>
  ({ inputs = [] }: RunRequest): RunOutcome =>
    inputs.length < times
      ? { ...QUESTION, ...question }
      : { kind: 'answered', response: JSON.stringify(inputs.map(({ value }) => value)) }

/** Asks a question. With `idle`, the work is done in passes. */
async function asked(question: object = {}, agent: object = {}, idle = false) {
  const parts = await scene({ handler: asking(question), agent, idle })
  const { id: messageId } = await parts.post('hi')
  const pass = async (ms: number): Promise<void> => {
    await parts.clock.advance(ms)
    if (idle) await parts.service.tick({ budgetMs: 1_000 })
  }
  await pass(0)
  const get = async () => await parts.service.messages.get({ ...parts.ref, messageId })
  const inputId = (await get()).inputs?.[0]?.id ?? ''
  const answer = (value: unknown, more: object = {}) =>
    parts.service.inputs.answer({ ...parts.ref, messageId, inputId, value, ...more })
  const events = async () => {
    const read = parts.service.events.read({ projectId: parts.project.id, limit: 50 })
    const bodies = (await read).data.map(({ body }): unknown => JSON.parse(body))
    return (bodies as EventPayload[]).filter(({ event }) => event.startsWith('message.'))
  }
  return { ...parts, messageId, inputId, get, answer, events, pass }
}

describe('a question of an agent', () => {
  it('keeps its context out of events, and only until the answer', async () => {
    const context = [{ message: 'hello', response: 'the context' }]
    const { get, answer, events } = await asked({ context })
    expect((await get()).inputs).toMatchObject([{ context }])
    expect(await answer('yes')).not.toHaveProperty('inputs.0.context')
    expect(JSON.stringify(await events())).not.toContain('the context')
  })

  it('keeps its message open, and the next run gets the answer', async () => {
    const { get, answer, clock, events, inputId, messageId } = await asked()
    expect((await get()).state.kind).toBe('input_required')
    const taken = await answer('yes')
    expect(taken.state.kind).toBe('queued')
    await clock.advance(0)
    expect((await get()).state).toMatchObject({ kind: 'responded', response: '["yes"]' })
    expect(await events()).toMatchObject([
      {
        event: 'message.input_required',
        data: { messageId, input: { id: inputId, question: 'Pay?', options: ['yes', 'no'] } },
      },
      {
        event: 'message.input_received',
        data: { answer: { value: 'yes', executionPrincipal: { type: 'service' } } },
      },
      { event: 'message.responded', data: { response: '["yes"]' } },
    ])
  })

  it('ends the wait of its sender and of its readers at once', async () => {
    const { send, clock, service, ref } = await scene({ handler: asking() })
    const started = clock.now()
    const sending = send('hi')
    await clock.advance(0)
    const { message } = await sending
    expect(message.state.kind).toBe('input_required')
    const read = service.messages.get({ ...ref, messageId: message.id, waitMs: 10_000 })
    expect((await read).state.kind).toBe('input_required')
    expect(clock.now()).toBe(started)
  })

  it('lets later messages of the session wait, and they answer nothing', async () => {
    const { post, state, runtime, clock, answer } = await asked()
    const { id } = await post('yes')
    await clock.advance(60_000)
    expect((await state(id)).kind).toBe('queued')
    expect(runtime.requests).toHaveLength(1)
    await answer('no')
    await clock.advance(0)
    expect(runtime.requests.map(({ message }) => message)).toEqual(['hi', 'hi', 'yes'])
  })

  it('needs no attempt of the agent', async () => {
    const { get, answer, clock } = await asked({}, { maxAttempts: 1 })
    await answer('yes')
    await clock.advance(0)
    expect(await get()).toMatchObject({ attempt: 2, state: { kind: 'responded' } })
  })

  it('is answered once: the same answer again is fine, another one is refused', async () => {
    const { answer, events } = await asked({ options: undefined, schema: { type: 'object' } })
    await answer({ a: 1, b: 2 })
    await answer({ b: 2, a: 1 })
    expect(await refusalOf(answer({ a: 2 }))).toEqual({ kind: 'input_closed' })
    const received = (await events()).filter(({ event }) => event === 'message.input_received')
    expect(received).toHaveLength(1)
  })

  it('of two answers at once takes one', async () => {
    const { answer, get, clock } = await asked()
    const results = await Promise.allSettled([answer('yes'), answer('no')])
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await clock.advance(0)
    const response = results[0].status === 'fulfilled' ? '["yes"]' : '["no"]'
    expect((await get()).state).toMatchObject({ kind: 'responded', response })
  })

  it('refuses an answer that does not fit, or is for another question', async () => {
    const { answer, get } = await asked()
    const wrong = await refusalOf(answer('perhaps'))
    expect(wrong).toEqual({
      kind: 'invalid',
      issues: [{ path: 'value', message: 'must be one of "yes", "no"' }],
    })
    const other = { inputId: '00000000-0000-7fff-a000-000000000001' }
    expect(await refusalOf(answer('yes', other))).toEqual({ kind: 'input_not_found' })
    expect((await get()).state.kind).toBe('input_required')
  })

  it('can be for the principal of the message alone', async () => {
    const user = { type: 'end_user', endUserId: 'u1' } as const
    const parts = await scene({ handler: asking({ answerBy: 'execution_principal' }) })
    const { id: messageId } = await parts.post('hi', { executionPrincipal: user })
    await parts.clock.advance(0)
    const message = await parts.service.messages.get({ ...parts.ref, messageId })
    const answer = { ...parts.ref, messageId, inputId: message.inputs?.[0]?.id ?? '', value: 'yes' }
    const byService = await refusalOf(parts.service.inputs.answer(answer))
    expect(byService).toEqual({ kind: 'input_restricted' })
    const byUser = await parts.service.inputs.answer({ ...answer, executionPrincipal: user })
    expect(byUser.inputs?.[0]?.answer?.executionPrincipal).toEqual(user)
    const malformed = { ...answer, executionPrincipal: { type: 'end_user' } }
    expect((await refusalOf(parts.service.inputs.answer(malformed))).kind).toBe('principal_invalid')
  })

  it('is found in the list of open questions of its project', async () => {
    const { service, project, messageId, answer } = await asked()
    const list = async (projectId: string) =>
      (await service.inputs.list({ projectId, limit: 10 })).data.map(({ id }) => id)
    expect(await list(project.id)).toEqual([messageId])
    const other = await service.projects.create({ name: 'other' })
    expect(await list(other.id)).toEqual([])
    await answer('yes')
    expect(await list(project.id)).toEqual([])
  })

  it('can be withdrawn, which fails its message', async () => {
    const { service, ref, messageId, inputId, get, answer } = await asked()
    const withdraw = () => service.inputs.withdraw({ ...ref, messageId, inputId })
    await withdraw()
    await withdraw()
    expect((await get()).state).toMatchObject({
      kind: 'failed',
      error: { code: 'INPUT_WITHDRAWN' },
    })
    expect(await refusalOf(answer('yes'))).toEqual({ kind: 'input_closed' })
  })

  it('is asked again after a retry of its message', async () => {
    const { service, ref, messageId, get, inputId, clock } = await asked()
    await service.messages.cancel({ ...ref, messageId })
    await service.messages.retry({ ...ref, messageId })
    await clock.advance(0)
    const message = await get()
    expect(message).toMatchObject({ attempt: 1, state: { kind: 'input_required' } })
    expect(message.inputs).toHaveLength(1)
    expect(message.inputs?.[0]?.id).not.toBe(inputId)
  })

  it('fails its message if it cannot be asked', async () => {
    const { get } = await asked({ schema: { $ref: '#' } })
    expect((await get()).state).toMatchObject({
      kind: 'failed',
      error: {
        code: 'QUESTION_INVALID',
        message: 'the question has a schema with $ref, which is not supported',
      },
    })
  })

  it.each([
    [{ schema: { allOf: MANY } }, 'has a schema with more than 500 schema nodes'],
    [
      { schema: {}, onExpiry: { answer: MANY } },
      'has an onExpiry answer that must have at most 1000 values',
    ],
  ])('fails its message if it is too large to be checked', async (question, problem) => {
    const { get } = await asked({ options: undefined, ...question })
    expect((await get()).state).toMatchObject({
      kind: 'failed',
      error: { code: 'QUESTION_INVALID', message: `the question ${problem}` },
    })
  })

  it('takes no answer with too many values, also after its answer', async () => {
    const { answer } = await asked({ options: undefined, schema: {} })
    expect(await refusalOf(answer(MANY))).toEqual({
      kind: 'invalid',
      issues: [{ path: 'value', message: 'must have at most 1000 values' }],
    })
    await answer([])
    let deep: unknown = 0
    for (let level = 0; level < 100_000; level++) deep = [deep]
    expect(await refusalOf(answer(deep))).toEqual({ kind: 'input_closed' })
  })

  it('is stored when the storage is available again', async () => {
    const { storage, clock, post, state, ...parts } = await scene({ handler: asking() })
    storage.fail('messages.ask', { times: 3 })
    const { id } = await post('hi')
    await clock.advance(2_000)
    expect((await state(id)).kind).toBe('input_required')
    expect(parts.runtime.requests).toHaveLength(1)
  })
})

describe('the deadline of a question', () => {
  it('comes after 7 days, with a reminder a day before', async () => {
    const { get, pass, events } = await asked({}, {}, true)
    await pass(6 * DAY_MS - 1_000)
    expect(await events()).toHaveLength(1)
    await pass(1_000)
    expect((await events()).map(({ event }) => event)).toEqual([
      'message.input_required',
      'message.input_reminder',
    ])
    await pass(DAY_MS)
    expect((await get()).state).toMatchObject({ kind: 'failed', error: { code: 'INPUT_EXPIRED' } })
    expect((await events()).map(({ event }) => event).slice(2)).toEqual(['message.failed'])
  })

  it('can give an answer', async () => {
    const { get, clock } = await asked({ expiresInMs: 60_000, onExpiry: { answer: 'no' } })
    await clock.advance(70_000)
    const message = await get()
    expect(message.state).toMatchObject({ kind: 'responded', response: '["no"]' })
    expect(message.inputs?.[0]?.answer).not.toHaveProperty('executionPrincipal')
  })

  it('refuses answers that come after it, even before the message has failed', async () => {
    const { answer, service, clock } = await asked({ expiresInMs: 60_000 })
    await service.stop()
    await clock.advance(60_000)
    expect(await refusalOf(answer('yes'))).toEqual({ kind: 'input_closed' })
  })
})

describe('a stored question over the limits', () => {
  async function overLimits() {
    const parts = await asked({ options: undefined, schema: {}, expiresInMs: 60_000 })
    const { project, messageId, inputId, storage, clock, get } = parts
    const { state, agentId, inputs = [] } = await get()
    if (state.kind !== 'input_required') throw new Error(`the message is ${state.kind}`)
    const outgoing = { events: [], nextDeliveryId: () => '' }
    const changed = await storage.messages.changeInput({
      projectId: project.id,
      agentId,
      messageId,
      inputId,
      state,
      inputs: inputs.map((input) => ({ ...input, schema: { allOf: [...MANY] } })),
      now: clock.now(),
      outgoing,
    })
    expect(unwrap(changed)?.kind).toBe('changed')
    return parts
  }

  it('takes no answer, and can be withdrawn', async () => {
    const { answer, get, inputId, messageId, ref, service } = await overLimits()
    expect(await refusalOf(answer('yes'))).toEqual({
      kind: 'invalid',
      issues: [
        {
          path: 'value',
          message:
            'cannot be checked, because the question has a schema with more than 500 schema nodes',
        },
      ],
    })
    await service.inputs.withdraw({ ...ref, messageId, inputId })
    expect((await get()).state).toMatchObject({ error: { code: 'INPUT_WITHDRAWN' } })
  })

  it('expires', async () => {
    const { clock, get } = await overLimits()
    await clock.advance(62_000)
    expect((await get()).state).toMatchObject({ error: { code: 'INPUT_EXPIRED' } })
  })
})
