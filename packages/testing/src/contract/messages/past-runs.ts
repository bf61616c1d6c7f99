import { expect } from 'vitest'
import type { ClaimedMessage, PastRun } from '@org/agent-messaging-core/storage'
import { anEvent, newMessage, PROJECT_ID } from '../../builders.js'
import {
  heldBy,
  LEASE_MS,
  MINUTE,
  NOW,
  OTHER_PROJECT_ID,
  refTo,
  SECOND,
  type Scene,
} from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const ENDED = { attempt: 1, startedAt: NOW, endedAt: NOW + SECOND } as const
const FAILED: PastRun = {
  ...ENDED,
  reason: 'failed',
  error: { code: 'RUNTIME_ERROR', message: 'no “luck” for Jane, \u0000 \ud83d' },
  usage: { inputTokens: 11, outputTokens: 5 },
}
const AGAIN = { kind: 'queued', notBefore: NOW + SECOND } as const

const end = ({ messages }: UnwrappedStorage, run: ClaimedMessage, ended: PastRun = FAILED) =>
  messages.recordRun({ ...heldBy(run), state: AGAIN, now: NOW + SECOND, ended })

const runsOf = ({ messages }: UnwrappedStorage, { message }: Pick<ClaimedMessage, 'message'>) =>
  messages.runs(refTo(message))

/** A message whose first run failed and whose second run goes on. */
async function runAgain(storage: UnwrappedStorage, scene: Scene, more: object = {}) {
  const agent = await scene.agent()
  await end(storage, await scene.run(agent, more))
  const [run] = (await scene.claim(agent, NOW + SECOND)) as [ClaimedMessage]
  return { agent, run }
}

/** What erases a final message of the end user `u`. */
export const ERASED: Readonly<
  Record<string, (storage: UnwrappedStorage, run: ClaimedMessage) => Promise<unknown>>
> = {
  'the purge': ({ messages }) =>
    messages.purge({ finishedBefore: NOW + MINUTE, limit: 9, now: NOW }),
  'the erasure of its end user': ({ messages }, { message: { projectId, agentId } }) =>
    messages.erasePrincipal({
      ...{ projectId, agentId, endUserId: 'u', force: false, countOnly: false },
      ...{ now: NOW, after: 0, limit: 9 },
    }),
  'the erasure of its session': async ({ messages }, { message }) => {
    await messages.erase(message)
    await messages.sweep({ limit: 9, now: NOW })
  },
  'the deletion of its agent': async ({ agents, messages }, { message }) => {
    await agents.delete(message.projectId, message.agentId)
    await messages.sweep({ limit: 9, now: NOW })
  },
}

