import { expect } from 'vitest'
import type { JsonObject } from '@org/agent-messaging-core'
import type { InputPart } from '@org/agent-messaging-core/runtime'
import { newMessage } from '../../builders.js'
import { heldBy, MINUTE, NOW, refTo } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const FAILED = {
  kind: 'failed',
  error: { code: 'RUNTIME_ERROR', message: 'it broke' },
  failedAt: NOW,
} as const

const inputParts: readonly InputPart[] = [
  { type: 'data', name: 'order', id: '1', data: JSON.parse('{"__proto__":[null,"\\u2028"]}') },
  { type: 'data', name: 'nothing', data: null },
  { type: 'file', url: 'https://files.example/ü.png', mediaType: 'image/png', size: 3 },
]
const responseSchema: JsonObject = { type: 'object', properties: { a: true }, required: ['a'] }
const request = { inputParts, responseSchema }

export function inputPartsSuite(it: StorageTest): void {
  it('keeps the parts and the schema of a message in every read', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const { projectId, id: agentId } = agent
    const sent = await scene.send(agent, request)
    expect(sent).toMatchObject(request)
    expect(await scene.reread(sent)).toEqual(sent)
    const listed = await messages.list({ projectId, agentId }, { limit: 9 })
    expect(listed.data).toEqual([sent])
    expect((await messages.search({ projectId }, { limit: 9 })).data).toEqual([sent])
    const keys = sent.inputParts?.map((part) => JSON.stringify(part))
    expect(keys).toEqual(inputParts.map((part) => JSON.stringify(part)))
  })

  it('gives them to the first run and to the run after a retry, and returns them with the end', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const first = await scene.run(agent, request)
    expect(first.message).toMatchObject(request)
    const failed = await messages.recordRun({ ...heldBy(first), state: FAILED, now: NOW })
    expect(failed).toMatchObject({ message: request })
    await messages.retry({ ...refTo(first.message), now: NOW })
    const [again] = await scene.claim(agent, NOW + MINUTE)
    expect(again?.message).toMatchObject(request)
    if (again) await scene.answer(again)
    expect(await scene.reread(first.message)).toMatchObject(request)
  })

  it('returns them to a repeated send, and keeps one without the other', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const key = { idempotencyKey: 'k', inputParts }
    const sent = await scene.send(agent, key)
    expect(sent).not.toHaveProperty('responseSchema')
    const repeated = await messages.accept(newMessage(agent, key))
    expect(repeated).toEqual({ kind: 'existing', message: sent })
    const other = await scene.send(agent, { responseSchema })
    expect(await scene.reread(other)).toMatchObject({ responseSchema })
    expect(other).not.toHaveProperty('inputParts')
  })

  it('gives a message without them neither', async ({ scene }) => {
    const sent = await scene.send(await scene.agent())
    const read = await scene.reread(sent)
    expect(read).not.toHaveProperty('inputParts')
    expect(read).not.toHaveProperty('responseSchema')
  })
}
