import { describe, expect, it } from 'vitest'
import type { PortalLook } from '@org/agent-messaging-http-kit'
import { aMessage, openScene } from '../../test/scene.js'

type Asked = Parameters<Awaited<ReturnType<typeof openScene>>['runtime']['ask']>[1]
const QUESTION: Asked = {
  question: 'Pay <b>1,200 EUR</b>?\nNow?',
  schema: {
    type: 'object',
    properties: { decision: { enum: ['yes', 'no'] }, order: { type: 'integer' } },
    required: ['decision', 'order'],
  },
  answerBy: 'execution_principal',
}
const USER = { type: 'end_user', endUserId: 'u1' }

/** A question whose event has a one-time link. */
async function openLinked(
  question: Asked = QUESTION,
  scheme: object = { publicUrl: 'https://agents.example/base/' },
) {
  const scene = await openScene(scheme)
  const { ask, clock, runtime, sender } = scene
  await ask('POST', '/v1/webhooks', { body: { url: 'https://receiver.example/', events: ['*'] } })
  const agent = await scene.createSlowAgent()
  const sent = await ask('POST', `/v1/agents/${agent.id}/messages`, {
    body: aMessage({ executionPrincipal: USER }),
    headers: { Prefer: 'respond-async' },
  })
  await clock.until(() => runtime.openRuns.length === 1)
  runtime.ask(sent.json.messageId, question)
  await clock.advance(0)
  const body = sender.requests.map((request) => request.body).find((one) => one.includes('EUR'))
  const event = JSON.parse(body ?? '{}')
  const link = String(event.data.inputUrl).replace('https://agents.example/base', '')
  const path = sent.headers.get('location') ?? ''
  const submit = (form: Record<string, string>, at = link) =>
    ask('POST', at, {
      key: '',
      body: new URLSearchParams(form).toString(),
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    })
  const state = async () => (await ask('GET', path)).json.state
  return { ...scene, event, link, path, submit, state }
}

