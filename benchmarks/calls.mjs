// Prints the CPU time of the calls of a message's path on PostgreSQL, alone and in groups of 64:
//   npm run build && node benchmarks/calls.mjs
import { randomUUID } from 'node:crypto'
import { openPostgresStorage } from '@org/agent-messaging-adapter-postgres'
import {
  accepted,
  anAgent,
  anEvent,
  aProject,
  aWebhook,
  newMessage,
  unwrap,
} from '@org/agent-messaging-testing'
import { cleanUp, databaseMicros, inEnvironment } from './environment.mjs'
import { median } from './rows/figures.mjs'

const ROUNDS = 5
/** Messages of a round, by the size of the groups. */
const MESSAGES = { 1: 500, 64: 6_400 }
const CALLS = {
  accept: 'Accept (`accept_messages`)',
  settle: 'Settle a run with its event and one delivery (`settle_runs`)',
  claim: 'Claim a delivery (`due_webhooks`, `claim_deliveries`)',
  record: 'Record an attempt (`record_attempts`)',
}
const NOW = Date.now()
const UNTIL = NOW + 3_600_000
const agent = anAgent()

let made = 0
/** An id that sorts behind the earlier ones, as UUIDv7 does. */
const nextId = () => `${(NOW + made++).toString(16).padStart(12, '0')}-${randomUUID()}`

const draft = () =>
  newMessage(agent, {
    id: nextId(),
    sessionId: randomUUID(),
    idempotencyKey: randomUUID(),
    claimUntil: UNTIL,
    now: NOW,
  })

const answerOf = ({ claimed: { message, lease } }) => ({
  messageId: message.id,
  token: lease.token,
  now: NOW,
  state: { kind: 'responded', response: 'hi', respondedAt: NOW, responseTimeMs: 1 },
  outgoing: {
    events: [
      anEvent(agent, {
        id: nextId(),
        messageId: message.id,
        sessionId: message.sessionId,
        body: 'x'.repeat(500),
        createdAt: NOW,
      }),
    ],
    nextDeliveryId: nextId,
  },
})

const attemptOf = ({ delivery, lease }) => ({
  deliveryId: delivery.id,
  token: lease.token,
  attempt: { startedAt: NOW, durationMs: 1, outcome: accepted(), url: 'http://receiver/' },
  state: { kind: 'delivered', deliveredAt: NOW },
})

const claimOf = (group) => ({
  limit: group,
  perWebhook: group,
  perProject: group,
  retries: group,
  rooms: new Map(),
  except: new Set(),
  now: NOW + 1_000,
  until: UNTIL,
})

/** Makes the calls of a round. Returns the CPU time of each kind of call, per message. */
async function round({ messages, deliveries }, group) {
  const count = MESSAGES[group]
  const costs = {}
  async function measured(call, work) {
    const [cpu, database] = [process.cpuUsage(), await databaseMicros('postgres')]
    const results = await work()
    const { user, system } = process.cpuUsage(cpu)
    const ofDatabase = (await databaseMicros('postgres')) - database
    costs[call] = { database: ofDatabase / count, service: (user + system) / count }
    return results
  }
  const drafts = Array.from({ length: count }, draft)
  const taken = await measured('accept', () =>
    inGroups(group, drafts, (one) => messages.accept(one)),
  )
  const answers = taken.map(answerOf)
  await measured('settle', () => inGroups(group, answers, (one) => messages.recordRun(one)))
  const claimed = await measured('claim', () => claimAll(deliveries, group, count))
  const attempts = claimed.map(attemptOf)
  await measured('record', () =>
    inGroups(group, attempts, (one) => deliveries.recordAttempts([one])),
  )
  return costs
}

async function inGroups(size, inputs, call) {
  const results = []
  for (let at = 0; at < inputs.length; at += size) {
    const group = await Promise.all(inputs.slice(at, at + size).map(call))
    results.push(...group.map((result) => unwrap(result)))
  }
  return results
}

async function claimAll(deliveries, group, count) {
  const claimed = []
  while (claimed.length < count) {
    const { deliveries: more } = unwrap(await deliveries.claimDue(claimOf(group)))
    if (more.length === 0) throw new Error('too few deliveries are due')
    claimed.push(...more)
  }
  return claimed
}

async function measure({ database }) {
  const storage = await openPostgresStorage({ connectionString: await database('postgres') })
  await storage.credentials.createProject(aProject())
  await storage.agents.create(agent, 1_000)
  await storage.webhooks.create(aWebhook(), 10)
  const rounds = { 1: [], 64: [] }
  for (const group of [64, 1]) await round(storage, group)
  for (let n = 0; n < ROUNDS; n++)
    for (const group of [64, 1]) rounds[group].push(await round(storage, group))
  await storage.close()
  return rounds
}

try {
  const rounds = await inEnvironment(measure)
  console.log('| call | µs of PostgreSQL, alone | in 64 | µs of the service, alone | in 64 |')
  console.log('|---|---|---|---|---|')
  for (const [call, name] of Object.entries(CALLS)) {
    const cell = (group, of) => median(rounds[group].map((costs) => costs[call][of])).toFixed(0)
    const cells = ['database', 'service'].flatMap((of) => [cell(1, of), cell(64, of)])
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
} finally {
  await cleanUp()
}