export function pastRunsSuite(it: StorageTest): void {
  it('stores no run that answers', async ({ storage, scene }) => {
    const run = await scene.run(await scene.agent())
    expect(await runsOf(storage, run)).toEqual([{ attempt: 1, startedAt: NOW }])
    await scene.answer(run, NOW + SECOND)
    const answered = { attempt: 1, endedAt: NOW + SECOND, reason: 'answered' }
    expect(await runsOf(storage, run)).toEqual([{ ...answered, startedAt: NOW + SECOND - 1 }])
    expect(
      await runsOf(storage, { message: { ...run.message, projectId: OTHER_PROJECT_ID } }),
    ).toBeUndefined()
  })

  it('stores each run that ends without an answer, before the one that answers', async ({
    storage,
    scene,
  }) => {
    const { agent, run } = await runAgain(storage, scene)
    const timedOut: PastRun = { ...ENDED, attempt: 2, reason: 'timed_out' }
    await end(storage, run, timedOut)
    const [third] = (await scene.claim(agent, NOW + SECOND)) as [ClaimedMessage]
    expect(await runsOf(storage, third)).toEqual([
      FAILED,
      timedOut,
      { attempt: 3, startedAt: NOW + SECOND },
    ])
    await scene.answer(third, NOW + MINUTE)
    expect(await runsOf(storage, third)).toMatchObject([
      FAILED,
      timedOut,
      { attempt: 3, reason: 'answered' },
    ])
  })

  it('stores the runs of a batch with their messages, and none that lost its lease', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const runs: ClaimedMessage[] = []
    for (const sessionId of ['a', 'b', 'c', 'd']) runs.push(await scene.run(agent, { sessionId }))
    const [answering, failing, late, lost] = runs as [
      ClaimedMessage,
      ClaimedMessage,
      ClaimedMessage,
      ClaimedMessage,
    ]
    const reason = (one: PastRun['reason']): PastRun => ({ ...ENDED, reason: one })
    await Promise.all([
      scene.answer(answering),
      end(storage, failing),
      end(storage, { ...late, lease: { ...late.lease, token: late.lease.token - 1 } }),
      end(storage, lost, reason('lost')),
    ])
    const found = await Promise.all(runs.map((run) => runsOf(storage, run)))
    expect(found).toMatchObject([
      [{ reason: 'answered' }],
      [FAILED],
      [{ attempt: 1, startedAt: NOW }],
      [reason('lost')],
    ])
  })

  it('stores a run that asks, with its tokens', async ({ storage, scene }) => {
    const run = await scene.run(await scene.agent())
    const ended: PastRun = { ...ENDED, reason: 'input_required', usage: { inputTokens: 3 } }
    const asking = {
      ...heldBy(run),
      state: { kind: 'input_required', askedAt: NOW, deadlineAt: NOW + 2, dueAt: NOW + 1 },
      inputs: [{ id: 'question', question: 'Which one?', askedAt: NOW }],
      outgoing: scene.outgoing(anEvent({ id: run.message.agentId, projectId: PROJECT_ID })),
      ended,
    } as const
    await storage.messages.ask(asking)
    expect((await storage.messages.ask(asking)).kind).toBe('lease_lost')
    expect(await runsOf(storage, run)).toEqual([ended])
  })

  it('stores a run that a later claim takes over as lost, or as timed out after a deferral', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent({ maxAttempts: 9 })
    const run = await scene.run(agent)
    const [second] = (await scene.claim(agent, NOW + LEASE_MS)) as [ClaimedMessage]
    const deadlineAt = NOW + 2 * LEASE_MS
    const { startedAt } = second.message.state
    await storage.messages.defer({
      ...heldBy(second),
      state: { kind: 'deferred', startedAt, deadlineAt },
    })
    await scene.claim(agent, deadlineAt)
    expect(await runsOf(storage, run)).toEqual([
      { attempt: 1, startedAt: NOW, endedAt: startedAt, reason: 'lost' },
      { attempt: 2, startedAt, endedAt: deadlineAt, reason: 'timed_out' },
      { attempt: 3, startedAt: deadlineAt },
    ])
  })

  it('returns the last run that is lost, for the end of its message, and does not store it', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent({ maxAttempts: 1 })
    for (const [state, reason] of [
      ['running', 'lost'],
      ['deferred', 'timed_out'],
    ] as const) {
      const run = await scene.run(agent, { sessionId: state })
      const deadlineAt = NOW + LEASE_MS
      if (state === 'deferred')
        await storage.messages.defer({
          ...heldBy(run),
          state: { kind: state, startedAt: NOW, deadlineAt },
        })
      const [claim] = (await scene.claim(agent, deadlineAt)) as [ClaimedMessage]
      const lostRun = { attempt: 1, startedAt: NOW, endedAt: deadlineAt, reason }
      expect(claim.lostRun).toEqual(lostRun)
      expect(await runsOf(storage, run)).toEqual([{ attempt: 1, startedAt: deadlineAt }])
      await end(storage, claim, claim.lostRun)
      expect(await runsOf(storage, run)).toEqual([lostRun])
      await scene.cancel(run.message)
    }
  })

  it('stores a run that is cancelled, and nothing for a message that waits', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const waiting = await scene.send(agent)
    for (const message of [waiting, run.message, run.message]) await scene.cancel(message)
    const cancelled = { attempt: 1, startedAt: NOW, endedAt: NOW, reason: 'cancelled' }
    expect(await runsOf(storage, run)).toEqual([cancelled])
    expect(await runsOf(storage, { message: { ...run.message, id: waiting.id } })).toEqual([])
  })

  it('keeps the runs of a message that is retried, and returns the newest 100', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const { message } = await scene.run(agent)
    const run = async (at: number) => {
      await scene.cancel(message)
      await storage.messages.retry({ ...refTo(message), now: at })
      await scene.claim(agent, at)
    }
    for (let turn = 0; turn <= 101; turn++) await run(NOW + turn)
    const found = (await runsOf(storage, { message })) ?? []
    expect(found).toHaveLength(101)
    expect(found.slice(0, 2)).toMatchObject([
      { attempt: 1, startedAt: NOW + 1, reason: 'cancelled' },
      { attempt: 1, startedAt: NOW + 2, reason: 'cancelled' },
    ])
    expect(found.at(-1)).toEqual({ attempt: 1, startedAt: NOW + 101 })
  })

  for (const [name, erase] of Object.entries(ERASED))
    it(`erases the runs of a message with ${name}`, async ({ storage, scene }) => {
      const theirs = { executionPrincipal: { type: 'end_user', endUserId: 'u' } }
      const { run } = await runAgain(storage, scene, theirs)
      const { run: kept } = await runAgain(storage, scene)
      await scene.answer(run, NOW + SECOND)
      await erase(storage, run)
      expect(await runsOf(storage, run)).toBeUndefined()
      // A row that is left would belong to the next message with this id.
      const next = newMessage(await scene.agent(), { id: run.message.id })
      await storage.messages.accept(next)
      expect(await storage.messages.runs(refTo(next))).toEqual([])
      expect(await runsOf(storage, kept)).toMatchObject([FAILED, { attempt: 2 }])
    })
}
