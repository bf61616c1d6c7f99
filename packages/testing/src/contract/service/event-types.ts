import { expect } from 'vitest'
import type { EventType } from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { NOW, OTHER_PROJECT_ID, UNKNOWN_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const aType = (type: Partial<EventType> = {}): EventType => ({
  name: 'order.paid',
  definedBy: 'project',
  deprecated: false,
  visible: true,
  createdAt: NOW,
  updatedAt: NOW,
  ...type,
})
const ofAll = (type: Partial<EventType> = {}) => aType({ definedBy: 'installation', ...type })
const full = aType({
  description: 'Zoë paid',
  group: 'Orders',
  schema: { type: 'object', required: ['id'] },
  example: { id: 'é' },
  deprecated: true,
  visible: false,
})

export function eventTypesSuite(it: StorageTest): void {
  it('keeps a type, reads it back whole, and lists it without schema and example', async ({
    storage: { eventTypes },
    second,
  }) => {
    const { schema: _, example, ...listed } = full
    expect(await eventTypes.put(PROJECT_ID, full, 10)).toEqual(full)
    expect(await second.eventTypes.find(PROJECT_ID, ['order.paid', 'order.lost'])).toEqual([full])
    expect(await eventTypes.list(PROJECT_ID)).toEqual([{ ...listed, hasExample: true }])
    expect(await eventTypes.list(OTHER_PROJECT_ID)).toEqual([])
    expect(await eventTypes.find(OTHER_PROJECT_ID, ['order.paid'])).toEqual([])
    expect(example).toBeDefined()
  })

  it('replaces a type and keeps the time of its creation', async ({ storage: { eventTypes } }) => {
    await eventTypes.put(PROJECT_ID, full, 1)
    const later = aType({ createdAt: NOW + 5, updatedAt: NOW + 5 })
    const expected = { ...later, createdAt: NOW }
    expect(await eventTypes.put(PROJECT_ID, later, 1)).toEqual(expected)
    expect(await eventTypes.find(PROJECT_ID, ['order.paid'])).toEqual([expected])
  })

  it('limits the types of a project, and refuses a project that is not there', async ({
    storage: { eventTypes },
  }) => {
    expect(await eventTypes.put(UNKNOWN_ID, aType(), 10)).toBe('project_not_found')
    await eventTypes.put(PROJECT_ID, aType(), 1)
    expect(await eventTypes.put(PROJECT_ID, aType({ name: 'b.c' }), 1)).toBe('limit_reached')
    expect(await eventTypes.put(OTHER_PROJECT_ID, aType(), 1)).toEqual(aType())
    expect(await eventTypes.put(undefined, ofAll({ name: 'b.c' }), 1)).toMatchObject({
      name: 'b.c',
    })
    expect(await eventTypes.put(undefined, ofAll({ name: 'd.e' }), 1)).toBe('limit_reached')
  })

  it("shows the installation's types to all projects, and none hides them", async ({
    storage: { eventTypes },
    second,
  }) => {
    await eventTypes.put(PROJECT_ID, aType({ name: 'b.own' }), 10)
    await eventTypes.put(PROJECT_ID, aType({ name: 'a.both' }), 10)
    await eventTypes.put(undefined, ofAll({ name: 'a.both' }), 10)
    await eventTypes.put(undefined, ofAll({ name: 'c.all' }), 10)
    expect(await eventTypes.put(PROJECT_ID, aType({ name: 'c.all' }), 10)).toBe('name_taken')
    const names = async (project: string | undefined) =>
      (await second.eventTypes.list(project)).map((one) => `${one.name} ${one.definedBy}`)
    expect(await names(PROJECT_ID)).toEqual([
      'a.both installation',
      'b.own project',
      'c.all installation',
    ])
    expect(await names(undefined)).toEqual(['a.both installation', 'c.all installation'])
    expect(await eventTypes.find(PROJECT_ID, ['a.both'])).toEqual([ofAll({ name: 'a.both' })])
    expect(await eventTypes.delete(undefined, 'a.both')).toBe(true)
    expect(await eventTypes.find(PROJECT_ID, ['a.both'])).toEqual([aType({ name: 'a.both' })])
  })

  it('deletes only a type of the project', async ({ storage: { eventTypes } }) => {
    await eventTypes.put(PROJECT_ID, aType(), 10)
    expect(await eventTypes.delete(OTHER_PROJECT_ID, 'order.paid')).toBe(false)
    expect(await eventTypes.delete(undefined, 'order.paid')).toBe(false)
    expect(await eventTypes.delete(PROJECT_ID, 'order.paid')).toBe(true)
    expect(await eventTypes.delete(PROJECT_ID, 'order.paid')).toBe(false)
    expect(await eventTypes.list(PROJECT_ID)).toEqual([])
  })
}
