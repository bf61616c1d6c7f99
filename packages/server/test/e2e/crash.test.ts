import { expect, it } from 'vitest'
import { surviveKills } from './survive-kills.js'

it(
  'a server loses nothing over 6 kills at random moments under load (G1-G5)',
  { timeout: 240_000 },
  async () => {
    expect(await surviveKills({ kills: 6, processes: 1 })).toEqual([])
  },
)
