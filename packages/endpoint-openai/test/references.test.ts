import { describe, expect, it } from 'vitest'
import { errorOf } from './error-of.js'
import { openScene } from './scene.js'

const MISSING = `${'0'.repeat(32)}${'1'.repeat(32)}`

/** Opens a scene with one answer. `follow` sends it back as references, with another message. */
async function openAnswered() {
  const scene = await openScene()
  const first = await scene.client.responses.create({ model: 'echo', input: 'one' })
  const follow = async (...ids: string[]) => {
    const { client, runtime } = scene
    const references = ids.map((id) => ({ type: 'item_reference' as const, id }))
    const input = [
      { role: 'user' as const, content: 'one' },
      ...references,
      { role: 'user' as const, content: 'two' },
    ]
    const waiting = client.responses.create({ model: 'slow', input })
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    const [run] = runtime.requests
    runtime.answer(run?.messageId ?? '', 'done')
    await waiting
    return run?.history({ maxTurns: 9, maxLength: 999 })
  }
  return { ...scene, first, itemId: first.output[0]?.id ?? '', follow }
}

describe('a reference to an item', () => {
  it('is the answer of that item, also of another agent', async () => {
    const { follow, itemId } = await openAnswered()
    expect(await follow(itemId)).toMatchObject([{ message: 'one', response: 'one' }])
  })

  it('names the same answer as an item that became void in a stream', async () => {
    const { follow, itemId } = await openAnswered()
    expect(await follow(itemId, `${itemId}_1`)).toMatchObject([{ message: 'one', response: 'one' }])
  })

  it('names a question, and after its answer the answer of the agent', async () => {
    const { client, messagesOf, projectId, service } = await openScene()
    const { output } = await client.responses.create({ model: 'asking', input: 'Order it' })
    const id = output[0]?.id ?? ''
    const input = [
      { role: 'user' as const, content: 'Order it' },
      { type: 'item_reference' as const, id },
      { role: 'user' as const, content: 'What did you ask?' },
    ]
    const textOf = async () => {
      const { id: sent } = await client.responses.create({ model: 'echo', input })
      const items = await service.messages.history({
        projectId,
        agent: 'echo',
        messageId: (await messagesOf('echo')).at(-1)?.id ?? sent,
        maxTurns: 9,
        maxLength: 999,
      })
      return items[0]?.response
    }
    expect(await textOf()).toBe('Pay?\n- yes\n- no')
    const [message] = await messagesOf('asking')
    const { id: messageId = '', agentId: agent = '', inputs } = message ?? {}
    const answer = { projectId, agent, messageId, inputId: inputs?.[0]?.id ?? '', value: 'yes' }
    await service.inputs.answer(answer)
    await expect.poll(textOf).toBe('Paid: "yes"')
  })

  it.each([
    ['that does not exist', `msg_${MISSING}`],
    ['that has another form', 'rs_1'],
  ])('%s is not found', async (_, id) => {
    const { client, messagesOf } = await openScene()
    const input = [
      { type: 'item_reference' as const, id },
      { role: 'user' as const, content: 'two' },
    ]
    expect(await errorOf(client.responses.create({ model: 'echo', input }))).toMatchObject({
      status: 404,
      code: 'response_not_found',
      param: 'input[0].id',
    })
    expect(await messagesOf('echo')).toEqual([])
  })

  it('of another project, or without an answer, is not found', async () => {
    const { client, clientOf, itemId, otherKey } = await openAnswered()
    const inputOf = (id: string) => [
      { role: 'user' as const, content: 'one' },
      { type: 'item_reference' as const, id },
      { role: 'user' as const, content: 'two' },
    ]
    const missing = { status: 404, param: 'input[1].id' }
    const body = { model: 'echo', input: inputOf(itemId) }
    expect(await errorOf(clientOf(otherKey).responses.create(body))).toMatchObject(missing)
    const open = { model: 'slow', input: 'Hello', background: true }
    const { id } = await client.responses.create(open)
    const unanswered = { model: 'echo', input: inputOf(id.replace('resp', 'msg')) }
    expect(await errorOf(client.responses.create(unanswered))).toMatchObject(missing)
  })

  it('counts in a limit', async () => {
    const { itemId, refusalOf } = await openAnswered()
    const input = Array.from({ length: 1_001 }, (_, n) => ({
      type: 'item_reference',
      id: n === 0 ? itemId : `${itemId}_${n}`,
    }))
    expect(await refusalOf('/responses', { model: 'echo', input })).toMatchObject([
      400,
      { param: 'input', message: expect.stringContaining('at most 1000') },
    ])
  })
})

it('a previous response that does not exist is not found', async () => {
  const { client } = await openScene()
  const body = { model: 'echo', input: 'two', previous_response_id: `resp_${MISSING}` }
  expect(await errorOf(client.responses.create(body))).toMatchObject({
    status: 404,
    code: 'response_not_found',
    param: 'previous_response_id',
  })
})
