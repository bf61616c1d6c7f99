import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'vitest'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

const CLIENTS = 50

type Load = { readonly sessions: number; readonly messages: number; readonly kills: number }

/** Logs the start and the end of each run. A run lasts while the file `hold` is there. */
const AGENTS = `
import { appendFileSync, existsSync } from 'node:fs'
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const note = (step, { sessionId, message, attempt }) => appendFileSync('runs.log', [step, sessionId, message, attempt].join(' ') + '\\n')
export default { noted: async (request) => {
  note('began', request)
  await wait(Math.random() * 10)
  for (; existsSync('hold'); await wait(5)) appendFileSync('held', '.')
  note('ended', request)
  return 'attempt ' + request.attempt
} }`

type Noted = { readonly step: string; readonly n: number; readonly attempt: number }
type MessagePage = {
  readonly data: readonly {
    readonly messageId: string
    readonly message: string
    readonly response?: string
  }[]
}

/**
 * Fills sessions, kills and restarts the server under this load, and checks that each session stays
 * in order, with one answer per message.
 */
export async function expectOrderOverKills({ sessions, messages, kills }: Load): Promise<void> {
  const env = {
    SERVICE_LOG_LEVEL: 'warn',
    SERVICE_DELIVERY_TIMEOUT_MS: '1000',
    SERVICE_DELIVERY_LEASE_MS: '2000',
  }
  const server = await realServer({
    agents: AGENTS,
    env: { ...env, SERVICE_WEBHOOK_RETRY_SCHEDULE: '1s,1s,1s,1s' },
  })
  const hook = await receiver()
  try {
    await server.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] })
    const runtime = { kind: 'function', handler: 'noted' }
    // Each kill can use up an attempt. The limit of attempts is not under test.
    const agent = {
      name: 'worker',
      runtime,
      desiredState: 'running',
      concurrency: 100,
      maxAttempts: 100,
    }
    expect((await server.api('POST', '/v1/agents', agent)).status).toBe(201)

    let acknowledged = 0
    const sessionIds = Array.from({ length: sessions }, (_, n) => `session-${n}`)
    const waiting = [...sessionIds]
    const clients = Array.from({ length: CLIENTS }, async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
        await fill(server, next, messages, () => acknowledged++)
    })
    for (let kill = 1; kill <= kills; kill++) {
      expect(
        await until(() => acknowledged >= (kill * sessions * messages) / (kills + 1), 60_000),
      ).toBe(true)
      await killDuringARun(server)
      await server.start()
    }
    await Promise.all(clients)
    const openOnes = async () =>
      (
        (await (
          await server.api('GET', '/v1/agents/worker/messages?status=pending')
        ).json()) as MessagePage
      ).data
    expect(await until(async () => (await openOnes()).length === 0)).toBe(true)
    const all = sessions * messages
    expect(
      await until(
        () => hook.received.length >= all && eventsOf(hook.received).size === all,
        60_000,
      ),
    ).toBe(true)

    const noted = await readNotes(path.join(server.folder, 'runs.log'))
    for (const sessionId of sessionIds) {
      const steps = noted.get(sessionId) ?? []
      expect(inversions(steps), sessionId).toEqual([])
      const answers = steps.filter(
        ({ step }, i) => step === 'ended' && steps[i + 1]?.n !== steps[i]?.n,
      )
      const kept = (await (
        await server.api(
          'GET',
          `/v1/agents/worker/messages?sessionId=${sessionId}&order=asc&limit=100`,
        )
      ).json()) as MessagePage
      expect(kept.data.map(({ message, response }) => `${message}: ${response}`)).toEqual(
        answers.map(({ n, attempt }) => `${n}: attempt ${attempt}`),
      )
      expect(answers.map(({ n }) => n)).toEqual(Array.from({ length: messages }, (_, n) => n))
    }
    expect(
      [...noted.values()].flat().some(({ attempt }) => attempt > 1),
      'a kill interrupted a run',
    ).toBe(true)
    for (const [messageId, ids] of eventsOf(hook.received))
      expect(ids.size, `events of ${messageId}`).toBe(1)
  } finally {
    await server.dispose()
    await hook.close()
  }
}

async function killDuringARun(server: RealServer): Promise<void> {
  const hold = path.join(server.folder, 'hold')
  const held = path.join(server.folder, 'held')
  await writeFile(hold, '')
  expect(await until(() => existsSync(held), 60_000), 'a run began').toBe(true)
  await server.kill('SIGKILL')
  for (const file of [hold, held]) await rm(file)
}

/** Sends the messages of a session in order, and repeats each until it is acknowledged. */
async function fill(
  server: RealServer,
  sessionId: string,
  messages: number,
  acknowledge: () => void,
): Promise<void> {
  for (let n = 0; n < messages; n++) {
    const headers = { 'idempotency-key': `${sessionId} ${n}`, prefer: 'respond-async' }
    const isAccepted = () =>
      server
        .api('POST', '/v1/agents/worker/messages', { sessionId, message: String(n) }, headers)
        .then(
          ({ ok }) => ok,
          () => false, // the server was killed
        )
    if (!(await until(isAccepted, 60_000)))
      throw new Error(`message ${n} of ${sessionId} was not accepted`)
    acknowledge()
  }
}

/**
 * Returns the steps that are out of order. A run must follow the end of the previous run, or be
 * another attempt at the same message. Attempt numbers can have gaps, because a kill can come
 * between the claim and the first step of the agent.
 */
function inversions(steps: readonly Noted[]): string[] {
  return steps.flatMap(({ step, n, attempt }, i) => {
    const before = steps[i - 1] ?? { step: 'ended', n: -1, attempt: 0 }
    const isNext = step === 'began' && before.step === 'ended' && n === before.n + 1
    const isAnotherAttempt = step === 'began' && n === before.n && attempt > before.attempt
    const isEnd =
      step === 'ended' && before.step === 'began' && n === before.n && attempt === before.attempt
    return isNext || isAnotherAttempt || isEnd
      ? []
      : [`after ${JSON.stringify(before)}: ${JSON.stringify({ step, n, attempt })}`]
  })
}

async function readNotes(file: string): Promise<Map<string, Noted[]>> {
  const notes = new Map<string, Noted[]>()
  for (const line of (await readFile(file, 'utf8')).trimEnd().split('\n')) {
    const [step = '', sessionId = '', n, attempt] = line.split(' ')
    notes.set(sessionId, [
      ...(notes.get(sessionId) ?? []),
      { step, n: Number(n), attempt: Number(attempt) },
    ])
  }
  return notes
}

/** The ids of the events of each message. A repeated delivery has the same event id. */
function eventsOf(received: readonly { readonly body: string }[]): Map<string, Set<string>> {
  const events = new Map<string, Set<string>>()
  for (const { body } of received) {
    const { id, data } = JSON.parse(body) as { id: string; data: { messageId: string } }
    events.set(data.messageId, (events.get(data.messageId) ?? new Set()).add(id))
  }
  return events
}
