import { describe, expect, it } from 'vitest'
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
    expect(page.text).toContain('<p>Pay &lt;b&gt;1,200 EUR&lt;/b&gt;?</p><p>Now?</p>')
    expect(page.text).toContain('name="value.decision" value="yes" required')
    expect(page.text).toContain('type="number" step="any" name="value.order" required')
    expect((await ask('HEAD', link, { key: '' })).status).toBe(200)
    expect(await state()).toBe('input_required')
  })

  it('answers with its form, once, as the principal of the message', async () => {
    const { ask, link, path, submit, state } = await openLinked()
    const wrong = await submit({ 'value.decision': 'perhaps', 'value.order': '7' })
    expect([wrong.status, wrong.text.includes('does not match the schema')]).toEqual([400, true])
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
    expect((await ask('GET', link, { key: '' })).text).toContain('has its answer')
  })

  it('checks a format in time that does not double with each character', async () => {
    const schema = { type: 'string', format: 'url' }
    const { submit, state } = await openLinked({ question: 'EUR', schema })
    const label = 'a'.repeat(31)
    expect((await submit({ value: `http://${label}.${label}! ` })).status).toBe(400)
    expect(await state()).toBe('input_required')
    expect((await submit({ value: `http://${label}.${label}!` })).status).toBe(200)
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
    expect((await submit({ 'value.decision': 'x'.repeat(70_000) })).status).toBe(413)
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
