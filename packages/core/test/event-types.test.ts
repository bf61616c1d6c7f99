import { expect, it } from 'vitest'
import type { Policy } from '@org/agent-messaging-core'
import { policyOf } from '../src/policy.js'
import { checkTypes } from '../src/webhooks/check-types.js'
import { fakePlatform, aProject } from '@org/agent-messaging-testing'

const NAMES = ['order.paid', 'order.lost']
const events = NAMES.map((type) => ({ type, data: { id: 7 } }))

async function known(policy: Partial<Policy> = { strictEventTypes: true }) {
  const { storage } = fakePlatform()
  const { id } = aProject()
  await storage.credentials.createProject(aProject())
  const reads: string[][] = []
  const { find } = storage.eventTypes
  Object.assign(storage.eventTypes, {
    find: (project: string, names: string[]) => {
      reads.push(names)
      return find(project, names)
    },
  })
  const define = (schema: object) =>
    storage.eventTypes.put(
      id,
      {
        ...{ name: 'order.paid', definedBy: 'project', deprecated: false, visible: false },
        schema: schema as never,
      },
      10,
    )
  return {
    reads,
    define,
    storage,
    check: () => checkTypes({ storage, policy: policyOf(policy) }, id, events, (n) => `${n}.`),
  }
}

it('checks nothing and reads nothing unless the catalogue is strict', async () => {
  const { check, reads } = await known({})
  expect((await check()).isOk()).toBe(true)
  expect(reads).toEqual([])
})

it('names each event of a wrong type or with wrong data, by the present catalogue', async () => {
  const { check, define, reads } = await known()
  const unknown = { message: 'is not in the catalogue of event types' }
  const issues = async () => (await check())._unsafeUnwrapErr()
  await define({ required: ['total'] })
  expect(await issues()).toEqual({
    kind: 'invalid',
    issues: [
      { path: '0.data', message: expect.stringContaining('"total"') },
      { path: '1.type', ...unknown },
    ],
  })
  await define({})
  expect(await issues()).toMatchObject({ issues: [{ path: '1.type' }] })
  expect(reads).toEqual([NAMES, NAMES])
})

it('is unavailable with the storage', async () => {
  const { check, storage } = await known()
  storage.fail('eventTypes.find')
  expect((await check())._unsafeUnwrapErr().kind).toBe('unavailable')
})
