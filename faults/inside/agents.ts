import { randomUUID } from 'node:crypto'
import type { AgentFunction } from '@org/agent-messaging-core'
import { journal } from '../world/journal.js'

const LONGEST_MS = 20
const FAILURES = 0.02

const note = journal(process.env['FAULTS_JOURNAL'] ?? '', `runs-${process.pid}`)

/** Answers after some milliseconds with a text that no other run has; fails now and then. Each beginning and end is written down before anybody else hears of it. */
const work: AgentFunction = async ({ messageId, sessionId, attempt, message }) => {
  const [run, startedAt] = [randomUUID(), Date.now()]
  note({ run, messageId, sessionId, agent: 'worker', attempt, startedAt })
  await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST_MS))
  if (Math.random() < FAILURES) {
    note({ run, endedAt: Date.now() })
    throw new Error('this run was to fail')
  }
  const response = `${message}: ${run}`
  note({ run, endedAt: Date.now(), response })
  return response
}

// oxlint-disable-next-line import/no-default-export -- what `--agents` takes
export default { work }
