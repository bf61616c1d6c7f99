import { defaultPolicy } from '@org/agent-messaging-core'
import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID } from '../../test/scene.js'

/** Sends a message that keeps running, and opens its stream. */
async function streamed(options: Parameters<typeof openScene>[0] = {}) {
  const scene = await openScene(options)
  const agent = await scene.createSlowAgent()
  const sent = await scene.ask('POST', `/v1/agents/${agent.id}/messages`, {
    body: aMessage(),
    headers: { Prefer: 'respond-async' },
  })
  const { messageId } = sent.json
  const path = `/v1/agents/${agent.id}/messages/${messageId}/stream`
  const open = (headers: Record<string, string> = {}) =>
    scene.app.request(path, { headers: { Authorization: `Bearer ${scene.key}`, ...headers } })
  return { ...scene, messageId, path, open, run: scene.runtime.requests[0] }
}

const bearer = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } })

/** Reads a stream to its end. */
function textOf({ body }: Response) {
  let text = ''
  async function readAll(): Promise<string> {
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
    for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read())
      text += next.value
    return text
  }
  return { soFar: () => text, ended: readAll() }
}

describe('the stream of a message', () => {
  it('has server-sent events, and ends with the message that GET returns', async () => {
    const { open, run, runtime, messageId, ask, path } = await streamed()
    const response = await open()
    run?.emit('Hel')
    run?.emit('lo\n\nworld')
    const text = response.text()
    runtime.answer(messageId, 'Hello\n\nworld')
    const { json } = await ask('GET', path.replace('/stream', ''))
    expect(await text).toBe(
      [
        'event: state\nid: 1.0\ndata: {"state":"running","attempt":1}\n\n',
        'event: chunk\nid: 1.12\ndata: {"attempt":1,"offset":0,"text":"Hello\\n\\nworld"}\n\n',
        `event: message\nid: 1.responded\ndata: ${JSON.stringify(json)}\n\n`,
      ].join(''),
    )
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toEqual({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': expect.stringMatching(/^request-/) as string,
    })
  })
  it('has the parts of the answer, and lists have them on request', async () => {
    const { open, run, runtime, messageId, ask, path } = await streamed()
    const response = await open()
    const call = { toolCallId: 'c', toolName: 'search' }
    run?.emit('Hi')
    run?.emit({ type: 'tool-input-available', ...call, input: '</script>\n\ndata: x' })
    run?.emit({ type: 'tool-output-available', toolCallId: 'c', output: 'y'.repeat(2_000_000) })
    const text = response.text()
    runtime.answer(messageId, 'Hi')
    const message = path.replace('/stream', '')
    const { json } = await ask('GET', message)
    const tool = { type: 'tool', ...call, state: 'output-available', input: '</script>\n\ndata: x' }
    const parts = [{ type: 'text', text: 'Hi' }, tool]
    expect(json).toMatchObject({ response: 'Hi', parts, partsTruncated: true })
    expect(await text).toContain(
      '{"attempt":1,"offset":2,"index":0,"part":{"type":"tool-input-available","toolCallId":"c",' +
        '"toolName":"search","input":"</script>\\n\\ndata: x"}}\n\n',
    )
    expect(await text).toContain(
      `event: message\nid: 1.responded\ndata: ${JSON.stringify(json)}\n\n`,
    )
    const list = message.slice(0, message.lastIndexOf('/'))
    for (const route of [list, '/v1/messages']) {
      const { json: plain } = await ask('GET', route)
      expect(plain.data[0]).not.toHaveProperty('parts')
      const { json: whole } = await ask('GET', `${route}?parts=true`)
      expect(whole.data[0]).toMatchObject({ parts, partsTruncated: true })
    }
    const answers = async (query: string) =>
      (await ask('GET', `/v1/events${query}`)).json.data.at(-1).event.data
    expect(await answers('')).not.toHaveProperty('parts')
    expect(await answers('?parts=true')).toMatchObject({
      response: 'Hi',
      parts,
      partsTruncated: true,
    })
  })
  it('continues after Last-Event-ID, and answers 204 after the last event', async () => {
    const { open, run, runtime, messageId } = await streamed()
    run?.emit('Hello')
    const response = await open({ 'Last-Event-ID': '1.4' })
    const text = response.text()
    runtime.answer(messageId, 'Hello')
    expect(await text).toContain('data: {"attempt":1,"offset":4,"text":"o"}')
    const done = await open({ 'Last-Event-ID': '1.responded' })
    expect([done.status, await done.text()]).toEqual([204, ''])
  })
  it('sends heartbeats', async () => {
    const { open, clock } = await streamed()
    const response = await open()
    const reader = response.body?.getReader()
    await reader?.read()
    const next = reader?.read()
    await clock.advance(5_000)
    expect(new TextDecoder().decode((await next)?.value)).toBe(': heartbeat\n\n')
  })
  it('ends within 20 s after its key was revoked, and frees its place', async () => {
    let elapsed = 0
    const policy = { stream: { ...defaultPolicy.stream, maxPerProject: 2 } }
    const {
      app,
      path,
      keyWith,
      project,
      service,
      clock,
      key: other,
    } = await streamed({ policy, http: { now: () => elapsed } })
    const { key, apiKey } = await keyWith(['project:message'])
    const revoked = textOf(await app.request(path, bearer(key)))
    const good = textOf(await app.request(path, bearer(other)))
    const beat = async (ms: number): Promise<void> => {
      elapsed += ms
      await clock.advance(ms)
    }
    await beat(4_500)
    await service.keys.revoke({ projectId: project.id, keyId: apiKey.id })
    for (let passed = 0; passed < 20_000; passed += 500) await beat(500)
    expect(await revoked.ended).toBe(
      'event: state\nid: 1.0\ndata: {"state":"running","attempt":1}\n\n' +
        ': heartbeat\n\n'.repeat(3),
    )
    expect((await app.request(path, bearer(key))).status).toBe(401)
    expect((await app.request(path, bearer(other))).status).toBe(200)
    expect(good.soFar()).toMatch(/heartbeat\n\n: heartbeat\n\n$/)
  })
  it('checks its key once in 15 s, however many events it sends', async () => {
    let elapsed = 0
    const { open, clock, storage } = await streamed({ http: { now: () => elapsed } })
    let looks = 0
    const { findByDigest } = storage.credentials
    storage.credentials.findByDigest = (digest) => (looks++, findByDigest(digest))
    const text = textOf(await open())
    const opened = looks
    for (const beat of [15_000, 10_000, 0]) {
      elapsed += beat
      await clock.advance(4_000)
    }
    expect(text.soFar()).toMatch(/(: heartbeat\n\n){3}$/)
    expect(looks - opened).toBe(1)
  })
  it('continues while the storage is unavailable', async () => {
    let elapsed = 0
    const { open, clock, storage } = await streamed({ http: { now: () => elapsed } })
    const text = textOf(await open())
    elapsed += 15_000
    storage.fail('credentials.findByDigest', { times: 1 })
    await clock.advance(4_000)
    expect(text.soFar()).toContain(': heartbeat')
  })
  it('frees its place when the reader leaves', async () => {
    const { open } = await streamed({
      policy: { stream: { ...defaultPolicy.stream, maxPerProject: 1 } },
    })
    const response = await open()
    const full = await open()
    expect([full.status, full.headers.get('retry-after')]).toEqual([429, '1'])
    await response.body?.cancel()
    expect((await open()).status).toBe(200)
  })
  it('gets the same errors as GET of the message', async () => {
    const { ask, path, messageId, otherKey, keyWith } = await streamed()
    const { key } = await keyWith(['project:agents'])
    expect((await ask('GET', path, { key: '' })).status).toBe(401)
    expect((await ask('GET', path, { key })).status).toBe(403)
    expect((await ask('GET', path, { key: otherKey })).json.error).toMatchObject({
      code: 'NOT_FOUND',
      message: 'No such agent',
    })
    expect((await ask('GET', path.replace(messageId, UNKNOWN_ID))).json.error.message).toBe(
      'No such message',
    )
    expect((await ask('GET', path.replace(messageId, 'nonsense'))).status).toBe(404)
  })
  it('refuses HEAD', async () => {
    const { ask, path } = await streamed()
    for (const method of ['HEAD', 'POST']) {
      const { status, headers } = await ask(method, path)
      expect([status, headers.get('allow')?.split(', ')[0]]).toEqual([405, 'GET'])
    }
  })
})
