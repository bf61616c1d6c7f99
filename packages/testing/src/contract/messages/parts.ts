import { expect } from 'vitest'
import type { AnswerParts } from '@org/agent-messaging-core/runtime'
import type { ClaimedMessage } from '@org/agent-messaging-core/storage'
import { heldBy, NOW, refTo } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'
import { ERASED } from './past-runs.js'

const PARTS: AnswerParts = {
  parts: [
    { type: 'text', text: 'no “luck” 😀 \\u0000 \u0001' },
    {
      type: 'tool',
      toolCallId: 'c',
      toolName: 'search',
      state: 'output-available',
      input: { q: ['</script>', null, 1.5] },
      output: "'); drop table messages; --",
    },
  ],
  isTruncated: true,
}
const LONG: AnswerParts = {
  parts: Array.from({ length: 16 }, () => ({ type: 'reasoning', text: '漢'.repeat(64_000) })),
  isTruncated: false,
}

const answer = ({ messages }: UnwrappedStorage, run: ClaimedMessage, parts?: AnswerParts) => {
  const state = { kind: 'responded', response: 'ok', respondedAt: NOW, responseTimeMs: 1 } as const
  return messages.recordRun({
    ...heldBy(run),
    state: parts ? { ...state, hasParts: true } : state,
    now: NOW,
    ...(parts && { parts }),
  })
}

export function partsSuite(it: StorageTest): void {
  it('stores the parts of a batch of answers, and none of a run that lost its lease', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const runs: ClaimedMessage[] = []
    for (const sessionId of ['a', 'b', 'c', 'd', 'e'])
      runs.push(await scene.run(agent, { sessionId }))
    const [first, text, late, failed, long] = runs as [
      ClaimedMessage,
      ClaimedMessage,
      ClaimedMessage,
      ClaimedMessage,
      ClaimedMessage,
    ]
    const ids = runs.map(({ message }) => message.id)
    expect(await storage.messages.parts(ids)).toEqual(new Map())
    const results = await Promise.all([
      answer(storage, first, PARTS),
      answer(storage, text),
      answer(storage, { ...late, lease: { ...late.lease, token: late.lease.token - 1 } }, PARTS),
      storage.messages.recordRun({
        ...heldBy(failed),
        state: { kind: 'queued', notBefore: NOW },
        now: NOW,
        ended: { attempt: 1, startedAt: NOW, endedAt: NOW, reason: 'failed' },
      }),
      answer(storage, long, LONG),
    ])
    expect(results.map(({ kind }) => kind)).toEqual([
      'recorded',
      'recorded',
      'lease_lost',
      'recorded',
      'recorded',
    ])
    expect(await storage.messages.parts(ids)).toEqual(
      new Map([
        [first.message.id, PARTS],
        [long.message.id, LONG],
      ]),
    )
    expect(await scene.reread(first.message)).toMatchObject({ state: { hasParts: true } })
    const { state } = (await scene.reread(text.message)) ?? {}
    expect(state).not.toHaveProperty('hasParts')
  })

  it('lists messages without their parts, and says which ones have parts', async ({
    storage,
    scene,
  }) => {
    const run = await scene.run(await scene.agent())
    await answer(storage, run, PARTS)
    const { data } = await storage.messages.list(refTo(run.message), { limit: 9 })
    expect(data).toEqual([await scene.reread(run.message)])
    expect(data[0]).toMatchObject({ state: { hasParts: true } })
    expect(data[0]).not.toHaveProperty('parts')
  })

  for (const [name, erase] of Object.entries(ERASED))
    it(`erases the parts of a message with ${name}`, async ({ storage, scene }) => {
      const theirs = { executionPrincipal: { type: 'end_user', endUserId: 'u' } } as const
      const run = await scene.run(await scene.agent(), theirs)
      const kept = await scene.run(await scene.agent())
      for (const one of [run, kept]) await answer(storage, one, PARTS)
      await erase(storage, run)
      const ids = [run, kept].map(({ message }) => message.id)
      const stored = await storage.messages.parts(ids)
      expect([...stored.keys()].filter((id) => id === run.message.id)).toEqual([])
    })
}
