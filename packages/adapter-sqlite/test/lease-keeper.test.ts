import { once } from 'node:events'
import { expect, it } from 'vitest'
import { openSqliteStorage } from '../src/index.js'
import { start } from './process.js'
import { tempFile } from './temp-file.js'

it('a lease keeper does not keep its process alive', async () => {
  const path = tempFile()
  const storage = openSqliteStorage({ path })
  const [code] = await once(start(new URL('hold-and-end.mjs', import.meta.url), path), 'exit')
  expect(code).toBe(0)
  await storage.close()
})
