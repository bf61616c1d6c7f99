import { describe, expect, it } from 'vitest'
import { errorOf } from './error-of.js'
import { openScene } from './scene.js'

const MISSING = { status: 404, code: 'response_not_found' }

describe('the input items of a response', () => {
  it('are the turns before its message, and the message', async () => {
    const { client } = await openScene()
    const { id: previous } = await client.responses.create({ model: 'echo', input: 'one' })
    const { id } = await client.responses.create({
      model: 'echo',
      instructions: 'Be brief.',
      input: 'two',
      previous_response_id: previous,
    })
    const { data, has_more: hasMore } = await client.responses.inputItems.list(id, { order: 'asc' })
    expect(data).toMatchObject([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'one' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'one' }] },
      { type: 'message', role: 'user', content: [{ text: 'Be brief.\n\ntwo' }] },
    ])
    expect(hasMore).toBe(false)
  })

  it('have the earlier messages of the request, also before the answer', async () => {
    const { client } = await openScene()
    const input = [
      { role: 'user' as const, content: 'one' },
      { role: 'assistant' as const, content: 'two' },
      { role: 'user' as const, content: 'three' },
    ]
    const { id } = await client.responses.create({ model: 'slow', input, background: true })
    const { data } = await client.responses.inputItems.list(id)
    expect(data).toMatchObject(['three', 'two', 'one'].map((text) => ({ content: [{ text }] })))
  })

  it('come in pages, the newest first', async () => {
    const { client } = await openScene()
    const input = [
      { role: 'user' as const, content: 'one' },
      { role: 'assistant' as const, content: 'two' },
      { role: 'user' as const, content: 'three' },
    ]
    const { id } = await client.responses.create({ model: 'echo', input })
    const texts = []
    for await (const item of client.responses.inputItems.list(id, { limit: 1 }))
      texts.push(item.type === 'message' && item.content)
    expect(texts).toMatchObject([[{ text: 'three' }], [{ text: 'two' }], [{ text: 'one' }]])
  })

  it.each([
    ['limit', '0'],
    ['limit', '101'],
    ['order', 'up'],
    ['after', 'msg_1'],
  ])('are refused with %s %s', async (name, value) => {
    const { app, client, key } = await openScene()
    const { id } = await client.responses.create({ model: 'echo', input: 'Hello' })
    const headers = { authorization: `Bearer ${key}` }
    const path = `/openai/v1/responses/${id}/input_items?${name}=${value}`
    const answer = await app.request(path, { headers })
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: name } }])
  })
})

describe('a deleted response', () => {
  it('is not found at this endpoint, and its message stays', async () => {
    const { app, client, key, messagesOf } = await openScene()
    const headers = { 'Idempotency-Key': 'k-1' }
    const body = { model: 'echo', input: 'one', metadata: { channel: 'C1' } }
    const { id, output } = await client.responses.create(body, { headers })
    const answer = await app.request(`/openai/v1/responses/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${key}` },
    })
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { id, object: 'response.deleted', deleted: true },
    ])
    const reference = { type: 'item_reference' as const, id: output[0]?.id ?? '' }
    const user = { role: 'user' as const, content: 'two' }
    const input = [user, reference, user]
    for (const call of [
      client.responses.retrieve(id),
      client.responses.retrieve(id, { stream: true }),
      client.responses.inputItems.list(id),
      client.responses.cancel(id),
      client.responses.delete(id),
      client.responses.create(body, { headers }),
      client.responses.create({ model: 'echo', input: 'two', previous_response_id: id }),
      client.responses.create({ model: 'echo', input }),
    ])
      expect(await errorOf(call)).toMatchObject(MISSING)
    expect(await messagesOf('echo')).toMatchObject([
      { message: 'one', metadata: { channel: 'C1' }, state: { kind: 'responded' } },
    ])
  })

  it('of another project cannot be deleted', async () => {
    const { client, clientOf, otherKey } = await openScene()
    const { id } = await client.responses.create({ model: 'echo', input: 'one' })
    expect(await errorOf(clientOf(otherKey).responses.delete(id))).toMatchObject(MISSING)
    expect((await client.responses.retrieve(id)).id).toBe(id)
  })
})
