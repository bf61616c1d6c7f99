import { describe, expect, it } from 'vitest'
import { aMessage, openScene } from '../../test/scene.js'

const parts = [
  { type: 'file', url: 'https://files.example/a.png', mediaType: 'image/png', size: 7 },
  { type: 'data', name: 'order', data: { id: 'o-17' } },
]
const responseSchema = { type: 'object', required: ['total'] }

describe('the parts of a message', () => {
  it('come back with the message, its list and its search, and reach the agent', async () => {
    const { ask, createSlowAgent, runtime } = await openScene()
    const { id } = await createSlowAgent()
    const path = `/v1/agents/${id}/messages`
    const sent = await ask('POST', path, {
      body: aMessage({ parts, responseSchema }),
      headers: { Prefer: 'respond-async' },
    })
    expect(sent.status).toBe(202)
    expect(runtime.requests[0]).toMatchObject({ parts, responseSchema })
    const { json: read } = await ask('GET', `${path}/${sent.json.messageId}`)
    expect(read).toMatchObject({ inputParts: parts, responseSchema })
    for (const list of [path, '/v1/messages'])
      expect((await ask('GET', list)).json.data).toMatchObject([{ inputParts: parts }])
  })

  it('can be null or have null for an optional field, as some languages write', async () => {
    const { ask, createAgent } = await openScene()
    const { id } = await createAgent()
    const nulls = parts.map((part) => ({
      ...part,
      [part.type === 'file' ? 'filename' : 'id']: null,
    }))
    for (const body of [{ parts: null, responseSchema: null }, { parts: nulls }]) {
      const path = `/v1/agents/${id}/messages`
      const sent = await ask('POST', path, { body: aMessage(body) })
      expect(sent.status).toBe(200)
      const { json } = await ask('GET', `${path}/${sent.json.messageId}`)
      expect(json.inputParts).toEqual(body.parts ? parts : undefined)
    }
  })

  it('keep keys such as __proto__ in their data', async () => {
    const { ask, createAgent } = await openScene()
    const { id } = await createAgent()
    const path = `/v1/agents/${id}/messages`
    const data = JSON.parse('{"__proto__":{"admin":true},"constructor":1}') as object
    const body = aMessage({ parts: [{ type: 'data', name: 'd', data }] })
    const { json } = await ask('POST', path, { body })
    const { text } = await ask('GET', `${path}/${json.messageId}`)
    expect(text).toContain('"data":{"__proto__":{"admin":true},"constructor":1}')
  })

  it.each([
    [{ parts: {} }, 'parts', 'must be a list of parts'],
    [{ parts: Array(21).fill(parts[0]) }, 'parts', 'must be a list of at most 20 parts'],
    [
      { parts: [{ ...parts[0], url: 'javascript:alert(1)' }] },
      'parts.0.url',
      'must be an http: or https: URL of at most 8192 characters',
    ],
    [{ parts: [parts[0], { type: 'image' }] }, 'parts.1.type', 'must be one of: data, file'],
    [{ responseSchema: [] }, 'responseSchema', 'must be an object'],
    [
      { responseSchema: { pattern: 'a' } },
      'responseSchema',
      'has a schema with pattern, which is not supported',
    ],
  ])('%# are refused with their field', async (body, path, message) => {
    const { ask, createAgent } = await openScene()
    const { id } = await createAgent()
    const sent = await ask('POST', `/v1/agents/${id}/messages`, { body: aMessage(body) })
    expect(sent.status).toBe(400)
    expect(sent.json.error).toMatchObject({ code: 'BAD_REQUEST', issues: [{ path, message }] })
  })

  it('do not lift the limit of the body', async () => {
    const { ask, createAgent } = await openScene()
    const { id } = await createAgent()
    const long = [{ type: 'data', name: 'd', data: 'a'.repeat(1024 * 1024) }]
    const sent = await ask('POST', `/v1/agents/${id}/messages`, { body: aMessage({ parts: long }) })
    expect(sent.status).toBe(413)
  })
})
