import { refusalOf } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { failedRun, type RunOutcome } from '@org/agent-messaging-core/runtime'
import { defaultDispatchPolicy as DISPATCH } from '@org/agent-messaging-core/host'
import { scene } from './scene.js'

type Scene = Awaited<ReturnType<typeof scene>>

const runs = async ({ service, ref }: Scene, messageId: string) =>
  await service.messages.runs({ ...ref, messageId })

const reasons = async (fakes: Scene, messageId: string) =>
  (await runs(fakes, messageId)).map(({ attempt, reason, error }) => [attempt, reason, error?.code])

describe('the runs of a message', () => {
  it('have the failure, the question and the answer with their tokens', async () => {
    const usage = { inputTokens: 7, outputTokens: 2 }
    const outcomes: RunOutcome[] = [
      { ...failedRun('RUNTIME_ERROR', 'busy', true), usage },
      { kind: 'input_required', question: 'Pay?', options: ['yes', 'no'], usage },
      { kind: 'answered', response: 'paid', usage },
    ]
    const fakes = await scene({ handler: () => outcomes.shift() as RunOutcome })
    const { post, clock, service, ref, state } = fakes
    const { id: messageId, createdAt: startedAt } = await post()
    await clock.until(() => outcomes.length === 1)
    await clock.advance(0)
    const { inputs = [] } = await service.messages.get({ ...ref, messageId })
    const [{ id: inputId } = { id: '' }] = inputs
    await service.inputs.answer({ ...ref, messageId, inputId, value: 'yes' })
    await clock.advance(1_000)
    expect(await state(messageId)).toMatchObject({ kind: 'responded' })
    const found = await runs(fakes, messageId)
    expect(found).toMatchObject([
      {
        attempt: 1,
        startedAt,
        endedAt: startedAt,
        reason: 'failed',
        error: { code: 'RUNTIME_ERROR', message: 'busy' },
        usage,
      },
      { attempt: 2, reason: 'input_required', usage },
      { attempt: 3, reason: 'answered', usage },
    ])
    expect(found[1]).not.toHaveProperty('error')
  })

  it('go on while the callback of a deferred run is awaited, and end with it', async () => {
    const fakes = await scene()
    const { post, clock, runtime, service, ref } = fakes
    const { id: messageId } = await post()
    await clock.advance(0)
    const [{ runToken } = { runToken: '' }] = runtime.requests
    runtime.defer(messageId)
    await clock.advance(0)
    expect(await reasons(fakes, messageId)).toEqual([[1, undefined, undefined]])
    await service.host.answerRun({
      ...{ ...ref, messageId, runToken },
      run: failedRun('RUNTIME_ERROR', 'no'),
    })
    expect(await reasons(fakes, messageId)).toEqual([[1, 'failed', 'RUNTIME_ERROR']])
  })

  it('time out at their deadline, and are cancelled with their message', async () => {
    const fakes = await scene({ policy: { dispatch: { ...DISPATCH, runTimeoutMs: 30_000 } } })
    const { post, clock, runtime, service, ref } = fakes
    const { id: messageId } = await post()
    await clock.until(() => runtime.requests.length === 2)
    await service.messages.cancel({ ...ref, messageId })
    expect(await reasons(fakes, messageId)).toEqual([
      [1, 'timed_out', 'RUNTIME_TIMEOUT'],
      [2, 'cancelled', undefined],
    ])
  })

  it('are lost when their process stops', async () => {
    const fakes = await scene()
    const { post, clock, service } = fakes
    const { id: messageId } = await post()
    await clock.advance(0)
    const stopping = service.stop({ graceMs: 0 })
    await clock.advance(5_000)
    await stopping
    const [run] = await fakes.another().messages.runs({ ...fakes.ref, messageId })
    expect(run).toMatchObject({ attempt: 1, reason: 'lost', error: { code: 'RUNTIME_LOST' } })
  })

  it('are lost when their process dies', async () => {
    const fakes = await scene({ agent: { maxAttempts: 2 } })
    const { post, clock, runtime, storage, another } = fakes
    const { id: messageId, createdAt: startedAt } = await post()
    storage.fail('messages.extendLeases', { times: Infinity })
    storage.fail('messages.claimRunnable', { times: Infinity })
    const second = another()
    await second.start()
    await clock.until(() => runtime.requests.length === 2)
    const takenAt = clock.now()
    expect(await runs(fakes, messageId)).toEqual([
      { attempt: 1, startedAt, endedAt: takenAt, reason: 'lost' },
      { attempt: 2, startedAt: takenAt },
    ])
  })

  it('have the last run once, if its message ends after its process died', async () => {
    const fakes = await scene({ agent: { maxAttempts: 1 } })
    const { post, clock, storage, another, state } = fakes
    const { id: messageId, createdAt: startedAt } = await post()
    storage.fail('messages.extendLeases', { times: Infinity })
    storage.fail('messages.claimRunnable', { times: Infinity })
    await another().start()
    await clock.advance(31_000)
    const { failedAt: endedAt } = (await state(messageId)) as { failedAt: number }
    const lost = { attempt: 1, startedAt, endedAt, reason: 'lost' }
    expect(await runs(fakes, messageId)).toEqual([lost])
  })

  it('do not exist for an unknown message or agent', async () => {
    const { service, ref, project } = await scene()
    const messageId = '01890000-0000-7000-8000-00000000dead'
    const kinds = [ref, { projectId: project.id, agent: 'nobody' }].map(
      async (of) => (await refusalOf(service.messages.runs({ ...of, messageId }))).kind,
    )
    expect(await Promise.all(kinds)).toEqual(['message_not_found', 'agent_not_found'])
  })
})
