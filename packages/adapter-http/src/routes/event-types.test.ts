import { describe, expect, it } from 'vitest'
import { openScene } from '../../test/scene.js'

const OPERATOR_KEY = 'operator-key-of-this-test'
const open = () => openScene({ http: { operatorKey: OPERATOR_KEY } })
const PATH = '/v1/event-types/order.paid'
const OF_ALL = '/v1/operator/event-types/order.paid'
const paid = {
  description: 'A customer paid',
  group: 'Orders',
  schema: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
  example: { id: 'o-17' },
  visible: true,
}
const shown = {
  ...paid,
  name: 'order.paid',
  definedBy: 'project',
  deprecated: false,
  createdAt: '2030-01-01T00:00:00.000Z',
  updatedAt: '2030-01-01T00:00:00.000Z',
}

describe('an event type of a project', () => {
  it('is defined, read, listed after our own, replaced and deleted', async () => {
    const { ask, otherKey } = await open()
    const put = await ask('PUT', PATH, { body: paid })
    expect([put.status, put.json]).toEqual([200, shown])
    expect((await ask('GET', PATH)).json).toEqual(shown)
    const { schema: _, example: __, ...row } = shown
    const { json } = await ask('GET', '/v1/event-types')
    expect(json.data.at(-1)).toEqual({ ...row, hasExample: true })
    expect(json.data[0]).toMatchObject({ name: 'message.responded', definedBy: 'service' })
    expect(json.nextCursor).toBeNull()
    expect((await ask('GET', PATH, { key: otherKey })).status).toBe(404)
    const replaced = await ask('PUT', PATH, { body: { deprecated: true, group: null } })
    const { createdAt, updatedAt } = shown
    expect(replaced.json).toEqual({
      name: 'order.paid',
      definedBy: 'project',
      deprecated: true,
      visible: false,
      createdAt,
      updatedAt,
    })
    expect((await ask('DELETE', PATH)).status).toBe(204)
    expect((await ask('DELETE', PATH)).status).toBe(404)
    const { data } = (await ask('GET', '/v1/audit-log')).json
    expect(data.map((entry: { action: string }) => entry.action).slice(0, 3)).toEqual([
      'event_type.deleted',
      'event_type.saved',
      'event_type.saved',
    ])
    expect(data[1]).toMatchObject({
      targetId: 'order.paid',
      changes: { deprecated: { from: false, to: true }, visible: { from: true, to: false } },
    })
  })

  it.each([
    ['order.paid', { example: { id: 7 }, schema: paid.schema }, 'example.id'],
    ['order.paid', { schema: { $ref: '#' } }, 'schema'],
    ['order.paid', { example: [] }, 'example'],
    ['order.paid', { visible: 'yes' }, 'visible'],
    ['order', {}, 'name'],
    ['message.responded', {}, 'name'],
  ])('%s %j is refused', async (name, body, path) => {
    const { ask } = await open()
    const { status, json } = await ask('PUT', `/v1/event-types/${name}`, { body })
    expect([status, json.error.issues]).toEqual([400, [expect.objectContaining({ path })]])
  })

  it('needs project:types to write, and one of four permissions to read', async () => {
    const { ask, keyWith } = await open()
    await ask('PUT', PATH, { body: paid })
    const statusOf = async (
      permission: 'project:types' | 'project:webhooks' | 'project:agents',
    ) => {
      const { key } = await keyWith([permission])
      const put = await ask('PUT', PATH, { key, body: paid })
      return [put.status, (await ask('GET', PATH, { key })).status]
    }
    expect(await statusOf('project:types')).toEqual([200, 200])
    expect(await statusOf('project:webhooks')).toEqual([403, 200])
    expect(await statusOf('project:agents')).toEqual([403, 403])
  })
})

describe('an event type of the installation', () => {
  it('is written with the operator key, and seen by all projects', async () => {
    const { ask, otherKey } = await open()
    const asOperator = (method: string, path = OF_ALL, body?: object) =>
      ask(method, path, { key: OPERATOR_KEY, body })
    expect((await ask('PUT', OF_ALL, { body: paid })).status).toBe(401)
    expect((await asOperator('PUT', OF_ALL, paid)).json).toMatchObject({
      definedBy: 'installation',
    })
    const ofAll = { ...shown, definedBy: 'installation' }
    expect((await ask('GET', PATH, { key: otherKey })).json).toEqual(ofAll)
    expect((await asOperator('GET')).json).toEqual(ofAll)
    const refused = await ask('PUT', PATH, { body: {} })
    expect([refused.status, refused.json.error.message]).toEqual([
      409,
      'The installation has an event type with this name',
    ])
    expect((await ask('DELETE', PATH)).status).toBe(404)
    const { data } = (await asOperator('GET', '/v1/operator/event-types')).json
    expect(data.at(-1)).toMatchObject({ name: 'order.paid' })
    expect((await asOperator('DELETE')).status).toBe(204)
  })

  it('counts if a project has the name already', async () => {
    const { ask } = await open()
    await ask('PUT', PATH, { body: { description: 'ours' } })
    await ask('PUT', OF_ALL, { key: OPERATOR_KEY, body: paid })
    expect((await ask('GET', PATH)).json).toMatchObject({ description: 'A customer paid' })
    expect((await ask('DELETE', PATH)).status).toBe(204)
  })
})

describe('a test event of a type', () => {
  it('sends the example to the webhook', async () => {
    const { ask, service, project } = await open()
    await ask('PUT', PATH, { body: paid })
    await ask('PUT', '/v1/event-types/order.bare', { body: {} })
    const webhook = { url: 'https://example.com/hook', events: ['order.*'] }
    const { id } = (await ask('POST', '/v1/webhooks', { body: webhook })).json
    const test = (event: string) => ask('POST', `/v1/webhooks/${id}/test`, { body: { event } })
    const sent = await test('order.paid')
    expect([sent.status, sent.json.event]).toEqual([202, 'order.paid'])
    const ref = { projectId: project.id, deliveryId: sent.json.id }
    expect(JSON.parse((await service.deliveries.get(ref)).body)).toMatchObject({
      event: 'order.paid',
      data: { id: 'o-17' },
    })
    for (const event of ['order.bare', 'order.lost', 'order'])
      expect((await test(event)).json.error.issues).toMatchObject([{ path: 'event' }])
  })
})