describe('the one-time link of a question', () => {
  it('shows a form to a person without a key, and changes nothing', async () => {
    const { ask, event, link, state } = await openLinked()
    expect(event.data.inputUrl).toMatch(
      /^https:\/\/agents\.example\/base\/inputs\/[0-9a-f-]{36}\/[0-9a-f]{64}$/,
    )
    const page = await ask('GET', link, { key: '' })
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ])
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.text).toContain(
      '<p dir="auto">Pay &lt;b&gt;1,200 EUR&lt;/b&gt;?</p><p dir="auto">Now?</p>',
    )
    expect(page.text).toContain('name="value.decision" value="yes" required')
    expect(page.text).toContain('name="value.order"')
    expect(page.text).toMatch(/agent-1.* waits for your answer until <time datetime="2030-01-08/)
    expect((await ask('HEAD', link, { key: '' })).status).toBe(200)
    expect(await state()).toBe('input_required')
  })

  it('answers with its form, once, as the principal of the message', async () => {
    const { ask, link, path, submit, state } = await openLinked()
    const wrong = await submit({ 'value.decision': 'perhaps', 'value.order': '7' })
    expect([wrong.status, wrong.text.includes('This must be one of the choices.')]).toEqual([
      400,
      true,
    ])
    expect(wrong.text).toContain('<title>Not sent: A question for you')
    expect(wrong.text).toContain('role="alert" tabindex="-1" autofocus>')
    expect(await state()).toBe('input_required')
    const right = { 'value.decision': 'yes', 'value.order': '7' }
    const answered = await submit(right)
    expect([answered.status, answered.text.includes('Your answer is stored.')]).toEqual([200, true])
    const log = (await ask('GET', '/v1/audit-log?action=input.answered')).json.data
    expect(log).toMatchObject([{ actor: { kind: 'link' }, targetId: path.split('/').at(-1) }])
    expect(log[0].actor).not.toHaveProperty('id')
    const { json } = await ask('GET', path)
    expect(json.inputs[0].answer).toMatchObject({
      value: { decision: 'yes', order: 7 },
      executionPrincipal: USER,
    })
    expect((await submit(right)).status).toBe(200)
    expect((await submit({ ...right, 'value.decision': 'no' })).status).toBe(409)
    expect((await ask('GET', link, { key: '' })).text).toContain('has its answer since')
  })

  it('checks a format in time that does not double with each character', async () => {
    const schema = { type: 'string', format: 'url' }
    const { submit, state } = await openLinked({ question: 'EUR', schema })
    const label = 'a'.repeat(31)
    expect((await submit({ value: `http://${label}.${label} !` })).status).toBe(400)
    expect(await state()).toBe('input_required')
    expect((await submit({ value: `http://${label}.${label}!` })).status).toBe(200)
  })

  it('gives back all that a person typed, with every problem beside its field', async () => {
    const note = '\n<script>alert(1)</script> \u202E' + 'x'.repeat(1_000)
    const properties = {
      order: { type: 'integer', minimum: 1 },
      note: { type: 'string', maxLength: 9 },
    }
    const { submit } = await openLinked({
      question: 'EUR',
      schema: { type: 'object', properties, required: ['order'] },
    })
    const { status, text } = await submit({ 'value.order': '1,5', 'value.note': note })
    expect(status).toBe(400)
    expect(text).toContain('Please change these 2 fields')
    expect(text).toContain('This must be a whole number, at least 1.')
    expect(text).toContain('This must be a text, at most 9 characters.')
    expect(text).toContain('value="1,5"')
    expect(text).toContain('>\n\n&lt;script&gt;alert(1)&lt;/script&gt; \u202Ex')
    expect(text).not.toContain('<script>alert')
  })

  it('shows what the agent allows of the conversation, and what will happen', async () => {
    const context = [{ message: 'Buy <it>', response: 'It costs 1,200 EUR' }, { message: 'Hm' }]
    const onExpiry = { answer: 'reject' } as const
    const look: PortalLook = {
      name: 'Acme & Sons',
      logo: { type: 'image/png', bytes: new Uint8Array([1]) },
      accent: { light: '#111111', dark: '#eeeeee' },
    }
    const asked = { question: 'Pay 1,200 EUR?', context, onExpiry }
    const { ask, event, link, path, submit } = await openLinked(asked, {
      publicUrl: 'https://agents.example/base/',
      http: { look },
    })
    const { text } = await ask('GET', link, { key: '' })
    expect(text).toContain('<h1>Acme &amp; Sons asks you</h1>')
    expect(text).toContain('Buy &lt;it&gt;')
    expect(text).toMatch(/this answer counts: <b dir="auto">reject/)
    const file = async (name: string) => await ask('GET', `/inputs/${name}`, { key: '' })
    expect((await file('logo')).headers.get('content-type')).toBe('image/png')
    expect((await file('page.css')).text).toContain('--link: light-dark(#111111, #eeeeee)')
    expect((await file('other')).status).toBe(404)
    expect(JSON.stringify([event, (await ask('GET', path)).json])).not.toContain('Buy <it>')
    const receipt = await submit({ value: 'Yes & no' })
    expect(receipt.text).toMatch(/Your answer is stored\. .*<pre dir="auto">Yes &amp; no</s)
    expect(receipt.text).not.toContain('Buy')
  })

  it('shows the text of the person whose answer came second, or too late', async () => {
    const { submit } = await openLinked({ question: 'EUR', expiresInMs: 60_000 })
    expect((await submit({ value: 'first' })).status).toBe(200)
    const second = await submit({ value: 'second' })
    expect([second.status, second.text.includes('<pre dir="auto">second')]).toEqual([409, true])
    expect(second.text).not.toContain('first')
    const other = await openLinked({ question: 'EUR', expiresInMs: 60_000 })
    await other.clock.advance(60_000)
    const late = await other.submit({ value: 'late' })
    expect([late.status, late.text.includes('<pre dir="auto">late')]).toEqual([409, true])
    expect(late.text).toContain('no longer takes an answer')
  })

  it('keeps the text while the storage fails, and no text of another site', async () => {
    const { ask, link, storage } = await openLinked()
    const send = (site: string) =>
      ask('POST', link, {
        key: '',
        body: new URLSearchParams({ 'value.decision': 'my text' }).toString(),
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Sec-Fetch-Site': site },
      })
    storage.fail('messages.getHeld', { times: 2 })
    const failed = await send('same-origin')
    expect(failed.status).toBe(503)
    expect(failed.text).toMatch(/<textarea name="value.decision" hidden>\nmy text</)
    expect((await send('cross-site')).text).not.toContain('my text')
  })

  it('shows a form of 200 fields, and takes their answers', async () => {
    const names = Array.from({ length: 200 }, (_, at) => `f${at}`)
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'integer' }]))
    const { submit } = await openLinked({ question: 'EUR', schema: { type: 'object', properties } })
    const texts = (text: string) =>
      Object.fromEntries(names.map((name) => [`value.${name}`, text] as const))
    expect((await submit(texts('x'))).text).toContain('Please change these 200 fields')
    expect((await submit(texts('1'))).status).toBe(200)
  })

  it('shows a part of 60,000 texts, also to a person with a wrong link', async () => {
    const { ask, link } = await openLinked()
    const { status, text } = await ask('POST', link.replace(/.$/, 'x'), {
      key: '',
      body: 'value=1&'.repeat(60_000),
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    })
    expect([status, text.match(/<pre/g)?.length]).toEqual([404, 2_000])
  })

  it('shows that a cancelled message takes no answer', async () => {
    const { ask, link, path, submit } = await openLinked()
    await ask('POST', `${path}/cancel`)
    expect((await ask('GET', link, { key: '' })).text).toContain('no longer takes an answer')
    expect((await submit({ 'value.decision': 'yes', 'value.order': '7' })).status).toBe(409)
  })

  it('answers 404 for a wrong token, and 413 for a long form', async () => {
    const { ask, link, submit, state } = await openLinked()
    const wrong = link.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    expect((await ask('GET', wrong, { key: '' })).status).toBe(404)
    expect((await submit({ 'value.decision': 'yes', 'value.order': '7' }, wrong)).status).toBe(404)
    expect((await submit({ 'value.decision': 'x'.repeat(600_000) })).status).toBe(413)
    expect(await state()).toBe('input_required')
  })

  it('is in the bodies of webhooks alone, and absent without a public URL', async () => {
    const { ask, event, path } = await openLinked()
    const { json: deliveries } = await ask('GET', '/v1/deliveries')
    const shown = [
      await ask('GET', path),
      await ask('GET', '/v1/inputs'),
      await ask('GET', '/v1/events'),
      await ask('GET', `/v1/deliveries/${deliveries.data[0].id}`),
    ]
    expect(event.data.inputUrl).toBeDefined()
    for (const { status, text } of shown) {
      expect([status, text.includes('1,200 EUR')]).toEqual([200, true])
      expect(text).not.toMatch(/inputUrl|linkDigest|\/inputs\//)
    }
    const { event: without } = await openLinked(QUESTION, {})
    expect(without.data).not.toHaveProperty('inputUrl')
  })
})
