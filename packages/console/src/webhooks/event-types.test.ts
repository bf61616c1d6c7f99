import { expect, it } from 'vitest'
import { cookieOf, ORIGIN, scene } from '../../test/scene.js'

const ticked = (page: string) =>
  [...page.matchAll(/name="events" value="([^"]+)"( checked)?/g)].map(
    ([, event, checked]) => `${event}${checked ?? ''}`,
  )

/** A project with the types `order.paid`, `order.lost` and the hidden `stock.low`. */
async function catalogue(portal = {}) {
  const s = await scene({ portal })
  const { service, projectId } = s
  const define = (name: string, settings: object) =>
    service.eventTypes.put({ projectId, name, ...settings })
  const schema = { required: ['orderId'] }
  await define('order.paid', {
    description: 'A customer <paid>',
    group: 'Orders',
    schema,
    example: { orderId: 'o-17' },
    visible: true,
  })
  await define('order.lost', { visible: true, deprecated: true })
  await define('stock.low', { description: 'Secret', example: {} })
  const { code } = await service.portals.create({ projectId })
  const customer = cookieOf(await s.get(`/console/portal?code=${code}`))
  const staff = await s.signIn()
  const create = async (events: readonly string[]) => {
    const url = 'https://crm.example/'
    const { webhook } = await service.webhooks.create({ projectId, url, events })
    const path = `/console/webhooks/${webhook.id}`
    const save = async (cookie: string, fields: readonly (readonly [string, string])[]) => {
      const body = new URLSearchParams([['url', url], ...fields.map(([a, b]) => [a, b])])
      const headers = { origin: ORIGIN, cookie }
      const sent = new Request(`${ORIGIN}${path}/edit`, { method: 'POST', headers, body })
      await s.pages.fetch(sent)
      return (await service.webhooks.get({ projectId, webhookId: webhook.id })).events
    }
    return { path, save }
  }
  const page = async (path: string, cookie: string) => (await s.get(path, cookie)).text()
  const send = (path: string, form: Record<string, string>, cookie: string) =>
    s.post(path, form, { origin: ORIGIN, cookie })
  return { ...s, customer, staff, create, page, send }
}
const chosen = (...events: string[]) => events.map((event) => ['events', event] as const)

it('a customer chooses among the visible types and whole groups', async () => {
  const { customer, create, page } = await catalogue({ events: ['message.responded'] })
  const { path, save } = await create(['order.paid', 'stock.low', 'stock.*'])
  expect(ticked(await page(`${path}/edit`, customer))).toEqual([
    'order.*',
    'message.responded',
    'order.lost',
    'order.paid checked',
  ])
  expect(await save(customer, [...chosen('order.*', 'stock.low'), ['otherEvents', '*']])).toEqual([
    'order.*',
    'stock.low',
    'stock.*',
  ])
})

it('a customer keeps a wider subscription only while all of its events are ticked', async () => {
  const { customer, create, page, service, projectId } = await catalogue()
  await service.eventTypes.put({ projectId, name: 'order.secret' })
  const { path, save } = await create(['order.*'])
  const all = chosen('order.paid', 'order.lost')
  const shown = ticked(await page(`${path}/edit`, customer))
  expect(shown.slice(-2)).toEqual(['order.lost checked', 'order.paid checked'])
  expect(await save(customer, all)).toEqual(['order.*'])
  expect(await save(customer, chosen('order.lost'))).toEqual(['order.lost'])
})

it('a customer reads a visible type, and sends its example', async () => {
  const { customer, create, page, send, service, projectId } = await catalogue()
  const read = await page('/console/webhooks/events/order.paid', customer)
  for (const text of ['A customer &lt;paid&gt;', 'o-17', 'required', 'Orders'])
    expect(read).toContain(text)
  const list = await page('/console/webhooks/events', customer)
  expect(list).toContain('deprecated')
  expect(list).not.toContain('stock.low')
  expect(await page('/console/webhooks/events/stock.low', customer)).toContain('No such event type')
  const { path } = await create(['order.*'])
  const events = async (event: string) => {
    await send(`${path}/test`, { event }, customer)
    const { data } = await service.deliveries.list({ projectId })
    return data[0]?.event
  }
  expect(await events('order.paid')).toBe('order.paid')
  expect(await events('stock.low')).toBe('webhook.test')
})

it('the form of the console loses no name without a checkbox', async () => {
  const { staff, create, page } = await catalogue()
  const { path, save } = await create(['order.paid', 'invoice.*', 'cart.left'])
  const form = await page(`${path}/edit`, staff)
  expect(form).toContain('invoice.*\ncart.left</textarea>')
  expect(ticked(form)).toContain('stock.low')
  const others = ['otherEvents', 'invoice.* cart.left,a.b'] as const
  expect(await save(staff, [...chosen('order.paid'), others])).toEqual([
    'order.paid',
    'invoice.*',
    'cart.left',
    'a.b',
  ])
})

it('a customer sees the events that it can subscribe to, and why a webhook has none', async () => {
  const given = await catalogue({ events: ['message.responded'] })
  const { customer, staff, create, get, page, service, projectId } = given
  await create(['order.lost'])
  for (const [id, type] of [
    ['o 1/<b>', 'order.paid'],
    ['s-1', 'stock.low'],
  ] as const)
    await service.events.publish({ projectId, type, data: { note: '<i>' }, id })
  const path = `/console/events/${encodeURIComponent('o 1/<b>')}`
  const list = await page('/console/events', customer)
  expect(list).toContain(`href="${path}"`)
  expect(list).not.toContain('stock.low')
  expect(await page('/console/events', staff)).toContain('stock.low')
  expect(await page('/console/events?type=stock.*', customer)).toContain('No event matches')
  expect(await page('/console/events?type=order.*&published=yes', customer)).toContain(path)
  const shown = await page(path, customer)
  expect(shown).toContain('does not subscribe to order.paid. It subscribes to order.lost.')
  expect(shown).toContain('No webhook has a delivery of this event.')
  expect(shown).not.toContain('<i>')
  expect((await get('/console/events/s-1', customer)).status).toBe(404)
  expect((await get('/console/events/s-1', staff)).status).toBe(200)
  expect((await get('/console/events/unknown', staff)).status).toBe(404)
})
