import { randomUUID } from 'node:crypto'
import type { AgentFunction } from '@org/agent-messaging-core'
import { journal } from '../harness/journal.js'

const LONGEST_MS = 20
const FAILURES = 0.02

const note = journal(process.env['FAULTS_JOURNAL'] ?? '', `runs-${process.pid}`)

/**
 * Answers after some milliseconds with a unique text, or fails. Writes its start and its end to the
 * journal first.
 */
const work: AgentFunction = async ({ messageId, sessionId, attempt, message }) => {
  const run = randomUUID()
  const startedAt = Date.now()
  note({ run, messageId, sessionId, agent: 'worker', attempt, startedAt })
  await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST_MS))
  if (Math.random() < FAILURES) {
    note({ run, endedAt: Date.now() })
    throw new Error('this run fails on purpose')
  }
  const response = `${message}: ${run}`
  note({ run, endedAt: Date.now(), response })
  return response
}

/** Asks twice, and answers with both answers. Each answer names its question. */
const asker: AgentFunction = async ({ message, ask }) => {
  const first = await ask(`${message} 1`)
  return `${first}, ${await ask(`${message} 2`)}`
}

// oxlint-disable-next-line import/no-default-export -- `--agents` needs a default export
export default { work, asker }
