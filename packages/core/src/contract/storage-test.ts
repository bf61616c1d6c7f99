import { test, type TestAPI } from 'vitest'
import type { Storage } from '../ports/storage.js'
import { createScene, type Scene } from './scene.js'
import { unwrapped, type UnwrappedStorage } from './unwrapped.js'

export type StorageUnderTest = {
  readonly storage: Storage
  /** Another instance on the same data. */
  readonly second?: Storage
  /** Closes and removes all of it. A test can have closed `storage` before. */
  close(): Promise<void>
}

/** Opens an empty storage. */
export type OpenStorage = () => Promise<StorageUnderTest>

/** `second` is `storage` itself where the adapter has no other. */
type Fixtures = {
  readonly opened: StorageUnderTest
  readonly storage: UnwrappedStorage
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
    second: async ({ opened }, use) => use(unwrapped(opened.second ?? opened.storage)),
    // Made for every test, whether it asks or not: the projects that rows belong to come with it.
    scene: [async ({ storage }, use) => use(await createScene(storage)), { auto: true }],
  })
