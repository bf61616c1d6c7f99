import type { Dice } from '@org/agent-messaging-testing'
import { request } from './api.js'
import type { ServerProcess } from './server-process.js'
import { CRON_SECRET, rules } from './settings.js'
import { sleep } from './until.js'

/** Injects a fault into a server and repairs it. Returns undefined if the fault did not happen. */
export type Inject = (
  server: ServerProcess,
  dice: Dice,
) => Promise<
  | { readonly kind: string; readonly at: number; readonly until?: number; readonly byMs?: number }
  | undefined
>

/** Points around commits and requests. */
const POINTS = [
  'before accept',
  'after accept',
  'before publish',
  'after publish',
  'after claimRunnable',
  'before recordRun',
  'after recordRun',
  'after defer',
  'after claimDue',
  'before send',
  'after send',
  'before recordAttempts',
  'after recordAttempts',
] as const
const PURGE_POINTS = ['before purge', 'after purge'] as const
const REACHED_WITHIN_MS = 4_000
const MAX_TIMES = 20
/** The harness notices the end of a server at most this much later. */
const CHECK_EVERY_MS = 100

const kill: Inject = async (server, dice) => {
  await sleep(dice.below(300))
  const at = Date.now()
  await server.kill('SIGKILL')
  const until = Date.now()
  await server.start()
  return { kind: 'kill', at, until }
}

const killAt =
  (points: readonly string[], provoke?: (server: ServerProcess) => void): Inject =>
  async (server, dice) => {
    const point = dice.oneOf(points)
    server.send({ arm: { point, times: provoke ? 1 : 1 + dice.below(MAX_TIMES) } })
    provoke?.(server)
    if (!(await server.ended(REACHED_WITHIN_MS))) {
      server.send({ arm: { point: 'nowhere', times: 1 } })
      return undefined
    }
    const until = Date.now()
    await server.start()
    return { kind: `kill ${point}`, at: until - CHECK_EVERY_MS, until }
  }

const sigterm: Inject = async (server, dice) => {
  await sleep(dice.below(300))
  const at = Date.now()
  await server.kill('SIGTERM')
  const until = Date.now()
  await server.start()
  return { kind: 'SIGTERM', at, until }
}

/** Stops a server until its leases have expired. */
const sigstop: Inject = async (server, dice) => {
  const at = Date.now()
  server.signal('SIGSTOP')
  await sleep(2 * rules.runLeaseMs + dice.below(1_000))
  server.signal('SIGCONT')
  return { kind: 'SIGSTOP', at }
}

const FURTHEST_JUMP_MS = 8_000
const clock: Inject = async (server, dice) => {
  const at = Date.now()
  const byMs = dice.below(2 * FURTHEST_JUMP_MS) - FURTHEST_JUMP_MS
  server.send({ clockOffsetMs: byMs })
  await sleep(500 + dice.below(2_000))
  server.send({ clockOffsetMs: 0 })
  return { kind: 'clock', at, byMs }
}

const CRON_CALLS = 20
const cron: Inject = async (server) => {
  const at = Date.now()
  await Promise.all(Array.from({ length: CRON_CALLS }, () => callCron(server)))
  return { kind: 'cron', at }
}

async function callCron({ url }: ServerProcess): Promise<void> {
  const call = request(url, 'POST', '/api/cron/webhooks', undefined, {
    authorization: `Bearer ${CRON_SECRET}`,
  })
  await call.then((response) => response.text()).catch(() => undefined)
}

export const processFaults: Readonly<Record<string, Inject>> = {
  kill,
  sigterm,
  sigstop,
  clock,
  cron,
  'kill-at': killAt(POINTS),
  // Each call of the cron route purges, which the server does rarely.
  purge: killAt(PURGE_POINTS, (server) => void callCron(server)),
}
