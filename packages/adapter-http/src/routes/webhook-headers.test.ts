import { describe, expect, it } from 'vitest'
import { aMessage, openScene } from '../../test/scene.js'

const hook = { url: 'https://receiver.example/hook', events: ['message.responded'] }

describe('headers of a webhook', () => {
  it('show their names, never their values, and are cleared by null', async () => {
    const { ask } = await openScene()
    const body =
      '{"url":"https://receiver.example/hook","events":["*"],"headers":{"X-Api-Key":"canary","__proto__":"canary"}}'
    const created = await ask('POST', '/v1/webhooks', { body })
    expect(created.status).toBe(201)
    expect(Object.entries(created.json.headers)).toEqual([
      ['X-Api-Key', { set: true }],
      ['__proto__', { set: true }],
    ])
    const path = `/v1/webhooks/${created.json.id}`
    const texts = [
      created.text,
      (await ask('GET', path)).text,
      (await ask('GET', '/v1/webhooks')).text,
    ]
    expect(texts.join()).not.toContain('canary')
    expect((await ask('PATCH', path, { body: { description: 'd' } })).json).toHaveProperty(
      'headers.X-Api-Key',
    )
    expect(
      (await ask('PATCH', path, { body: { headers: { 'X-New': 'n' } } })).json.headers,
    ).toEqual({ 'X-New': { set: true } })
    expect((await ask('PATCH', path, { body: { headers: null } })).json).not.toHaveProperty(
      'headers',
    )
  })

  it.each([
    ['text', 'X-A: b', 'headers'],
    ['a list', ['X-A'], 'headers'],
    ['other values', { 'X-A': 7 }, 'headers'],
    ['the form of an answer', { 'X-A': { set: true } }, 'headers'],
    ['a header of the service', { 'WEBHOOK-SIGNATURE': 'x' }, 'headers.WEBHOOK-SIGNATURE'],
    ['a line break', { 'X-A': 'a\nb' }, 'headers.X-A'],
  ])('cannot be %s', async (_, headers, path) => {
    const { ask } = await openScene()
    const refused = await ask('POST', '/v1/webhooks', { body: { ...hook, headers } })
    expect([refused.status, refused.json.error.issues]).toEqual([
      400,
      [{ path, message: expect.any(String) }],
    ])
  })
})

it('an attempt shows its request headers with the trace of the send', async () => {
  const { ask, createAgent, clock, sender } = await openScene()
  const agent = await createAgent()
  await ask('POST', '/v1/webhooks', { body: { ...hook, headers: { Authorization: 'canary' } } })
  const headers = {
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    tracestate: 'a=1',
  }
  await ask('POST', `/v1/agents/${agent.name}/messages`, { body: aMessage(), headers })
  await clock.advance(0)
  const [{ id }] = (await ask('GET', '/v1/deliveries')).json.data
  const { text, json } = await ask('GET', `/v1/deliveries/${id}`)
  expect(json.attempts[0].requestHeaders).toEqual({
    ...sender.requests[0]?.headers,
    Authorization: '[redacted]',
  })
  expect(json.attempts[0].requestHeaders).toMatchObject({
    traceparent: expect.stringContaining('4bf92f3577b34da6a3ce929d0e0e4736'),
    tracestate: 'a=1',
  })
  expect(text).not.toContain('canary')
})
