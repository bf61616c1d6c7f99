// Measures the latency of a wake-up between two processes:
//
//   node packages/adapter-postgres/test/wake-latency.mjs postgres://…
import { setTimeout as sleep } from 'node:timers/promises'
import { postgresSignal } from '@org/agent-messaging-adapter-postgres'

const ROUNDS = 500
const [connectionString] = process.argv.slice(2)
const [from, to] = [postgresSignal({ connectionString }), postgresSignal({ connectionString })]
await sleep(1_000) // both listen

const took = []
for (let round = 0; round < ROUNDS; round++) {
  const messageId = `round ${round}`
  const start = performance.now()
  await new Promise((heard) => {
    to.listen(messageId, heard)
    from.notify({ id: messageId })
  })
  took.push(performance.now() - start)
  await sleep(Math.random() * 20)
}
took.sort((a, b) => a - b)
const at = (share) => took[Math.floor(share * (ROUNDS - 1))].toFixed(1)
process.stdout.write(`${ROUNDS} wake-ups: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms\n`)
await Promise.all([from.close(), to.close()])
