import { test, type TestAPI } from 'vitest'
import type { Storage } from '@org/agent-messaging-core/storage'
import { createScene, type Scene } from './scene.js'
import { unwrapped, type UnwrappedStorage } from './unwrapped.js'

export type StorageUnderTest = {
  readonly storage: Storage
  /** Opens another instance on the same data, for the tests that need two. */
  readonly openSecond?: () => Promise<Storage>
  /** Closes and removes all of it. A test can have closed `storage` before. */
  close(): Promise<void>
}

/** Opens an empty storage. */
export type OpenStorage = () => Promise<StorageUnderTest>

/** `instances` are `storage` and, if the adapter can open it, a second one on the same data. */
type Fixtures = {
  readonly opened: StorageUnderTest
  readonly instances: readonly [Storage, ...Storage[]]
  readonly storage: UnwrappedStorage
  /** The second instance, or `storage` if there is none. */
  readonly second: UnwrappedStorage
  readonly scene: Scene
}

export type StorageTest = TestAPI<Fixtures>

/** vitest's `test`, with a separate storage for each. */
export const storageTest = (open: OpenStorage): StorageTest =>
  test.extend<Fixtures>({
    // oxlint-disable-next-line no-empty-pattern -- vitest reads a fixture's needs from this pattern
    opened: async ({}, use) => {
      const opened = await open()
      await use(opened)
      await opened.close()
    },
    storage: async ({ opened }, use) => use(unwrapped(opened.storage)),
    instances: async ({ opened: { storage, openSecond } }, use) =>
      use(openSecond ? [storage, await openSecond()] : [storage]),
    second: async ({ instances }, use) => use(unwrapped(instances.at(-1) ?? instances[0])),
    // Made for every test, whether it asks or not: the projects that rows belong to come with it.
    scene: [async ({ storage }, use) => use(await createScene(storage)), { auto: true }],
  })
