import type { Permission } from '@org/agent-messaging-core'
import { describe, expect, it, vi } from 'vitest'
import { ORIGIN, scene } from '../../test/scene.js'

const HOSTILE = '../<script>&"?#שלום'

async function open(permissions?: readonly Permission[]) {
  const s = await scene(permissions && { permissions })
  const { projectId, service, clock } = s
  const send = async (endUserId: string, message = 'hello', sessionId = endUserId) =>
    service.messages.send({
      projectId,
      agent: 'bot',
      sessionId,
      message,
      executionPrincipal: { type: 'end_user', endUserId },
      waitMs: 0,
    })
  const settle = () => clock.advance(100)
  const cookie = await s.signIn()
  const get = (path: string) => s.get(path, cookie)
  const page = async (path: string) => (await get(path)).text()
  const post = (path: string, form: Record<string, string> = {}) =>
    s.post(path, form, { origin: ORIGIN, cookie })
  const messagesOf = async (endUserId: string) =>
    (await service.messages.search({ projectId, endUserId, limit: 99 })).data.length
  return { ...s, send, settle, get, page, post, messagesOf }
}

const pathOf = (id: string) => `/console/people?${new URLSearchParams({ id }).toString()}`
const erasePathOf = (id: string) => pathOf(id).replace('people', 'people/erase')

describe('the page of a person', () => {
  it('has the sessions, the messages and the questions of that person only', async () => {
    const { send, settle, page } = await open()
    await send(HOSTILE, 'hello', 'first')
    await send(HOSTILE, 'again', 'first')
    await send(HOSTILE, 'ask', 'second')
    await send('ann', 'of ann', 'first')
    await send('ann', 'ask', 'of-ann')
    await settle()
    const list = await page('/console/conversations')
    const link = /<a href="(\/console\/people[^"]*)"><bdi>\.\./.exec(list)?.[1] ?? ''
    const text = await page(link.replaceAll('&amp;', '&'))
    expect(text).toContain('../&lt;script&gt;&amp;&quot;?#שלום')
    const part = (id: string) => text.split(`<h2 id="${id}">`)[1]?.split('</section>')[0] ?? ''
    expect(part('questions')).toContain('Pay &lt;b&gt;?')
    expect(part('questions').match(/href="\/console\/questions\//g)).toHaveLength(1)
    const sessions = [...part('sessions').matchAll(/<bdi>([^<]*)</g)].map(([, name]) => name)
    expect(sessions).toEqual(['second', 'first'])
    expect(part('messages').match(/href="\/console\/messages\//g)).toHaveLength(3)
    expect(text).not.toContain('of ann')
    expect(await page(pathOf('nobody'))).toContain('No message names this end user.')
  })

  it('shows a viewer no way to erase, and exists only for a person', async () => {
    const { send, settle, page, get, post } = await open(['project:read'])
    await send('ann')
    await settle()
    expect(await page(pathOf('ann'))).not.toContain('people/erase')
    expect((await get(erasePathOf('ann'))).status).toBe(403)
    expect((await post(erasePathOf('ann'))).status).toBe(403)
    for (const id of ['', '\0']) expect((await get(pathOf(id))).status).toBe(404)
  })
})

describe('erasing a person', () => {
  it('counts first, and then erases the messages of that person only', async () => {
    const { send, settle, page, post, messagesOf, service, projectId } = await open()
    const events = ['*'] as const
    await service.webhooks.create({ projectId, url: 'https://a.example/', events })
    await send(HOSTILE)
    await send('ann', 'of ann', HOSTILE)
    await settle()
    expect(await page(pathOf(HOSTILE))).toContain('Erase</a>')
    const asked = await page(erasePathOf(HOSTILE))
    expect(asked).toMatch(/1 message with their\s+answers, and 1 delivery with all/)
    expect(asked).not.toContain('name="force"')
    const action = /<form method="post" action="([^"]*people[^"]*)"/.exec(asked)?.[1] ?? ''
    const done = await post(action.replaceAll('&amp;', '&'))
    expect(done.headers.get('location')).toBe(`${pathOf(HOSTILE)}&notice=personErased`)
    expect([await messagesOf(HOSTILE), await messagesOf('ann')]).toEqual([0, 1])
    const { data } = await service.auditLog.list({ projectId, action: 'principal.erased' })
    expect(data).toMatchObject([{ actor: { kind: 'console' }, count: 1 }])
  })

  it('keeps open messages, unless the form says otherwise', async () => {
    const { send, page, post, messagesOf } = await open()
    await send('ann', 'never')
    expect(await page(erasePathOf('ann'))).toContain('Erase 1 open message too')
    const kept = await post(erasePathOf('ann'))
    expect([kept.status, await messagesOf('ann')]).toEqual([400, 1])
    expect(await kept.text()).toContain('Open messages were kept.')
    expect((await post(erasePathOf('ann'), { force: 'yes' })).status).toBe(303)
    expect(await messagesOf('ann')).toBe(0)
  })

  it('goes on with a request for each part', async () => {
    const { send, settle, post, page, service, clock } = await open()
    await send('ann')
    await settle()
    const { erase } = service.principals
    const part = { messages: 1, openMessages: 0, deliveries: 0, events: 0, nextCursor: '.7' }
    const late = async () => {
      await clock.advance(10_000)
      return part
    }
    vi.spyOn(service.principals, 'count').mockImplementationOnce(late)
    expect(await page(erasePathOf('ann'))).toContain('more than 1 message')
    vi.spyOn(service.principals, 'erase').mockImplementationOnce(late)
    const first = await (await post(erasePathOf('ann'), { force: 'yes' })).text()
    expect(first).toContain('The erasure is not finished')
    expect(first).toContain('<input type="hidden" name="cursor" value=".7"/>')
    expect(first).toContain('<input type="hidden" name="force" value="yes"/>')
    const asked: unknown[] = []
    vi.spyOn(service.principals, 'erase').mockImplementation((input) => {
      asked.push([input.cursor, input.force])
      return erase(input)
    })
    expect((await post(erasePathOf('ann'), { cursor: '.7', force: 'yes' })).status).toBe(303)
    expect(asked).toEqual([['.7', true]])
    expect((await post(erasePathOf('ann'), { cursor: 'x' })).status).toBe(400)
  })
})
