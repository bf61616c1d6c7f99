import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../scripts/test-needs.js'
import { ENV, SLOWLY } from './command-line.js'
import { CLI, workshop, type Workshop } from './workshop.js'

const CLEAR = '\u001B[2J'

let shop: Workshop
beforeEach(() => {
  shop = workshop()
})
afterEach(() => shop.dispose())

describe('the terminal', SLOWLY, () => {
  it('is driven by no error, whoever has a part in its words', async () => {
    const program = shop.cli(['backup', 'copy.db'], {
      ...ENV,
      SERVICE_DATABASE_URL: `file:x${CLEAR}`,
    })
    expect([await program.ended, program.stderr()]).toEqual([1, expect.stringContaining('x [2J')])
    expect(program.stderr()).not.toContain(CLEAR)
  })

  it('shows where a receiver listens, on whichever port', async () => {
    const program = shop.cli(['listen', '--port', '0'])
    const url = await program.find(/http:\S+/)
    expect((await fetch(url, { method: 'POST', body: `a${CLEAR}` })).status).toBe(200)
    expect(await program.find(/\na .*\n/)).toBe('\na [2J\n')
  })

  it('is told in a line that what was asked for found no room', needs('fullDevice'), async () => {
    const program = shop.run('bash', [
      '-c',
      'exec "$0" "$1" config > /dev/full',
      process.execPath,
      CLI,
    ])
    const said = 'what was asked for cannot be written: ENOSPC: no space left on device, write\n'
    expect([await program.ended, program.stderr()]).toEqual([1, said])
  })

  it('may stop reading', async () => {
    const program = shop.run('bash', [
      '-c',
      'set -o pipefail; "$0" "$1" config --env 2>&1 | head -1',
      process.execPath,
      CLI,
    ])
    expect([await program.ended, program.stdout().split('\n').length]).toEqual([0, 2])
  })
})
