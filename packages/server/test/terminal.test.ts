import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../scripts/test-needs.js'
import { ENV, SLOWLY } from './command-line.js'
import { CLI, createSandbox, type Sandbox } from './sandbox.js'

const CLEAR = '\u001B[2J'

let sandbox: Sandbox
beforeEach(() => {
  sandbox = createSandbox()
})
afterEach(() => sandbox.dispose())

describe('terminal output', SLOWLY, () => {
  it('of an error has no control characters', async () => {
    const program = sandbox.cli(['backup', 'copy.db'], {
      ...ENV,
      SERVICE_DATABASE_URL: `file:x${CLEAR}`,
    })
    expect([await program.ended, program.stderr()]).toEqual([1, expect.stringContaining('x [2J')])
    expect(program.stderr()).not.toContain(CLEAR)
  })

  it('of a receiver contains its URL and no control characters', async () => {
    const program = sandbox.cli(['listen', '--port', '0'])
    const url = await program.find(/http:\S+/)
    expect((await fetch(url, { method: 'POST', body: `a${CLEAR}` })).status).toBe(200)
    expect(await program.find(/\na .*\n/)).toBe('\na [2J\n')
  })

  it('reports on stderr that stdout cannot be written', needs('fullDevice'), async () => {
    const program = sandbox.run('bash', [
      '-c',
      'exec "$0" "$1" config > /dev/full',
      process.execPath,
      CLI,
    ])
    const said = 'cannot write the output: ENOSPC: no space left on device, write\n'
    expect([await program.ended, program.stderr()]).toEqual([1, said])
  })

  it('can be cut off by its reader', async () => {
    const program = sandbox.run('bash', [
      '-c',
      'set -o pipefail; "$0" "$1" config --env 2>&1 | head -1',
      process.execPath,
      CLI,
    ])
    expect([await program.ended, program.stdout().split('\n').length]).toEqual([0, 2])
  })
})
