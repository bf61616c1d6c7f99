import type { Access } from '@org/agent-messaging-core'
import { refusalOf } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { runOf, scene } from './scene.js'

const secret = `whsec_${btoa('x'.repeat(32))}`
const webhook = { url: 'https://mine.example/hook', secret }
const kindOf = async (answer: Promise<unknown>): Promise<string> => (await refusalOf(answer)).kind
const accessTo = (sessions: Access['sessions']): Access => ({
  caller: 'u1',
  permissions: ['project:message', 'project:read'],
  sessions,
})
const refused = { kind: 'refused', statusCode: 500, responseBody: '' } as const
const echo = {
  handler: ({ message }: { message: string }) =>
    ({ kind: 'answered', response: `re: ${message}` }) as const,
}

describe('the webhook of a send', () => {
  it('gets the answer in the form of a webhook, signed with its secret', async () => {
    const { send, sender, clock, service, ref, project, deliveries } = await scene(echo)
    const { message } = await send('hi', { webhook })
    await clock.advance(0)
    const [request] = sender.requests
    expect(sender.requests).toHaveLength(1)
    expect(request).toMatchObject({
      url: webhook.url,
      headers: {
        'content-type': 'application/json',
        'X-Service-Event': 'message.responded',
        'webhook-signature': expect.stringMatching(/^v1,/) as string,
      },
    })
    expect(JSON.parse(request?.body ?? '')).toMatchObject({
      event: 'message.responded',
      data: { messageId: message.id, response: 're: hi' },
    })
    const [delivery] = await deliveries()
    expect(delivery).toMatchObject({
      delivery: { state: { kind: 'delivered' } },
      attempts: [{ url: 'https://mine.example/hook' }],
    })
    const ofProject = { projectId: project.id }
    expect((await service.webhooks.list({ ...ofProject, limit: 10 })).data).toEqual([])
    expect(await service.hooks.list({ ...ref, messageId: message.id })).toEqual([])
    const { story, receivers } = await service.messages.story({
      ...ofProject,
      messageId: message.id,
      withReceivers: true,
    })
    expect(story.text).toContain('1 of 1 receivers have message.responded.')
    expect(receivers?.webhooks).toMatchObject([{ url: webhook.url, hook: {} }])
    expect(JSON.stringify([delivery, story])).not.toContain(secret)
  })

  it('is retried like a webhook, and its receiver is named until it has the answer', async () => {
    const { send, sender, clock, service, project, deliveries } = await scene(echo)
    sender.script(refused)
    const { message } = await send('hi', { webhook })
    await clock.advance(0)
    const told = async () =>
      (
        await service.messages.story({
          projectId: project.id,
          messageId: message.id,
          withReceivers: true,
        })
      ).story.text
    expect(await told()).toContain('https://mine.example/hook does not have message.responded')
    await clock.advance(10_000)
    expect(await deliveries()).toMatchObject([
      { delivery: { state: { kind: 'delivered' }, attemptCount: 2 } },
    ])
    expect(new Set(sender.requests.map(({ body }) => body)).size).toBe(1)
  })

  it('gets the events that it names, and no others', async () => {
    const { send, sender, clock } = await scene({
      handler: () => ({
        kind: 'failed',
        error: { code: 'RUNTIME_ERROR', message: 'no' },
        retryable: false,
      }),
    })
    await send('a', { webhook: { ...webhook, events: ['agent.error'] } })
    await send('b', { webhook: { ...webhook, events: ['message.responded'] } })
    await clock.advance(0)
    expect(sender.requests.map(({ headers }) => headers['X-Service-Event'])).toEqual([
      'agent.error',
    ])
  })

  it('is stored with a message that waits for a run', async () => {
    const { post, runtime, clock, sender } = await scene()
    const first = await post('first', { webhook })
    const second = await post('second', { webhook: { ...webhook, url: 'https://other.example/' } })
    runtime.answer(first.id, 'one')
    await clock.advance(0)
    runtime.answer(second.id, 'two')
    await clock.advance(0)
    expect(sender.requests.map(({ url }) => url)).toEqual([webhook.url, 'https://other.example/'])
    expect(runOf(runtime).messageId).toBe(first.id)
  })

  it('is not added by a repeat of the key, whose webhook must be the same', async () => {
    const policy = { onKeyMismatch: 'reject' } as const
    const { send, sender, clock } = await scene({ ...echo, policy })
    const key = { idempotencyKey: 'k' }
    await send('hi', { ...key, webhook })
    expect((await send('hi', { ...key, webhook: { ...webhook } })).attached).toBe(true)
    for (const other of [undefined, { ...webhook, url: 'https://other.example/' }])
      expect(await kindOf(send('hi', { ...key, webhook: other }))).toBe('idempotency_mismatch')
    const rotated = { ...webhook, secret: `whsec_${btoa('y'.repeat(32))}` }
    expect(await kindOf(send('hi', { ...key, webhook: rotated }))).toBe('idempotency_mismatch')
    await clock.advance(0)
    expect(sender.requests).toHaveLength(1)
  })

  it('can be given with a message in a transaction of the host', async () => {
    const { service, ref, storage, sender, clock } = await scene(echo)
    const enqueue = (more: object) =>
      service.messages.enqueue({
        ...ref,
        sessionId: 's',
        message: 'hi',
        ...more,
        transaction: { ...storage, onEnd: (hear) => hear() },
      })
    expect(await kindOf(enqueue({ webhook: { url: webhook.url } }))).toBe('invalid')
    await enqueue({ webhook })
    await clock.advance(0)
    expect(sender.requests).toHaveLength(1)
  })

  it('is erased with its message, also in flight', async () => {
    const { send, sender, clock, service, ref, deliveries } = await scene(echo)
    sender.script(refused)
    await send('hi', { webhook })
    await clock.advance(0)
    await service.sessions.erase({ ...ref, sessionId: 's' })
    await clock.advance(60_000)
    expect(sender.requests).toHaveLength(1)
    expect(await deliveries()).toEqual([])
  })

  it('is for callers without a scope', async () => {
    const { send } = await scene(echo)
    const access = accessTo({ ids: ['s'] })
    expect(await kindOf(send('hi', { webhook, access }))).toBe('access_restricted')
    expect((await send('hi', { webhook, access: accessTo('all') })).attached).toBe(false)
  })
})

