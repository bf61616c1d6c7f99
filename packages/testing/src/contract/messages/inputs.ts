import { expect } from 'vitest'
import type { Agent, Message } from '@org/agent-messaging-core'
import type {
  AskingState,
  MessageInput,
  ClaimedMessage,
  InputChange,
} from '@org/agent-messaging-core/storage'
import { anEvent } from '../../builders.js'
import { heldBy, MINUTE, NOW, OTHER_PROJECT_ID, refTo, SECOND, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const INPUT: MessageInput = {
  id: '00000000-0000-7fff-a000-000000000001',
  question: 'Pay 1,200 EUR?',
  options: ['yes', 'no'],
  schema: { type: 'string' },
  onExpiry: { answer: 'no' },
  askedAt: NOW,
  linkDigest: 'abc',
}
const ANSWERED: MessageInput = {
  ...INPUT,
  answer: { value: 'yes', executionPrincipal: { type: 'service' }, answeredAt: NOW + SECOND },
}
const ASKING = {
  kind: 'input_required',
  askedAt: NOW,
  deadlineAt: NOW + 10 * MINUTE,
  dueAt: NOW + 5 * MINUTE,
} as const
const QUEUED = { kind: 'queued', notBefore: NOW + SECOND } as const
const FAILED = {
  kind: 'failed',
  error: { code: 'INPUT_EXPIRED', message: 'too late' },
  failedAt: NOW + SECOND,
} as const

export function inputsSuite(it: StorageTest): void {
  it('G3: keeps a question with its event, and no claim takes its message', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const webhook = await scene.webhook({ events: ['message.input_required'] })
    const run = await scene.run(agent)
    const behind = await scene.send(agent)
    const outgoing = scene.outgoing(anEvent(agent, { name: 'message.input_required' }))
    const asked = await storage.messages.ask({
      ...heldBy(run),
      state: ASKING,
      inputs: [INPUT],
      outgoing,
    })
    const message = { ...run.message, state: ASKING, inputs: [INPUT] }
    expect(asked).toMatchObject({ kind: 'recorded', message, sessionWaits: false })
    expect(await scene.reread(run.message)).toEqual(message)
    const { data } = await storage.deliveries.list(
      { projectId: agent.projectId, webhookId: webhook.id },
      { limit: 10 },
    )
    expect(data).toHaveLength(1)
    expect(await scene.claim(agent, NOW + 1_000 * MINUTE)).toEqual([])
    expect((await scene.reread(behind))?.state.kind).toBe('queued')
  })

  it('G5: refuses a question of a run that has lost its lease', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await scene.cancel(run.message)
    expect(await ask(storage, scene, agent, run)).toEqual({ kind: 'lease_lost' })
    expect((await scene.reread(run.message))?.inputs).toBeUndefined()
  })

  it('G5: refuses everything of the run that asked', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await ask(storage, scene, agent, run)
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    expect(await storage.messages.extendLeases([heldBy(run)], NOW + MINUTE)).toEqual([
      run.message.id,
    ])
  })

  it('gives the answer to the next run, which needs no attempt', async ({ storage, scene }) => {
    const agent = await scene.agent({ maxAttempts: 1 })
    const run = await scene.run(agent)
    await ask(storage, scene, agent, run)
    const changed = await storage.messages.changeInput(change(scene, agent, run.message))
    const message = { ...run.message, state: QUEUED, inputs: [ANSWERED] }
    expect(changed).toMatchObject({ kind: 'changed', message, sessionWaits: true })
    expect(await scene.claim(agent, NOW)).toEqual([])
    const [resumed] = await scene.claim(agent, NOW + SECOND)
    expect(resumed?.isExhausted).toBeUndefined()
    expect(resumed?.lost).toBeUndefined()
    expect(resumed?.message).toMatchObject({ attempt: 2, inputs: [ANSWERED] })
    const [late] = await scene.claim(agent, NOW + 10 * MINUTE)
    expect(late).toMatchObject({ lost: 'running', isExhausted: true, message: { attempt: 2 } })
  })

  it('lists questions by their deadlines, also behind one that was answered', async ({
    storage,
    scene,
  }) => {
    const [agent, other] = [await scene.agent(), await scene.agent()]
    const asked: Message[] = []
    for (const minutes of [3, 1, 2, 2]) {
      const run = await scene.run(asked.length === 2 ? other : agent, {
        sessionId: `s${asked.length}`,
        ...(asked.length === 3 && {
          executionPrincipal: { type: 'end_user', endUserId: 'ada' } as const,
        }),
      })
      const state = { ...ASKING, deadlineAt: NOW + minutes * MINUTE, dueAt: NOW + MINUTE }
      await storage.messages.ask({
        ...heldBy(run),
        state,
        inputs: [INPUT],
        outgoing: scene.outgoing(anEvent(agent)),
      })
      asked.push(run.message)
    }
    await scene.send(agent, { sessionId: 'quiet' })
    const { projectId } = agent
    const list = async (filter: object = {}, page: object = {}) => {
      const found = await storage.messages.listAsking(
        { projectId, ...filter },
        { limit: 9, ...page },
      )
      return {
        ...found,
        places: found.data.map(({ id }) => asked.findIndex((one) => one.id === id)),
      }
    }
    expect((await list()).places).toEqual([1, 2, 3, 0])
    expect((await list({ agentIds: [agent.id] })).places).toEqual([1, 3, 0])
    expect((await list({ sessionId: 's2' })).places).toEqual([2])
    expect((await list({ endUserId: 'ada' })).places).toEqual([3])
    expect((await list({ scope: { ids: ['s0', 's3'] } })).places).toEqual([3, 0])
    expect((await list({ scope: { prefix: 's' } })).places).toEqual([1, 2, 3, 0])
    expect((await list({ projectId: OTHER_PROJECT_ID })).places).toEqual([])
    const first = await list({}, { limit: 2 })
    expect(first).toMatchObject({ places: [1, 2], nextCursor: expect.any(String) })
    for (const place of first.places)
      await storage.messages.changeInput(
        change(scene, place === 2 ? other : agent, asked[place] as Message),
      )
    const cursor = first.nextCursor
    expect(await list({}, { cursor })).toMatchObject({ places: [3, 0], nextCursor: null })
    expect((await list()).places).toEqual([3, 0])
  })

  it('keeps the questions of a message that was answered', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await ask(storage, scene, agent, run)
    await storage.messages.changeInput(change(scene, agent, run.message))
    const [resumed] = await scene.claim(agent, NOW + SECOND)
    const recorded = resumed && (await scene.answer(resumed))
    expect(recorded).toMatchObject({ kind: 'recorded', message: { inputs: [ANSWERED] } })
    expect((await scene.reread(run.message))?.inputs).toEqual([ANSWERED])
  })

  it('changes a question once, and not the question of another project', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await ask(storage, scene, agent, run)
    const answer = change(scene, agent, run.message)
    const stranger = { ...answer, projectId: OTHER_PROJECT_ID }
    expect(await storage.messages.changeInput(stranger)).toBeUndefined()
    const wrong = { ...answer, inputId: '00000000-0000-7fff-a000-000000000002' }
    expect(await storage.messages.changeInput(wrong)).toMatchObject({ kind: 'not_waiting' })
    const early = { ...answer, dueAt: NOW }
    expect(await storage.messages.changeInput(early)).toMatchObject({ kind: 'not_waiting' })
    const both = await Promise.all([
      storage.messages.changeInput(answer),
      second.messages.changeInput({ ...answer, state: FAILED, inputs: [INPUT] }),
    ])
    expect(new Set(both.map((one) => one?.kind))).toEqual(new Set(['changed', 'not_waiting']))
    const message = await scene.reread(run.message)
    expect(both.map((one) => one?.message.state.kind)).toEqual([
      message?.state.kind,
      message?.state.kind,
    ])
  })

  it('frees the session when a question fails its message', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const behind = await scene.send(agent)
    await ask(storage, scene, agent, run)
    const failing = { ...change(scene, agent, run.message), state: FAILED, inputs: [INPUT] }
    expect(await storage.messages.changeInput(failing)).toMatchObject({ sessionWaits: true })
    const [next] = await scene.claim(agent, NOW + SECOND)
    expect(next?.message.id).toBe(behind.id)
  })

  it('frees the session when a caller cancels the message', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await ask(storage, scene, agent, run)
    const behind = await scene.send(agent)
    expect(await scene.cancel(run.message)).toMatchObject({ kind: 'cancelled', sessionWaits: true })
    expect(await storage.messages.changeInput(change(scene, agent, run.message))).toMatchObject({
      kind: 'not_waiting',
      message: { state: { kind: 'cancelled' } },
    })
    const [next] = await scene.claim(agent)
    expect(next?.message.id).toBe(behind.id)
  })

  it('forgets the questions of a retried message', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await ask(storage, scene, agent, run)
    await scene.cancel(run.message)
    const retried = await storage.messages.retry({ ...refTo(run.message), now: NOW })
    expect(retried).toMatchObject({ kind: 'retried', message: { attempt: 0 } })
    const again = await scene.reread(run.message)
    expect(again?.inputs).toBeUndefined()
    const [claimed] = await scene.claim(agent)
    expect(claimed?.message.attempt).toBe(1)
  })

  it('finds due questions of all projects, the longest due first', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const first = await scene.run(agent, { sessionId: 'first' })
    const second = await scene.run(agent, { sessionId: 'second' })
    await ask(storage, scene, agent, first)
    const earlier = { ...ASKING, dueAt: NOW + MINUTE }
    await ask(storage, scene, agent, second, earlier)
    const dueAt = async (now: number, limit = 10) =>
      (await storage.messages.dueInputs({ now, limit })).map(({ id }) => id)
    expect(await dueAt(NOW + MINUTE - 1)).toEqual([])
    expect(await dueAt(NOW + 5 * MINUTE)).toEqual([second.message.id, first.message.id])
    expect(await dueAt(NOW + 5 * MINUTE, 1)).toEqual([second.message.id])
    const reminded = { ...earlier, dueAt: earlier.deadlineAt }
    const reminder = { ...change(scene, agent, second.message), dueAt: earlier.dueAt }
    const changed = await storage.messages.changeInput({
      ...reminder,
      state: reminded,
      inputs: [INPUT],
    })
    expect(changed).toMatchObject({ kind: 'changed', sessionWaits: false })
    expect((await scene.reread(second.message))?.state).toEqual(reminded)
    expect(await dueAt(NOW + 5 * MINUTE)).toEqual([first.message.id])
    expect(await scene.claim(agent, NOW + 5 * MINUTE)).toEqual([])
  })

  it('finds open questions by a search, by their ids and in the backlog', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await scene.run(agent, { sessionId: 'other' })
    await ask(storage, scene, agent, run)
    const { projectId } = agent
    const found = await storage.messages.search(
      { projectId, state: 'input_required' },
      { limit: 10 },
    )
    expect(found.data.map(({ id }) => id)).toEqual([run.message.id])
    const settled = await storage.messages.findSettled([run.message.id])
    expect(settled.map(({ state }) => state)).toEqual([ASKING])
    expect(await storage.messages.backlog(NOW)).toMatchObject({
      queued: 0,
      running: 1,
      inputRequired: 1,
      oldestAskedAt: NOW,
    })
  })

  it('moves the times of a question with the clock', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    await ask(storage, scene, agent, run)
    const to = NOW + 60 * MINUTE
    await storage.moveTimes({ from: NOW, to, lastMove: 0 })
    expect((await scene.reread(run.message))?.state).toMatchObject({
      deadlineAt: to + 10 * MINUTE,
      dueAt: to + 5 * MINUTE,
    })
    expect(await scene.claim(agent, to + 1_000 * MINUTE)).toEqual([])
  })
}

const ask = (
  { messages }: UnwrappedStorage,
  scene: Scene,
  agent: Agent,
  run: ClaimedMessage,
  state: AskingState = ASKING,
) =>
  messages.ask({ ...heldBy(run), state, inputs: [INPUT], outgoing: scene.outgoing(anEvent(agent)) })

const change = (scene: Scene, agent: Agent, message: Message): InputChange => ({
  ...refTo(message),
  inputId: INPUT.id,
  state: QUEUED,
  inputs: [ANSWERED],
  now: NOW + SECOND,
  outgoing: scene.outgoing(anEvent(agent)),
})
