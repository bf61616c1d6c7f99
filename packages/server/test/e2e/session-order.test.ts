import { it } from 'vitest'
import { expectOrderOverKills } from './ordered-sessions.js'

it(
  '50 sessions stay in order over 2 kills, with one answer per message (G1-G5)',
  { timeout: 240_000 },
  () => expectOrderOverKills({ sessions: 50, messages: 10, kills: 2 }),
)