describe('a send is refused, and nothing is stored,', () => {
  it.each([
    ['webhook', 7],
    ['webhook.url', { secret }],
    ['webhook.url', { ...webhook, url: 'http://10.0.0.1/' }],
    ['webhook.url', { ...webhook, url: `https://x.example/${'x'.repeat(2_048)}` }],
    ['webhook.url', { ...webhook, url: 7 }],
    ['webhook.secret', { url: webhook.url }],
    ['webhook.secret', { ...webhook, secret: `whsec_${btoa('short')}` }],
    ['webhook.secret', { ...webhook, secret: `whsec_${btoa('x'.repeat(65))}` }],
    ['webhook.secret', { ...webhook, secret: null }],
    ['webhook.events', { ...webhook, events: [] }],
    ['webhook.events', { ...webhook, events: ['agent.started'] }],
    ['webhook.events', { ...webhook, events: ['message.*'] }],
    ['webhook.events', { ...webhook, events: ['order.paid'] }],
    ['webhook.events', { ...webhook, events: Array.from({ length: 8 }, () => 'agent.error') }],
    ['webhook', { ...webhook, headers: { a: 'b' } }],
  ])('for a bad %s: %o', async (path, given) => {
    const { send, service, ref, sender } = await scene(echo)
    sender.refuse('http://10.0.0.1/', 'the address is private')
    const error = await refusalOf(send('hi', { webhook: given as never }))
    expect(error.kind === 'invalid' && error.issues.map((issue) => issue.path)).toEqual([path])
    expect((await service.messages.list({ ...ref, limit: 10 })).data).toEqual([])
  })

  it('and a URL of 2,000 characters is accepted', async () => {
    const { send } = await scene(echo)
    const url = `https://x.example/${'x'.repeat(2_000 - 18)}`
    expect((await send('hi', { webhook: { ...webhook, url } })).attached).toBe(false)
  })

  it('with the events that a webhook of a send can name', async () => {
    const { send } = await scene(echo)
    const error = await refusalOf(send('hi', { webhook: { ...webhook, events: ['*'] } }))
    expect(error).toMatchObject({
      issues: [{ message: expect.stringMatching(/^must name one or more of: message\.responded/) }],
    })
  })
})
