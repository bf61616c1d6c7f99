import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { realServer, until, type RealServer } from './real-server.js'

const SESSIONS = 500
const PER_SESSION = 20
const CRASHES = 3

/** Each run leaves a line when it begins, and one when it ends, in a file beside the database. */
const AGENTS = `
import { appendFileSync } from 'node:fs'
const note = (what, { sessionId, message }) => appendFileSync('runs', what + ' ' + sessionId + ' ' + message + '\\n')
export default { note: async (request) => {
  note('begins', request)
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
  note('ends', request)
  return 're: ' + request.message
} }`

/** A session's caller: sends one message after the other without waiting for answers, each again until it was accepted. */
async function caller(server: RealServer, sessionId: string, onAccepted: () => void): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < PER_SESSION) {
    const headers = { 'idempotency-key': `${sessionId}-${ids.length}`, prefer: 'respond-async' }
    const body = { sessionId, message: String(ids.length) }
    const response = await server.api('POST', '/v1/agents/worker/messages', body, headers).catch(() => undefined)
    const sent = response?.ok ? ((await response.json().catch(() => undefined)) as { messageId: string } | undefined) : undefined
    if (sent) {
      ids.push(sent.messageId)
      onAccepted()
    } else await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return ids
}

/** What is wrong with the order in which runs began and ended. A crash may run the last one again, and nothing else may. */
function disorderIn(lines: readonly string[]): string[] {
  const latest = new Map<string, { readonly message: number; readonly hasEnded: boolean }>()
  return lines.filter((line) => {
    const [what, sessionId = '', text] = line.split(' ')
    const message = Number(text)
    const before = latest.get(sessionId) ?? { message: -1, hasEnded: true }
    latest.set(sessionId, { message, hasEnded: what === 'ends' })
    const isNext = message === before.message + 1 && before.hasEnded
    return what === 'begins' ? !isNext && message !== before.message : message !== before.message || before.hasEnded
  })
}

it('finds disorder where there is some', () => {
  expect(disorderIn(['begins s 0', 'begins t 0', 'begins s 0', 'ends s 0', 'begins s 0', 'ends s 0', 'begins s 1'])).toEqual([])
  expect(disorderIn(['begins s 1'])).toEqual(['begins s 1'])
  expect(disorderIn(['begins s 0', 'begins s 1'])).toEqual(['begins s 1'])
  expect(disorderIn(['begins s 0', 'ends s 0', 'begins s 1', 'ends s 1', 'begins s 0'])).toEqual(['begins s 0'])
})

it(
  `${SESSIONS} sessions of ${PER_SESSION} messages keep their order over ${CRASHES} crashes, with one answer each (G2, G5)`,
  { timeout: 240_000 },
  async () => {
    const agentsFile = path.join(tmpdir(), `order-${process.pid}.mjs`)
    await writeFile(agentsFile, AGENTS)
    const server = await realServer({ args: ['--agents', agentsFile], env: { SERVICE_LOG_LEVEL: 'warn' } })
    try {
      const agent = {
        name: 'worker',
        runtime: { kind: 'function', handler: 'note' },
        desiredState: 'running',
        concurrency: 64,
        maxAttempts: 10,
      }
      expect((await server.api('POST', '/v1/agents', agent)).status).toBe(201)
      let accepted = 0
      const callers = Array.from({ length: SESSIONS }, (_, n) => caller(server, `s${n}`, () => accepted++))
      for (let crash = 1; crash <= CRASHES; crash++) {
        const share = (SESSIONS * PER_SESSION * crash) / (CRASHES + 1)
        expect(await until(() => accepted > share, 60_000)).toBe(true)
        await server.kill('SIGKILL')
        await server.start()
      }
      const sent = await Promise.all(callers)

      const list = async (query: string) =>
        ((await (await server.api('GET', `/v1/agents/worker/messages?limit=100${query}`)).json()) as { data: Record<string, unknown>[] })
          .data
      expect(await until(async () => (await list('&status=pending')).length === 0, 60_000)).toBe(true)
      for (const [n, ids] of sent.entries()) {
        const messages = await list(`&sessionId=s${n}&order=asc`)
        expect(messages.map(({ messageId, response }) => [messageId, response])).toEqual(ids.map((id, index) => [id, `re: ${index}`]))
      }
      expect(disorderIn(readFileSync(path.join(server.folder, 'runs'), 'utf8').trim().split('\n'))).toEqual([])
    } finally {
      await server.dispose()
    }
  },
)
