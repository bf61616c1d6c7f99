import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { TASKS, withCodex } from './main.mjs'

await withCodex(async ({ give, workspace }) => {
  const [inside, outside] = TASKS
  assert.equal((await give(inside)).response, 'I wrote the file.')
  assert.equal(readFileSync(path.join(workspace, 'hello.txt'), 'utf8'), 'Hello\n')
  const refused = await give(outside)
  assert.equal(refused.state, 'failed')
  assert.equal(refused.error.message, 'the agent cancelled its turn')
  assert.ok(!existsSync(path.join(workspace, '../outside.txt')))
})
console.log('Codex writes a file in its folder. The service refuses a file outside of it.')
