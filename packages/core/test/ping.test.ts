import { createService } from '@org/agent-messaging-core'
import { success, failure } from '@org/agent-messaging-core/runtime'
import { fakePlatform } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'

it('a ping asks the storage once for all concurrent callers, and once more for a later caller', async () => {
  const platform = fakePlatform()
  const answers = [
    Promise.resolve(success(undefined)),
    Promise.resolve(failure({ kind: 'unavailable', reason: 'away' } as const)),
    Promise.resolve(success(undefined)),
  ]
  let asked = 0
  const storage = { ...platform.storage, ping: () => answers[asked++] ?? platform.storage.ping() }
  const { ping } = createService({ ...platform, storage }).host
  const together = async () =>
    (await Promise.allSettled([ping(), ping(), ping()])).map(({ status }) => status === 'fulfilled')
  expect([await together(), asked]).toEqual([[true, true, true], 1])
  expect([await together(), asked]).toEqual([[false, false, false], 2])
  expect([await together(), asked]).toEqual([[true, true, true], 3])
})
