import { expect, it, onTestFinished } from 'vitest'
import { testPostgres } from '../../../adapter-postgres/test/test-postgres.js'
import { expectOrderOverKills } from './ordered-sessions.js'
import { surviveKills } from './survive-kills.js'

const timeout = 600_000

it(
  'a server loses nothing over 30 kills at random moments under load (G1-G5)',
  { timeout },
  async () => {
    expect(await surviveKills({ kills: 30, processes: 1 })).toEqual([])
  },
)

it('two processes on PostgreSQL lose nothing over 10 kills (G1-G5)', { timeout }, async () => {
  const postgres = await testPostgres()
  onTestFinished(() => postgres.close())
  const env = { SERVICE_DATABASE_URL: await postgres.database() }
  expect(await surviveKills({ kills: 10, processes: 2, env })).toEqual([])
})

it(
  '500 sessions stay in order over 3 kills, with one answer per message (G1-G5)',
  { timeout },
  () => expectOrderOverKills({ sessions: 500, messages: 20, kills: 3 }),
)
