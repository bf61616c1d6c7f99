import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { until, type RealServer } from './real-server.js'
import type { receiver } from './receiver.js'

// The kill tests of the endpoints share these agents, settings, kills and checks.

const MESSAGES = 8
const KILLS = 5
const ANSWER_LIMIT_MS = 100_000

/** An agent that takes its time. Its first run of the first message waits for a kill. */
export const SLOW_WORKER = `worker: async ({ message, attempt }) => {
    if (attempt === 1 && message.endsWith('-0 0')) await new Promise(() => {})
    await new Promise((resolve) => setTimeout(resolve, 80))
    return 'answer to ' + message
  },`

/** Each kill can interrupt the same message, so its agent needs many attempts. */
export const MANY_ATTEMPTS = { maxAttempts: 100 }

export const SHORT_LEASES = {
  SERVICE_RUN_LEASE_MS: '1000',
  SERVICE_DELIVERY_TIMEOUT_MS: '500',
  SERVICE_DELIVERY_LEASE_MS: '1000',
}

export const textsOf = (session: string): string[] =>
  Array.from({ length: MESSAGES }, (_, n) => `${session} ${n}`)

/** Repeats `ask` until it returns an answer. */
export async function answerOf(text: string, ask: () => Promise<unknown>): Promise<unknown> {
  let answer: unknown
  const isAnswered = await until(async () => {
    answer = await ask().catch(() => undefined)
    return answer !== undefined
  }, ANSWER_LIMIT_MS)
  if (!isAnswered) throw new Error(`${text} was not answered`)
  return answer
}

/** Kills the server first while its agent runs the first message, then at any time. */
export async function killOften(server: RealServer): Promise<void> {
  expect(await until(() => isHeld(server))).toBe(true)
  for (let kill = 0; kill < KILLS; kill++) {
    await delay(Math.random() * 300)
    await server.kill('SIGKILL')
    await server.start()
  }
}

async function isHeld(server: RealServer): Promise<boolean> {
  const { data } = await (await server.api('GET', '/v1/agents/worker/messages?limit=100')).json()
  return (data as Stored[]).some(
    ({ message, attempt }) => message.endsWith('-0 0') && attempt === 1,
  )
}

type Stored = { readonly message: string; readonly status: string; readonly attempt: number }

/** Expects each message of the sessions once, in order and answered, some after a kill. */
export async function expectStoredInOrder(
  server: RealServer,
  sessions: readonly string[],
): Promise<void> {
  const stored = await Promise.all(
    sessions.map(async (session) => {
      const route = `/v1/agents/worker/messages?order=asc&limit=100&sessionId=${session}`
      return ((await (await server.api('GET', route)).json()) as { data: Stored[] }).data
    }),
  )
  expect(stored.map((all) => all.map(({ message }) => message))).toEqual(sessions.map(textsOf))
  expect(new Set(stored.flat().map(({ status }) => status))).toEqual(new Set(['responded']))
  expect(stored.flat().filter(({ attempt }) => attempt > 1)).not.toEqual([])
}

/** Expects one delivery of each message, with the same bytes at each attempt. */
export async function expectReportedOnce(
  { received }: Awaited<ReturnType<typeof receiver>>,
  sessions: readonly string[],
): Promise<void> {
  const count = sessions.length * MESSAGES
  const answers = () => received.map(({ body }) => JSON.parse(body).data.response as string)
  expect(await until(() => new Set(answers()).size === count)).toBe(true)
  const bodies = received.map(({ headers, body }) => [headers['x-service-delivery'], body])
  expect(new Map(bodies as [string, string][]).size).toBe(count)
  expect(new Set(bodies.map(String)).size).toBe(count)
}
