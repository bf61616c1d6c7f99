import { expect, it } from 'vitest'
import { ORIGIN, scene } from '../../test/scene.js'

/** Sends a test event of a webhook by its button. */
async function tested() {
  const s = await scene()
  const cookie = await s.signIn()
  const create = async (url: string) =>
    (await s.service.webhooks.create({ projectId: s.projectId, url, events: ['*'] })).webhook.id
  const id = await create('https://crm.example/')
  const send = async () => {
    const sent = await s.post(`/console/webhooks/${id}/test`, {}, { origin: ORIGIN, cookie })
    return sent.headers.get('location') ?? ''
  }
  const page = async (path: string) => (await s.get(path, cookie)).text()
  return { ...s, id, create, send, page, ref: { projectId: s.projectId, webhookId: id } }
}

it('a test event shows the answer of the receiver in place', async () => {
  const { send, page, sender, clock } = await tested()
  const responseBody = `<script>no()</script>${'x'.repeat(1_000)}`
  sender.script({ kind: 'refused', statusCode: 500, responseBody })
  sender.hold()
  const path = await send()
  await clock.advance(0)
  const waiting = await page(path)
  expect(waiting).toContain('waiting for the answer of the receiver')
  expect(waiting).toContain(`hx-get="${path}" hx-trigger="every 1000ms"`)
  sender.release()
  await clock.advance(100)
  const answered = await page(path)
  expect(answered).toContain('Test event: <span class="status bad">500')
  expect(answered).toContain('&lt;script&gt;no()&lt;/script&gt;xxx')
  expect(answered).not.toContain('x'.repeat(500))
  expect(answered).toContain(`hx-get="${path}" hx-trigger="every 5000ms"`)
})

it('a test event of a paused webhook waits, and says so', async () => {
  const { service, send, page, ref } = await tested()
  await service.webhooks.update({ ...ref, change: { paused: true } })
  expect(await page(await send())).toContain('the paused webhook keeps it')
})

it('an address that names no test event of the webhook shows none', async () => {
  const { create, send, page, id } = await tested()
  const [, query = ''] = (await send()).split('?')
  const other = await create('https://other.example/')
  for (const path of [`${other}?${query}`, `${id}?test=none`, `${id}?test=${other}`])
    expect(await page(`/console/webhooks/${path}`)).not.toContain('Test event:')
})
